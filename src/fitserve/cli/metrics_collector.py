"""What `metrics serve` tells, in Prometheus' words: base units, and no series at all for what is not known.

vLLM's own figures (tokens, latencies, cache use) are not told twice: Prometheus reads them from the engine's /metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from fitserve import __version__
from fitserve.cli.watch_source import deployed
from fitserve.observe.gpu_samples import CardSample, NvmlSampler, Sample, Sampler
from fitserve.observe.moments import Service
from fitserve.run.deployment import records_dir
from fitserve.run.live import State

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from fitserve.run.view import View

Rows = Sequence[tuple[tuple[str, ...], float | None]]  # label values, and the figure


class Deployed(Collector):
    """Looks when it is asked."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self._sampler = sampler or NvmlSampler()

    def collect(self) -> Iterator[Metric]:
        """Every family, deployments first."""
        from fitserve.run.view import look_at_all

        views = look_at_all()
        services = [deployed(view, with_metrics=False) for view in views]
        yield from deployments(views)
        yield from ledgers(services)
        sample = self._sampler.sample([pid for service in services for pid in service.pids])
        if sample is not None:
            yield from cards(sample.cards or ())
            yield from host(sample, services)


def deployments(views: Sequence[View]) -> Iterator[Metric]:
    """States, stages, starts, failures, probes."""
    yield _gauge("build_info", "fitserve's version.", ("version",), [((__version__,), 1.0)])
    states = [((v.deployment.name, state), float(v.state is state)) for v in views for state in State]
    yield _gauge("deployment_state", "1 for the state that it is in.", ("deployment", "state"), states)
    lives = [(view.deployment.name, view.live) for view in views if view.live]
    stages = [((name, moment.stage), moment.at_s) for name, live in lives for moment in live.stages]
    help_text = "When each stage of the present start began, after the engine's start."
    yield _gauge("deployment_stage_begin_seconds", help_text, ("deployment", "stage"), stages)
    began = [((name,), live.since or None) for name, live in lives]
    yield _gauge("deployment_state_since_timestamp_seconds", "When its state began.", ("deployment",), began)
    kept = [((v.deployment.name,), float(len(list(records_dir(v.deployment.name).glob("*.jsonl"))))) for v in views]
    yield _gauge("deployment_runs_recorded", "Starts of its runner; the last fifty are kept.", ("deployment",), kept)
    failures = [((name,), float(live.failures)) for name, live in lives]
    yield _gauge("deployment_failures_in_a_row", "Failed starts since it last was stable.", ("deployment",), failures)
    yield from _probes(views)


def _probes(views: Sequence[View]) -> Iterator[Metric]:
    lives = [(view.deployment.name, view.live) for view in views if view.live and view.live.probe]
    seconds = [((name,), _number(live.probe.get("seconds"))) for name, live in lives]
    yield _gauge("probe_seconds", "How long the last question took to be answered.", ("deployment",), seconds)
    good = ("right", "answered", "text_only")
    passed = [((name,), float(live.probe.get("outcome") in good)) for name, live in lives]
    yield _gauge("probe_success", "Whether the last question was answered.", ("deployment",), passed)
    asked = [((name,), _number(live.probe.get("at"))) for name, live in lives]
    yield _gauge("probe_timestamp_seconds", "When the last question was asked.", ("deployment",), asked)


def ledgers(services: Sequence[Service]) -> Iterator[Metric]:
    """What one rank was said to take, and what it took."""
    labels = ("deployment", "item")
    planned = [((one.name, item), float(size)) for one in services for item, size in one.planned.items()]
    yield _gauge("ledger_predicted_bytes", "The plan's ledger: expected bytes of one rank.", labels, planned)
    measured = [((one.name, item), float(size)) for one in services for item, size in one.measured.items()]
    yield _gauge("ledger_measured_bytes", "The same as the engine told it.", labels, measured)


_CARD: dict[str, tuple[str, Callable[[CardSample], float | None]]] = {
    "memory_total_bytes": ("The card's memory.", lambda card: card.total_bytes),
    "memory_used_bytes": ("Memory in use, without the driver's reserve.", lambda card: card.used_bytes),
    "memory_reserved_bytes": ("The driver's reserve.", lambda card: card.reserved_bytes),
    "busy_ratio": ("Share of the time in which any kernel ran.", lambda card: _times(card.busy_percent, 1, 100)),
    "temperature_celsius": ("Temperature.", lambda card: card.temperature_c),
    "power_watts": ("Power drawn.", lambda card: card.power_w),
    "power_limit_watts": ("Power limit in force.", lambda card: card.power_limit_w),
    "sm_clock_hertz": ("Clock of the processors.", lambda card: _times(card.sm_clock_mhz, 10**6)),
    "memory_clock_hertz": ("Clock of the memory.", lambda card: _times(card.memory_clock_mhz, 10**6)),
}


def cards(sampled: Sequence[CardSample]) -> Iterator[Metric]:
    """Each card's sample."""
    for name, (text, figure) in _CARD.items():
        rows = [(_card(card), figure(card)) for card in sampled]
        yield _gauge(f"gpu_{name}", text, ("gpu", "name", "uuid"), rows)
    slowed = [((*_card(card), reason), 1.0) for card in sampled for reason in card.slow_reasons or ()]
    labels = ("gpu", "name", "uuid", "reason")
    yield _gauge("gpu_clock_reason", "1 for each reason why the clocks are not higher.", labels, slowed)


def host(sample: Sample, services: Sequence[Service]) -> Iterator[Metric]:
    """The host's memory, and the engines' processes."""
    yield _gauge("host_memory_total_bytes", "Memory that may be used here.", (), [((), sample.host.total_bytes)])
    left = [((), sample.host.available_bytes)]
    yield _gauge("host_memory_available_bytes", "Memory that is free.", (), left)
    owners = {pid: service.name for service in services for pid in service.pids}
    own = [(owners[one.pid], one) for one in sample.host.processes if one.pid in owners]
    labels = ("deployment", "pid", "process")
    resident = [((name, str(one.pid), one.name), float(one.rss_bytes)) for name, one in own]
    yield _gauge("engine_resident_bytes", "Resident memory of the engine's processes.", labels, resident)
    busy = CounterMetricFamily("fitserve_engine_cpu_seconds", "Processor time they have used.", labels=labels)
    for name, one in own:
        busy.add_metric((name, str(one.pid), one.name), one.cpu_s)
    yield busy


def _gauge(name: str, text: str, labels: Sequence[str], rows: Rows) -> Metric:
    family = GaugeMetricFamily(f"fitserve_{name}", text, labels=labels)
    for values, figure in rows:
        if figure is not None:
            family.add_metric(values, figure)
    return family


def _card(card: CardSample) -> tuple[str, str, str]:
    return str(card.index), card.name, card.uuid


def _times(value: float | None, factor: int, divisor: int = 1) -> float | None:
    return None if value is None else value * factor / divisor


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
