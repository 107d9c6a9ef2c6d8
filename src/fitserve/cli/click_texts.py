"""What click itself says, and the verbs' help, in the reader's language: one call before the command line is read.

Click's sentences are looked up where click keeps its `gettext`; help lines on their way to the page. Each is found by
its English wording in `text/en/{click,options}.toml`, so that one without a translation is shown as it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import click

from fitserve.text import choose_language, current_language
from fitserve.text.catalog import sentences

_MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")


def speak_as_asked(argv: Sequence[str]) -> None:
    """Choose the language of `--lang` wherever it stands, before any verb is loaded, and let click speak it."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    named = [after for word, after in pairwise(words) if word == "--lang"]
    named += [word.removeprefix("--lang=") for word in words if word.startswith("--lang=")]
    if named and named[-1] in ("auto", "en", "zh"):
        choose_language(named[-1])
    for name in _MODULES:
        module = importlib.import_module(f"click.{name}")
        for function, ours in (("_", told), ("ngettext", counted)):
            if hasattr(module, function):
                setattr(module, function, ours)
    click.Context.formatter_class = Formatter


def told(sentence: str) -> str:
    """The sentence in the language in force; itself where the tables don't have it."""
    if current_language() == "en":
        return sentence
    return _translations(current_language()).get(" ".join(sentence.split()), sentence)


def counted(one: str, many: str, count: int) -> str:
    """As `gettext.ngettext`."""
    return told(one if count == 1 else many)


class Formatter(click.HelpFormatter):
    """A help page whose sentences are looked up before they are laid out."""

    def write_text(self, text: str) -> None:
        """A verb's description: whole, or paragraph by paragraph."""
        whole = told(text)
        super().write_text(whole if whole != text else "\n\n".join(map(told, text.split("\n\n"))))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """A wide colon needs no space behind it."""
        super().write_usage(prog, args, told("Usage:") if current_language() != "en" else prefix)

    def write_heading(self, heading: str) -> None:
        """With the colon of the language."""
        if current_language() == "en":
            super().write_heading(heading)
        else:
            self.write(f"{'':>{self.current_indent}}{heading}：\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options: the help is looked up, what click puts in brackets behind it stays."""
        super().write_dl([(name, _help(text)) for name, text in rows], col_max, col_spacing)


def _help(text: str) -> str:
    sentence, bracket, rest = text.partition("  [")
    if sentence.endswith("...") and current_language() != "en":  # cut short by click
        known = _translations(current_language())
        sentence = next((english for english in known if english.startswith(sentence[:-3])), sentence)
    return told(sentence) + bracket + rest


@cache
def _translations(language: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for area in ("click", "options"):
        theirs = sentences(language, area)
        found |= {english: theirs[name] for name, english in sentences("en", area).items()}
    return found
