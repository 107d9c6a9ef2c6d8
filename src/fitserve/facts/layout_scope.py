"""Which modules a dialect quantized, by its own rules of matching names."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache

from fitserve.facts.model import QuantFormat, QuantGroup, Quantization

Scope = Callable[[str], QuantGroup | None]  # a module's name to its scheme, None where it was left as it was


def scope_of(quantization: Quantization) -> Scope:
    """The scheme of each module of a checkpoint."""
    dialect = quantization.format
    if not quantization.groups:
        return lambda _name: None
    if dialect is QuantFormat.COMPRESSED_TENSORS:
        return _compressed_tensors(quantization)
    ignored = {
        QuantFormat.GPTQ: _gptq_ignored,
        QuantFormat.AWQ: _substring_ignored,
        QuantFormat.AUTOROUND: _substring_ignored,
        QuantFormat.FP8: _named_ignored,
        QuantFormat.NVFP4: _named_ignored,
    }.get(dialect, _substring_ignored)
    blocks_only = dialect in (QuantFormat.GPTQ, QuantFormat.AWQ, QuantFormat.AUTOROUND)

    def scheme(name: str) -> QuantGroup | None:
        if blocks_only and (".layers." not in name or name.startswith("mtp.")):
            return None  # these tools walk the language model's layers only
        if ignored(quantization.ignore, name):
            return None
        return next((group for group in quantization.groups if _targeted(group, name)), None)

    return scheme


def _compressed_tensors(quantization: Quantization) -> Scope:
    exact = {entry for entry in quantization.ignore if not entry.startswith("re:")}
    patterns = [_compiled(entry[3:]) for entry in quantization.ignore if entry.startswith("re:")]

    def scheme(name: str) -> QuantGroup | None:
        if name in exact or "Linear" in exact or any(pattern.match(name) for pattern in patterns):
            return None
        return next((group for group in quantization.groups if _targeted(group, name)), None)

    return scheme


def _targeted(group: QuantGroup, name: str) -> bool:
    if not group.targets or "Linear" in group.targets:
        return True
    named = _target_set(group.targets)
    words = name.split(".")
    if any(".".join(words[:end]) in named for end in range(len(words), 0, -1)):  # ModelOpt names the module above
        return True
    return any(target.startswith("re:") and _compiled(target[3:]).match(name) for target in group.targets)


@lru_cache(maxsize=64)
def _target_set(targets: tuple[str, ...]) -> frozenset[str]:
    return frozenset(targets)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the config; one that is no regular expression matches itself."""
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile(re.escape(pattern))


def _gptq_ignored(ignored: tuple[str, ...], name: str) -> bool:
    return any(_compiled(rule.removeprefix("-:")).match(name) for rule in ignored)


def _substring_ignored(ignored: tuple[str, ...], name: str) -> bool:
    return any(entry in name for entry in ignored)


def _named_ignored(ignored: tuple[str, ...], name: str) -> bool:
    """Exact names, names of a module above, the last words of a name, or ModelOpt's wildcards."""
    return any(
        name == entry or name.startswith(f"{entry}.") or name.endswith(f".{entry}") or fnmatchcase(name, entry)
        for entry in ignored
    )
