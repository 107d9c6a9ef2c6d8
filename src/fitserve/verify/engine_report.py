"""The settings and the cache as the engine itself reports them, beside the plan's."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

from fitserve.observe.log.launch import from_command
from fitserve.observe.log.read import read_lines
from fitserve.observe.log.source import lines_of, open_log
from fitserve.observe.metrics import cache_info
from fitserve.plan.plan import Check, CheckState
from fitserve.run.deployment import Deployment, engine_log
from fitserve.text import tr
from fitserve.verify.service import Service
from fitserve.verify.subject import Subject

_NOT_COMPARED = ("--model", "--host", "--port", "--served-model-name")
_SHOWN = ("--max-model-len", "--tensor-parallel-size", "--max-num-seqs", "--enforce-eager")


async def settings(subject: Subject, service: Service) -> Check:  # noqa: ARG001 - one shape for all steps
    """What the engine's log says that it was started with, held against the command that the plan made."""
    if subject.deployment is None:
        return _unknown("verify.only_here")
    reported = await asyncio.to_thread(_reported, subject.deployment)
    asked = from_command(shlex.join(subject.deployment.argv))
    both = [flag for flag in asked if flag in reported and flag not in _NOT_COMPARED]
    other = [flag for flag in both if _plain(asked[flag]) != _plain(reported[flag])]
    if other:
        evidence = ", ".join(f"{flag} {reported[flag]} ({asked[flag]})" for flag in other)
        hint = f"fitserve restart {subject.deployment.name}"
        return Check("", CheckState.FAIL, tr("verify.settings_differ", count=len(other)), evidence, hint)
    if not both:
        return _unknown("verify.settings_unread")
    shown = ", ".join(f"{flag.removeprefix('--')} {asked[flag]}" for flag in _SHOWN if flag in both)
    return Check("", CheckState.OK, tr("verify.settings_as_planned", count=len(both), shown=shown))


def _reported(deployment: Deployment) -> dict[str, object]:
    """The flags of the last start. After months its lines stand in an older part of the log."""
    path = engine_log(deployment.name)
    for part in (path, *sorted(path.parent.glob(f"{path.name}.*"), key=_age)):
        found = _read(part)
        if found:
            return found
    return {}


def _age(path: Path) -> int:
    return int(path.suffix[1:]) if path.suffix[1:].isdecimal() else 10**6


def _read(path: Path) -> dict[str, object]:
    try:
        with open_log(path) as stream:
            return dict(read_lines(lines_of(stream)).start.settings)
    except OSError:
        return {}


def _plain(value: object) -> str:
    """Values as they compare: the log writes True, tables in Python's way, and one value of several as a list."""
    if isinstance(value, list) and len(value) == 1:
        return _plain(value[0])
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return str(value).lower()


async def blocks(subject: Subject, service: Service) -> Check:
    """The cache's blocks and their size: the engine's metrics against the plan, to the block."""
    cache = cache_info(await service.metrics())
    has = cache.get("num_gpu_blocks", "")
    if not has.isdecimal():
        return _unknown("verify.no_metrics")
    kv = subject.plan.get("kv")
    if not isinstance(kv, dict):
        return Check("", CheckState.UNKNOWN, tr("verify.blocks_unplanned", has=f"{int(has):,}"))
    planned, size = int(kv["blocks"]), _block_size(cache)
    figures = {"has": f"{int(has):,}", "planned": f"{planned:,}", "tokens": size or kv["block_tokens"]}
    hint = f"fitserve calibrate {subject.deployment.name}" if subject.deployment else ""
    if size.isdecimal() and int(size) != kv["block_tokens"]:
        evidence = f"block_size {size} ({kv['block_tokens']})"
        return Check("", CheckState.FAIL, tr("verify.blocks_other_size"), evidence, hint)
    if int(has) == planned:
        return Check("", CheckState.OK, tr("verify.blocks_equal", **figures))
    low, high = _interval(subject.plan, kv)
    if low <= int(has) <= high and low < high:
        return Check("", CheckState.OK, tr("verify.blocks_within", **figures, low=f"{low:,}", high=f"{high:,}"))
    return Check("", CheckState.FAIL, tr("verify.blocks_differ", **figures), f"num_gpu_blocks {has}", hint)


def _block_size(cache: dict[str, str]) -> str:
    """Tokens of a block, "" where the metrics don't know: 0.22 publishes its server's 16, whatever the core chose."""
    said = cache.get("effective_attention_block_size", cache.get("block_size", ""))
    chosen = "effective_attention_block_size" not in cache and cache.get("user_specified_block_size") == "False"
    return "" if chosen else said


def _interval(plan: dict[str, Any], kv: dict[str, Any]) -> tuple[int, int]:
    """Blocks at both ends of the cache's row in the ledger."""
    row: dict[str, Any] = next((row for row in plan.get("ledger") or [] if row.get("item") == "kv_pool"), {})
    low, high, each = row.get("low"), row.get("high"), kv.get("bytes_per_block")
    if None in (low, high) or not each:
        return kv["blocks"], kv["blocks"]
    return low // each, high // each


def _unknown(key: str) -> Check:
    return Check("", CheckState.UNKNOWN, tr(key))
