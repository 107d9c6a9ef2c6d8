"""A running service as checks: its metrics, its cards and processes since it began. Without data a check is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fitserve.diagnose.finding import Confidence, Evidence, Finding, Fix, Severity
from fitserve.diagnose.fixes import make, step
from fitserve.observe.metrics import Metrics
from fitserve.observe.signs import CardSigns, Signs
from fitserve.observe.trend import Direction, Trend
from fitserve.observe.windows import latency
from fitserve.plan.plan import Check, CheckState
from fitserve.stage import Stage
from fitserve.text import tr
from fitserve.units import format_bytes

_FULL, _BUSY = 0.95, 0.85  # of the KV cache
_SLOW_FIRST_S = 5.0
_RUNNING = ("answering", "hung")  # of any other, how it would run is not how it runs
_ANSWERING = {
    "answering": CheckState.OK,
    "starting": CheckState.WARN,
    "hung": CheckState.FAIL,
    "failed": CheckState.FAIL,
}
_DIRECTION = {
    Direction.LEVEL: CheckState.OK,
    Direction.SETTLED: CheckState.OK,
    Direction.GROWING: CheckState.WARN,
    Direction.UNKNOWN: CheckState.UNKNOWN,
}


@dataclass(frozen=True)
class Look:
    """What was seen of a service. None is unknown."""

    state: str
    metrics: Metrics | None = None
    signs: Signs | None = None
    cpu: bool = False
    hung: bool = False  # requests ran and no token came, now or when it was ended
    problems: tuple[str, ...] = ()
    refused: str = ""  # what its log says of a request that was too large
    detail: str = ""  # why it does not answer, as its runner saw it
    evidence: str = ""  # the line that shows it
    hint: str = ""  # where to look on
    flags: Mapping[str, object] = field(default_factory=dict)

    @property
    def values(self) -> Mapping[str, float]:
        """Of the metrics; empty where there are none."""
        return self.metrics.values if self.metrics else {}

    @property
    def runs(self) -> bool:
        return self.state in _RUNNING

    @property
    def cards(self) -> tuple[CardSigns, ...]:
        return (self.signs.cards or ()) if self.signs else ()


def checks(look: Look) -> tuple[Check, ...]:
    """Every check, in the order in which they are read."""
    of_cards = () if look.cpu else (_growth_of_cards(look), _balance(look), _temperature(look), _clocks(look))
    return (
        _answering(look),
        _cache(look),
        _preemptions(look),
        _queue(look),
        _first_token(look),
        _prefix(look),
        _pictures(look),
        _execution(look),
        _growth("memory_growth", look.signs.engine_growth if look.signs else None),
        *of_cards,
        Check("log", _warned(bool(look.problems)), "; ".join(look.problems) or tr("doctor.check_log_written")),
    )


def findings(look: Look) -> tuple[Finding, ...]:
    """What the checks say in the words of the causes."""
    seen = {check.name: check for check in checks(look)}
    full = look.values.get("kv_usage", 0) >= _FULL and look.values.get("waiting", 0) > 0
    found = []
    if look.hung and look.flags.get("--tensor-parallel-size", 1) != 1:
        fix = Fix(env={"NCCL_P2P_DISABLE": "1"}, why=tr("fixes.no_p2p"))
        found.append(_told("multi_gpu_comm", "comm_hang", seen["answering"].detail, fix, Confidence.MEDIUM))
    if look.values.get("preemptions") or full:
        running = max(1, int(look.values.get("running", 1) * 0.8))
        fix = Fix({"--max-num-seqs": running}, why=tr("fixes.sequences_that_fit", new=running))
        cause = "preemption_kv_pressure"
        found.append(_told(cause, cause, seen["preemptions"].detail, fix))
    growing = [seen[name] for name in ("memory_growth", "card_growth") if name in seen]
    growing = [check for check in growing if check.state is CheckState.WARN]
    if growing:
        found.append(_told("memory_growth", "memory_growth", growing[0].detail, step("newer_engine")))
    if seen["execution"].state is CheckState.WARN:
        fix = make({"--enforce-eager": None}, "drop_eager")
        found.append(_told("slow_mode", "slow_eager", seen["execution"].detail, fix, severity=Severity.INFO))
    return tuple(found)


def _told(
    cause: str,
    key: str,
    detail: str,
    fix: Fix,
    confidence: Confidence = Confidence.HIGH,
    severity: Severity = Severity.WARN,
) -> Finding:
    return Finding(cause, severity, confidence, Stage.SERVE, tr(f"causes.{key}"), (Evidence(0, detail),), (fix,))


def _warned(bad: bool) -> CheckState:
    return CheckState.WARN if bad else CheckState.OK


def _unknown(name: str) -> Check:
    return Check(name, CheckState.UNKNOWN, tr("doctor.check_no_data"))


def _answering(look: Look) -> Check:
    state = tr(f"doctor.is_{look.state}")
    detail = tr("doctor.is_because", state=state, detail=look.detail) if look.detail else state
    return Check("answering", _ANSWERING.get(look.state, CheckState.UNKNOWN), detail, look.evidence, look.hint)


def _cache(look: Look) -> Check:
    usage = look.values.get("kv_usage")
    if usage is None:
        return _unknown("kv_cache")
    return Check("kv_cache", _warned(usage >= _BUSY), tr("doctor.check_usage", percent=100 * usage))


def _preemptions(look: Look) -> Check:
    count = look.values.get("preemptions")
    if count is None:
        return _unknown("preemptions")
    return Check("preemptions", _warned(count > 0), tr("doctor.check_preemptions", count=int(count)))


def _queue(look: Look) -> Check:
    waiting, running = look.values.get("waiting"), int(look.values.get("running", 0))
    if waiting is None:
        return _unknown("queue")
    limit = look.flags.get("--max-num-seqs")
    key = "check_queue_limit" if waiting and limit == running else "check_queue"
    detail = tr(f"doctor.{key}", running=running, waiting=int(waiting))
    return Check("queue", _warned(waiting > 0), detail)


def _first_token(look: Look) -> Check:
    found = latency((), look.metrics.histograms.get("first_token", ())) if look.metrics else None
    if found is None:
        return _unknown("first_token")
    half, most = found.p50.guess, found.p90.guess
    detail = tr("doctor.check_first_token", half=half, most=most, count=found.count)
    return Check("first_token", _warned(half > _SLOW_FIRST_S), detail)


def _prefix(look: Look) -> Check:
    setting = look.flags.get("--enable-prefix-caching")
    if setting is None or not look.runs:
        return _unknown("prefix_cache")
    if setting is False:
        return Check("prefix_cache", CheckState.WARN, tr("doctor.check_prefix_off"))
    asked, hits = look.values.get("prefix_asked"), look.values.get("prefix_hits", 0.0)
    detail = tr("doctor.check_prefix", percent=100 * hits / asked) if asked else tr("doctor.check_prefix_idle")
    return Check("prefix_cache", CheckState.OK, detail)


def _pictures(look: Look) -> Check:
    """Whether pictures are shrunk, and whether one was refused lately."""
    if look.refused:
        return Check("pictures", CheckState.WARN, look.refused)
    kwargs = look.flags.get("--mm-processor-kwargs")
    pixels = kwargs.get("max_pixels") if isinstance(kwargs, Mapping) else None
    if not look.runs or not isinstance(pixels, int):
        return _unknown("pictures")
    return Check("pictures", CheckState.OK, tr("doctor.check_pictures", side=int(pixels**0.5)))


def _execution(look: Look) -> Check:
    if not look.flags or not look.runs:
        return _unknown("execution")
    eager = look.flags.get("--enforce-eager") is True
    return Check("execution", _warned(eager and not look.cpu), tr(f"doctor.check_{'eager' if eager else 'compiled'}"))


def _growth(name: str, trend: Trend | None) -> Check:
    if trend is None or not trend.span_s:
        return _unknown(name)
    return Check(name, _DIRECTION[trend.direction], _trend_text(trend))


def _trend_text(trend: Trend) -> str:
    sizes = {"slope": trend.per_hour, "margin": trend.margin, "high": trend.high}
    told = {key: "?" if size is None else format_bytes(int(size)) for key, size in sizes.items()}
    hours = trend.span_s / 3600
    span = tr("doctor.hours", hours=hours) if hours >= 1 else tr("doctor.minutes", minutes=60 * hours)
    if trend.direction is Direction.UNKNOWN:
        return tr("watch.growth_short" if trend.per_hour is None else "watch.growth_restless", span=span)
    return tr(f"watch.growth_{trend.direction.value}", span=span, **told)


def _growth_of_cards(look: Look) -> Check:
    """The card that grows fastest, else the one of which least is known."""
    trends = sorted((card.growth for card in look.cards), key=lambda trend: list(Direction).index(trend.direction))
    growing = [trend for trend in trends if trend.direction is Direction.GROWING]
    fastest = max(growing, key=lambda trend: trend.per_hour or 0, default=None)
    return _growth("card_growth", fastest or (trends[-1] if trends else None))


def _balance(look: Look) -> Check:
    balance = look.signs.balance if look.signs else None
    sizes = ", ".join(format_bytes(card.used_bytes) for card in look.cards if card.used_bytes is not None)
    if len(look.cards) == 1 and sizes:
        return Check("card_balance", CheckState.OK, sizes)
    if balance is None or balance.uneven is None:
        return _unknown("card_balance")
    figures = {
        "memory": sizes,
        "load": ", ".join(f"{busy:.0f} %" for busy in balance.busy_percent),
        "clock": ", ".join(f"{clock:.0f} MHz" for clock in balance.clock_mhz),
    }
    uneven = "; ".join(tr(f"watch.uneven_{name}", values=figures[name]) for name in balance.uneven)
    return Check("card_balance", _warned(bool(uneven)), tr("watch.uneven", what=uneven) if uneven else sizes)


def _temperature(look: Look) -> Check:
    known = [card.hottest_c for card in look.cards if card.hottest_c is not None]
    if look.signs is None or look.signs.hot is None or not known:
        return _unknown("temperature")
    return Check("temperature", _warned(look.signs.hot), tr("doctor.check_hottest", celsius=max(known)))


def _clocks(look: Look) -> Check:
    """Clocks that something other than the power limit holds down."""
    throttled = look.signs.throttled if look.signs else None
    if throttled is None:
        return _unknown("clocks")
    reasons: dict[str, float] = {}
    for card in look.cards:
        for name, share in (card.slowed or {}).items():
            reasons[name] = max(share, reasons.get(name, 0.0))
    told = ", ".join(f"{_reason(name)} {100 * share:.0f} %" for name, share in reasons.items())
    return Check("clocks", _warned(throttled), told or tr("doctor.check_clocks_free"))


def _reason(name: str) -> str:
    try:
        return tr(f"watch.reason_{name}")
    except KeyError:  # of a newer driver
        return name
