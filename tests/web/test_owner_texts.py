"""The owner's scripts ask for sentences that exist, and no sentence is left that nobody asks for."""

from __future__ import annotations

import re
from pathlib import Path

import fitserve
from fitserve.text.catalog import sentences

SOURCE = Path(fitserve.__file__).parent
SCRIPTS = "\n".join(path.read_text() for path in sorted((SOURCE / "web" / "static").glob("*.js")))
MODULES = "\n".join(path.read_text() for path in sorted((SOURCE).glob("*/*.py")))


def asked(text: str) -> tuple[set[str], set[str]]:
    """(whole names, beginnings of names that are put together) of the area `owner`."""
    whole = set(re.findall(r'["`\']owner\.([a-z_]+)["`\']', text))
    return whole, set(re.findall(r"owner\.([a-z_]+_)(?:\$?\{)", text))


def test_every_sentence_is_there_and_is_used() -> None:
    known = set(sentences("en", "owner"))
    (in_scripts, begun_scripts), (in_modules, begun_modules) = asked(SCRIPTS), asked(MODULES)
    assert in_scripts | in_modules <= known
    begun = tuple(begun_scripts | begun_modules)
    assert {name for name in known - in_scripts - in_modules if not name.startswith(begun)} == set()
