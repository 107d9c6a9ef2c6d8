"""Numbers as people and vLLM write them: 32K, 25.6k, 24GiB. Bytes are integers everywhere inside."""

from __future__ import annotations

import re
from decimal import Decimal

KIB, MIB, GIB = 1024, 1024**2, 1024**3

# vLLM's own rule: lower case is decimal, upper case is binary.
_SUFFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = {
    "b": 1,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": 1024**4,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_NUMBER = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*")


def parse_count(text: str) -> int:
    """`4096`, `32K` (32768), `25.6k` (25600) as an integer. Raises ValueError."""
    number, suffix = _split(text)
    if suffix not in _SUFFIX:
        raise ValueError(f"unknown number suffix {suffix!r}")
    value = number * _SUFFIX[suffix]
    if value != value.to_integral_value():
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


def parse_bytes(text: str) -> int:
    """`24GiB`, `512 MB`, `1073741824` as bytes. GiB is 2**30 and GB is 10**9. Raises ValueError."""
    number, suffix = _split(text)
    unit = _SIZE.get(suffix.lower() or "b")
    if unit is None:
        raise ValueError(f"unknown size unit {suffix!r}")
    return int(number * unit)


def format_gib(size_bytes: int, digits: int = 2) -> str:
    """Bytes as GiB without the unit, for tables: `11.16`."""
    return f"{size_bytes / GIB:.{digits}f}"


def format_bytes(size_bytes: int) -> str:
    """Bytes in the unit that reads best: `512 B`, `3.4 MiB`, `11.16 GiB`."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= unit:
            return f"{size_bytes / unit:.{2 if unit == GIB else 1}f} {name}"
    return f"{size_bytes} B"


def _split(text: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(text)
    if match is None and text.strip().startswith("-") and _NUMBER.fullmatch(text.strip()[1:]):
        raise ValueError(f"{text!r} is out of range: below 0")
    if match is None:
        raise ValueError(f"{text!r} is not a number")
    return Decimal(match[1]), match[2]
