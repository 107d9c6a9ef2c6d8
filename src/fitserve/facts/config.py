"""A JSON table of a checkpoint, read with types: a wrong type or an impossible number is told with its key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fitserve.errors import FitserveError, OperationFailed
from fitserve.text import tr

CONFIG_LIMIT_BYTES = 64 * 1024**2
COUNT_LIMIT = 2**40  # no size in a config is larger; it keeps a made-up number from filling the memory
LAYERS_LIMIT = 10_000
EXPERTS_LIMIT = 100_000


def read_json(path: Path) -> dict[str, object]:
    """The object in a JSON file. Raises OperationFailed (broken_model) for anything else."""
    try:
        if path.stat().st_size > CONFIG_LIMIT_BYTES:
            raise broken("facts.json_too_large", path.name, limit=CONFIG_LIMIT_BYTES)
        content = path.read_bytes()
    except OSError as error:
        raise broken("facts.unreadable", path.name, reason=error.strerror or str(error)) from error
    return parse_json(content, path.name)


def parse_json(content: bytes, name: str) -> dict[str, object]:
    """The object in `content`, which came from the file `name`."""
    try:
        table = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise broken("facts.json", name, reason=str(error)) from error
    if not isinstance(table, dict):
        raise broken("facts.json_object", name)
    return table


def broken(key: str, shard: str, **values: object) -> FitserveError:
    """A checkpoint that contradicts itself or can't be read, named by its file."""
    shown: dict[str, Any] = {n: printable(value) if isinstance(value, str) else value for n, value in values.items()}
    return OperationFailed(tr(key, shard=printable(shard), **shown), code="broken_model")


def printable(text: str, limit: int = 200) -> str:
    """Text from a checkpoint as it may be shown: without control characters, and not endless."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in cut)


class Table:
    """A table with typed access. Absent and null are None; of several names the first that is there counts."""

    def __init__(self, values: Mapping[str, object], place: str) -> None:
        self.values = values
        self.place = place

    def first(self, *names: str) -> tuple[str, object]:
        """The first name that has a value, and the value."""
        for name in names:
            if self.values.get(name) is not None:
                return name, self.values[name]
        return names[0], None

    def count(self, *names: str, least: int = 1, most: int = COUNT_LIMIT) -> int | None:
        """A whole number in its range."""
        name, value = self.first(*names)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
            return value
        raise self.wrong(name, value, tr("facts.want_count", least=least, most=most))

    def number(self, *names: str) -> float | None:
        """A finite number."""
        name, value = self.first(*names)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < COUNT_LIMIT:
            return float(value)
        raise self.wrong(name, value, tr("facts.want_number"))

    def flag(self, *names: str) -> bool | None:
        """True or false."""
        name, value = self.first(*names)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(name, value, tr("facts.want_flag"))

    def text(self, *names: str) -> str:
        """A string, "" where there is none."""
        name, value = self.first(*names)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.wrong(name, value, tr("facts.want_text"))

    def names(self, *names: str) -> tuple[str, ...]:
        """A list of strings."""
        name, value = self.first(*names)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.wrong(name, value, tr("facts.want_names"))

    def counts(self, *names: str) -> tuple[int, ...]:
        """A list of whole numbers, none negative."""
        name, value = self.first(*names)
        if value is None:
            return ()
        if isinstance(value, list) and all(type(item) is int and 0 <= item <= COUNT_LIMIT for item in value):
            return tuple(value)
        raise self.wrong(name, value, tr("facts.want_counts"))

    def table(self, *names: str) -> Table:
        """A table inside; an empty one where there is none."""
        name, value = self.first(*names)
        if value is None or isinstance(value, dict):
            return Table(value or {}, f"{self.place} {name}")
        raise self.wrong(name, value, tr("facts.want_table"))

    def wrong(self, name: str, value: object, want: str) -> FitserveError:
        """The failure for a value that can't be."""
        shown = json.dumps(value, ensure_ascii=False, default=str)[:80]
        return broken("facts.bad_value", self.place, name=name, value=shown, want=want)
