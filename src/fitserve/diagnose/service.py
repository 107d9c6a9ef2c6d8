"""A running service: its metrics, its processes and its cards as checks. Without data a check is `unknown`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fitserve.diagnose.finding import Confidence, Evidence, Finding, Fix, Severity
from fitserve.facts.gpu import Gpu
from fitserve.plan.plan import Check, CheckState
from fitserve.stage import Stage
from fitserve.text import tr
from fitserve.units import format_bytes

_SAMPLE = re.compile(r"^(vllm:\w{1,80})(?:\{[^\n]{0,4000}\})? ([0-9.eE+-]{1,30})\s*$", re.MULTILINE)
_FULL, _BUSY = 0.95, 0.85  # of the KV cache
_SLOW_FIRST_S = 5.0
_GROWN, _GROWN_BYTES = 1.3, 1 << 30
_UNEVEN = 1.25
_RUNNING = ("answering", "hung")  # of any other, how it would run is not how it runs


@dataclass(frozen=True)
class Look:
    """What was seen of a service at one moment. None is unknown."""

    state: str
    metrics: Mapping[str, float] | None = None
    memory_bytes: int | None = None
    memory_at_start: int | None = None
    cards: tuple[Gpu, ...] | None = None
    problems: tuple[str, ...] = ()
    detail: str = ""  # why it does not answer, as its runner saw it
    flags: Mapping[str, object] = field(default_factory=dict)


def read_metrics(text: str) -> dict[str, float]:
    """vLLM's samples by name, summed over their labels."""
    out: dict[str, float] = {}
    for name, value in _SAMPLE.findall(text):
        try:
            out[name] = out.get(name, 0.0) + float(value)
        except ValueError:
            continue
    return out


def checks(look: Look) -> tuple[Check, ...]:
    """Every check, in the order in which they are read."""
    return (
        _answering(look),
        _cache(look.metrics),
        _preemptions(look.metrics),
        _queue(look.metrics),
        _first_token(look.metrics),
        _prefix(look),
        _execution(look),
        _growth(look),
        _balance(look.cards),
        Check("temperature", CheckState.UNKNOWN, tr("doctor.check_no_data")),
        _log(look),
    )


def findings(look: Look) -> tuple[Finding, ...]:
    """What the checks say in the words of the causes."""
    out = []
    metrics = look.metrics or {}
    full = (_usage(metrics) or 0) >= _FULL and metrics.get("vllm:num_requests_waiting", 0) > 0
    if _preempted(metrics) or full:
        detail = _preemptions(metrics).detail
        running = max(1, int(metrics.get("vllm:num_requests_running", 1) * 0.8))
        fix = Fix({"--max-num-seqs": running}, why=tr("fixes.sequences_that_fit", new=running))
        out.append(_warn("preemption_kv_pressure", detail, fix))
    growth = _growth(look)
    if growth.state is CheckState.WARN:
        out.append(_warn("memory_growth", growth.detail, Fix(why=tr("fixes.newer_engine"))))
    return tuple(out)


def _warn(cause: str, detail: str, fix: Fix) -> Finding:
    evidence = (Evidence(0, detail),)
    return Finding(cause, Severity.WARN, Confidence.HIGH, Stage.SERVE, tr(f"causes.{cause}"), evidence, (fix,))


def _check(name: str, bad: bool, detail: str) -> Check:
    return Check(name, CheckState.WARN if bad else CheckState.OK, detail)


def _unknown(name: str) -> Check:
    return Check(name, CheckState.UNKNOWN, tr("doctor.check_no_data"))


def _answering(look: Look) -> Check:
    states = {
        "answering": CheckState.OK,
        "starting": CheckState.WARN,
        "hung": CheckState.FAIL,
        "failed": CheckState.FAIL,
    }
    state = tr(f"doctor.is_{look.state}")
    detail = tr("doctor.is_because", state=state, detail=look.detail) if look.detail else state
    return Check("answering", states.get(look.state, CheckState.UNKNOWN), detail)


def _usage(metrics: Mapping[str, float]) -> float | None:
    return metrics.get("vllm:kv_cache_usage_perc", metrics.get("vllm:gpu_cache_usage_perc"))


def _cache(metrics: Mapping[str, float] | None) -> Check:
    usage = _usage(metrics) if metrics else None
    if usage is None:
        return _unknown("kv_cache")
    return _check("kv_cache", usage >= _BUSY, tr("doctor.check_usage", percent=100 * usage))


def _preempted(metrics: Mapping[str, float]) -> float:
    return metrics.get("vllm:num_preemptions_total", metrics.get("vllm:num_preemptions", 0.0))


def _preemptions(metrics: Mapping[str, float] | None) -> Check:
    if not metrics:
        return _unknown("preemptions")
    count = int(_preempted(metrics))
    return _check("preemptions", count > 0, tr("doctor.check_preemptions", count=count))


def _queue(metrics: Mapping[str, float] | None) -> Check:
    waiting = metrics.get("vllm:num_requests_waiting") if metrics else None
    if waiting is None or metrics is None:
        return _unknown("queue")
    running = int(metrics.get("vllm:num_requests_running", 0))
    return _check("queue", waiting > 0, tr("doctor.check_queue", running=running, waiting=int(waiting)))


def _first_token(metrics: Mapping[str, float] | None) -> Check:
    count = metrics.get("vllm:time_to_first_token_seconds_count") if metrics else None
    if not count or metrics is None:
        return _unknown("first_token")
    mean = metrics.get("vllm:time_to_first_token_seconds_sum", 0.0) / count
    return _check("first_token", mean > _SLOW_FIRST_S, tr("doctor.check_first_token", seconds=mean, count=int(count)))


def _prefix(look: Look) -> Check:
    setting = look.flags.get("--enable-prefix-caching")
    if setting is None or look.state not in _RUNNING:
        return _unknown("prefix_cache")
    asked = (look.metrics or {}).get("vllm:prefix_cache_queries_total", 0.0)
    hits = (look.metrics or {}).get("vllm:prefix_cache_hits_total", 0.0)
    share = f"{100 * hits / asked:.0f} %" if asked else "–"
    return _check("prefix_cache", setting is False, tr("doctor.check_prefix", state=str(setting).lower(), share=share))


def _execution(look: Look) -> Check:
    if not look.flags or look.state not in _RUNNING:
        return _unknown("execution")
    eager = look.flags.get("--enforce-eager") is True
    return Check("execution", CheckState.OK, tr("doctor.check_eager" if eager else "doctor.check_compiled"))


def _growth(look: Look) -> Check:
    now, before = look.memory_bytes, look.memory_at_start
    if now is None or not before:
        return _unknown("memory_growth")
    grown = now > _GROWN * before and now - before > _GROWN_BYTES
    return _check("memory_growth", grown, tr("doctor.check_growth", before=format_bytes(before), now=format_bytes(now)))


def _balance(cards: tuple[Gpu, ...] | None) -> Check:
    used = [card.total_bytes - card.free_bytes for card in cards or () if card.free_bytes is not None]
    if not used:
        return _unknown("card_balance")
    uneven = len(used) > 1 and max(used) > _UNEVEN * max(1, min(used)) and max(used) - min(used) > _GROWN_BYTES
    return _check("card_balance", uneven, ", ".join(format_bytes(size) for size in used))


def _log(look: Look) -> Check:
    return _check("log", bool(look.problems), "; ".join(look.problems) or tr("doctor.check_log_written"))
