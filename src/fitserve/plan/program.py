"""Where vLLM begins in what somebody typed: behind `sudo`, `uv run`, `docker run … IMAGE`, `export A=1; …`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

_SEPARATOR = re.compile(r"[;&|\n]+")
_REDIRECT = re.compile(r"\d*(>>?|<)(.*)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_IMAGE = re.compile(r"(?:[\w.-]+(?::\d+)?/)*[\w.-]*vllm[\w.-]*(?::(?P<tag>[\w.-]+))?(?:@sha256:\w+)?")
_TAG = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)")
_CONTAINERS = {"docker", "podman", "nerdctl"}


@dataclass(frozen=True)
class Started:
    """The words after the program, the environment before it, and the version that an image's tag names."""

    words: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    version: str | None = None
    found: bool = True  # False: nothing that starts vLLM is there
    launcher: tuple[str, ...] = ()  # what stands before the words, assignments left out
    container: bool = False


def split_commands(text: str) -> list[list[str]]:
    """The commands of a shell line. Raises ValueError for an open quote."""
    joined = re.sub(r"\\\r?\n|\n\s*(?=-)", " ", text)  # a line that begins with a flag goes on with the one before
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if _SEPARATOR.fullmatch(word):
            commands.append([])
        else:
            commands[-1].append(word)
    return [_without_redirects(words) for words in commands if words]


def _without_redirects(words: Iterable[str]) -> list[str]:
    kept, skip = [], False
    for word in words:
        redirect = _REDIRECT.fullmatch(word)
        if not skip and not redirect:
            kept.append(word)
        skip = redirect is not None and not redirect[2]
    return kept


def started(commands: Sequence[Sequence[str]]) -> Started:
    """The last of several commands that starts vLLM, with what was exported before it; else the last command."""
    env: dict[str, str] = {}
    best: Started | None = None
    for words in commands:
        here = program(words)
        if here.found:
            best = replace(here, env=env | here.env)
        if words and (words[0] == "export" or all(_ASSIGNMENT.fullmatch(word) for word in words)):
            env |= _assigned(words)
    return best or (program(commands[-1]) if commands else Started((), found=False))


def program(words: Sequence[str]) -> Started:
    """One command: cut behind the last `vllm serve`, `-m vllm…`, else behind the image of a container."""
    at = max((index + 2 for index in range(len(words) - 1) if _starts(words[index], words[index + 1])), default=0)
    image = _image_at(words)
    version = _version(words[image]) if image is not None else None
    lead = next((index for index, word in enumerate(words) if not _leads(word)), len(words))
    if at or image is not None:
        cut = at or (image or 0) + 1
        env = _assigned(words[:cut]) | _container(words[: image or 0])
        return Started(tuple(words[cut:]), env, version, launcher=tuple(words[lead:cut]), container=image is not None)
    rest = list(words[lead:])
    name = rest[0].rsplit("/", 1)[-1] if rest and not rest[0].startswith("-") else ""
    if name == "vllm" or "python" in name:
        rest = rest[3:] if rest[1:2] == ["-m"] else rest[1:]
    return Started(tuple(rest), _assigned(words[:lead]), found=False)


def _leads(word: str) -> bool:
    return word == "env" or _ASSIGNMENT.fullmatch(word) is not None


def _starts(word: str, following: str) -> bool:
    served = word.rsplit("/", 1)[-1] == "vllm" and following == "serve"
    return served or (word == "-m" and following.split(".")[0] == "vllm")


def _image_at(words: Sequence[str]) -> int | None:
    """Where the image stands: the first word behind `docker run` that reads like one of vLLM's."""
    if not any(word.rsplit("/", 1)[-1] in _CONTAINERS for word in words) or "run" not in words:
        return None
    for index in range(list(words).index("run") + 1, len(words)):
        if _IMAGE.fullmatch(words[index]) and ("/" in words[index] or ":" in words[index]):
            return index
    return None


def _version(image: str) -> str | None:
    match = _IMAGE.fullmatch(image)
    tag = _TAG.match(match["tag"] or "") if match else None
    return tag[1] if tag else None


def _container(words: Sequence[str]) -> dict[str, str]:
    """A container's own choice of cards: `--gpus device=1`."""
    found = re.search(r"--gpus[ =]\"?'?device=([\d,]+)", " ".join(words))
    return {"CUDA_VISIBLE_DEVICES": found[1]} if found else {}


def _assigned(words: Iterable[str]) -> dict[str, str]:
    """`A=1` in front of a program, behind `export` or behind a container's `-e`."""
    matches = (_ASSIGNMENT.fullmatch(word.removeprefix("--env=")) for word in words)
    return {match[1]: match[2] for match in matches if match}
