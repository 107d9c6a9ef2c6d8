"""One service on the page of `watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.text import Text

from fitserve.chat.clean import strip_control
from fitserve.observe.moments import Moment, Service
from fitserve.observe.overview import ServiceOverview
from fitserve.observe.signs import Balance, processes_of
from fitserve.observe.windows import Window
from fitserve.plan.row_text import row_text
from fitserve.text import tr
from fitserve.text.catalog import current_language, sentences
from fitserve.tui.words import grid, growth, latency, share, unknown
from fitserve.units import format_bytes, format_gib

_COLOURS = {"answering": "green", "starting": "yellow", "stopped": "dim"}  # all others are trouble


def service_block(one: ServiceOverview, moment: Moment) -> Iterator[RenderableType]:
    """A head line, then label and value, line by line."""
    yield _head(one.service)
    rows = [*_window_rows(one.window)] if one.window else []
    rows += [*_engine_rows(one, moment), *_ledger_rows(one.service)]
    if rows:
        yield grid([(tr(f"watch.{label}"), value) for label, value in rows])
    yield from balance_line(one.signs.balance)


def balance_line(balance: Balance) -> Iterator[Text]:
    """How alike the cards are; nothing where there is one."""
    if balance.uneven is None:
        return
    if not balance.uneven:
        yield Text(f"{tr('watch.balance')}  {tr('watch.even')}", style="dim")
        return
    shown: dict[str, Callable[[], list[str]]] = {
        "memory": lambda: [format_bytes(size) for size in balance.used_bytes],
        "load": lambda: [f"{busy:.0f} %" for busy in balance.busy_percent],
        "clock": lambda: [f"{clock:.0f} MHz" for clock in balance.clock_mhz],
    }
    what = [tr(f"watch.uneven_{name}", values=" / ".join(shown[name]())) for name in balance.uneven]
    yield Text(f"{tr('watch.balance')}  {tr('watch.uneven', what=', '.join(what))}", style="red")


def _head(service: Service) -> Text:
    text = Text().append(strip_control(service.name), style="bold")
    text.append("  " + _state(service.state), style=_COLOURS.get(service.state, "red"))
    if service.url != service.name:
        text.append("  " + strip_control(service.url), style="dim")
    if service.detail:
        text.append("  " + strip_control(service.detail), style="dim")
    return text


def _state(state: str) -> str:
    known = sentences(current_language(), "run")
    return known.get(f"state_{state}") or sentences(current_language(), "watch").get(f"state_{state}", state)


def _window_rows(window: Window) -> Iterator[tuple[str, Text]]:
    seconds = f"{window.seconds:.0f}"
    yield (
        "requests",
        Text(
            tr(
                "watch.requests_are",
                running=_count(window.running),
                waiting=_count(window.waiting),
                finished=_count(window.finished),
                seconds=seconds,
            )
        ),
    )
    rates = {"prompt": _rate(window.prompt_tokens_s), "generation": _rate(window.generation_tokens_s)}
    yield "tokens", Text(tr("watch.tokens_are", **rates))
    yield "first_token", latency(window.first_token)
    yield "per_token", latency(window.per_token)
    used = window.kv_usage
    yield (
        "kv",
        unknown()
        if used is None
        else Text(tr("watch.kv_is", percent=f"{100 * used:.1f}"), style="red" if used > 0.95 else ""),
    )
    hits = {"prefix": share(window.prefix_hits), "picture": share(window.picture_hits)}
    yield "hits", Text(tr("watch.hits_are", **hits))
    yield (
        "preemptions",
        Text(
            tr("watch.preemptions_are", count=_count(window.preemptions), seconds=seconds),
            style="red" if window.preemptions else "",
        ),
    )


def _engine_rows(one: ServiceOverview, moment: Moment) -> Iterator[tuple[str, Text]]:
    """Its processes on this machine."""
    processes = processes_of(moment, one.service.name)
    if processes and one.service.pids:
        memory = format_bytes(sum(process.rss_bytes for process in processes))
        cores = tr("watch.unknown") if one.signs.engine_cores is None else f"{one.signs.engine_cores:.1f}"
        yield "engine", Text(tr("watch.engine_is", memory=memory, count=len(processes), cores=cores))
        yield "growth", growth(one.signs.engine_growth)


def _ledger_rows(service: Service) -> Iterator[tuple[str, Text]]:
    if not service.planned:
        return
    told = []
    for item, size in service.planned.items():
        key = "ledger_measured" if item in service.measured else "ledger_row"
        measured = format_gib(service.measured.get(item, 0))
        name = row_text(item, on_cpu=service.cards == ())
        told.append(tr(f"watch.{key}", item=name, planned=format_gib(size), measured=measured))
    yield "ledger", Text(" · ".join(told) + " GiB")


def _count(value: int | None) -> str:
    return tr("watch.unknown") if value is None else f"{value:,}"


def _rate(value: float | None) -> str:
    return tr("watch.unknown") if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
