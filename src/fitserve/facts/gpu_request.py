"""`--gpus`: `auto`, `none`, `2xRTX3090`, `2x24GiB`, `1xRTX4090+1xRTX3090`, `recorded:FILE`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fitserve.errors import SettingsError
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.gpu_kinds import find_kind, near_names
from fitserve.facts.gpu_record import load_gpus
from fitserve.facts.read_gpus import read_gpus
from fitserve.text import tr
from fitserve.units import format_bytes, parse_bytes

COUNT_LIMIT = 64
_PART = re.compile(r"\s*(?:(\d{1,4})\s*[xX×*]\s*)?(\S.*?)\s*")
_SIZE = re.compile(r"\d+(?:\.\d+)?\s*[KMGT]i?B", re.IGNORECASE)
_LIST = "fitserve inspect gpus --known"
_HINT = "fitserve inspect gpus --gpus 2xRTX3090"


def parse_gpus(
    text: str, read: Callable[[], tuple[Gpu, ...] | GpusUnknown] = read_gpus
) -> tuple[Gpu, ...] | GpusUnknown:
    """The cards that `--gpus` names. A size in GiB is literal; a card's name stands for what its driver really shows.

    Raises SettingsError for a name or a form that is not known, NotFound for a missing record.
    """
    wanted = text.strip()
    if wanted in ("", "auto"):
        return read()
    if wanted == "none":
        return ()
    if wanted.startswith("recorded:"):
        return load_gpus(Path(wanted.removeprefix("recorded:")).expanduser())
    cards: list[Gpu] = []
    for part in re.split(r"[+,]", wanted):
        cards += _named(part, len(cards))
    return tuple(cards)


def _named(part: str, first: int) -> list[Gpu]:
    match = _PART.fullmatch(part)
    count = int(match[1] or 1) if match else 0
    if match is None or not 1 <= count <= COUNT_LIMIT - first:
        raise SettingsError(tr("gpus.bad_request", part=part.strip()[:60], limit=COUNT_LIMIT), hint=_HINT)
    make = _sized if _SIZE.fullmatch(match[2]) else _kind
    return [make(match[2], first + offset) for offset in range(count)]


def _sized(size: str, index: int) -> Gpu:
    if not size.lower().rstrip("b").endswith("i"):  # 24GB is what stands on the box, not what a program gets
        literal = re.sub(r"[a-zA-Z ]+$", "", size)
        raise SettingsError(
            tr("gpus.decimal_size", size=size, literal=f"{literal}GiB"),
            hint=f"fitserve inspect gpus --gpus {literal}GiB",
        )
    total = parse_bytes(size)
    if total < 2**28:
        raise SettingsError(tr("gpus.too_small", size=size), hint=_HINT)
    return Gpu(index, format_bytes(total), total, None, None, assumed=True)


def _kind(name: str, index: int) -> Gpu:
    kind = find_kind(name)
    if kind is None:
        near = near_names(name)
        hint = f"fitserve inspect gpus --gpus {near[0].replace(' ', '-')}" if near else _LIST
        also = tr("gpus.did_you_mean", names=", ".join(near)) if near else ""
        raise SettingsError(tr("gpus.unknown_kind", name=name[:60], also=also), hint=hint)
    bandwidth = kind.bandwidth_bytes_s
    return Gpu(index, kind.name, kind.visible_bytes, None, kind.capability, bandwidth, assumed=True)
