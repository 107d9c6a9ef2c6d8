"""Cards in a file: what `fitserve inspect gpus > FILE` writes, with or without --json, `--gpus recorded:FILE` reads."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from fitserve.errors import NotFound, SettingsError
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.text import tr

MARK = "fitserve-gpus: "  # the line of a plain redirect that carries the record
_LIMIT_BYTES = 4 * 1024**2


def gpus_document(cards: tuple[Gpu, ...] | GpusUnknown) -> dict[str, object]:
    """The cards as the JSON document of `inspect gpus --json`."""
    if isinstance(cards, GpusUnknown):
        return {"schema_version": 1, "kind": "gpus", "gpus": None, "unknown": msgspec.to_builtins(cards)}
    return {"schema_version": 1, "kind": "gpus", "gpus": msgspec.to_builtins(cards), "unknown": None}


def load_gpus(path: Path) -> tuple[Gpu, ...] | GpusUnknown:
    """The cards of a record. Raises NotFound where there is no such file, SettingsError for one of another kind."""
    try:
        text = path.read_bytes()[:_LIMIT_BYTES].decode("utf-8")
    except OSError as error:
        raise NotFound(tr("gpus.no_record", path=path), evidence=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _not_a_record(path, str(error)) from error
    marked = next((line for line in text.splitlines() if line.startswith(MARK)), "")
    try:
        document = json.loads(marked.removeprefix(MARK) or text)
        if document.get("gpus") is None:
            return msgspec.convert(document["unknown"], GpusUnknown)
        cards = msgspec.convert(document["gpus"], tuple[Gpu, ...])
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise _not_a_record(path, str(error)) from error
    if any(card.total_bytes <= 0 for card in cards):
        raise _not_a_record(path, "total_bytes <= 0")
    return cards


def _not_a_record(path: Path, evidence: str) -> SettingsError:
    return SettingsError(
        tr("gpus.not_a_record", path=path), evidence=evidence[:200], hint="fitserve inspect gpus > FILE"
    )
