"""The page of `watch`: cards first (side by side where there is room), then each service, then the host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fitserve.chat.clean import strip_control
from fitserve.observe.gpu_samples import CardSample
from fitserve.observe.overview import Overview
from fitserve.observe.signs import HARMFUL, CardSigns
from fitserve.text import tr
from fitserve.tui.watch_service import balance_line, service_block
from fitserve.tui.words import Facts, degrees, gib, growth, line, reason, unknown
from fitserve.units import format_bytes, format_gib

_WIDE = 105  # columns that a row of figures a card needs
_BAR = 10
_HOLDERS = 4  # processes shown a card


def page(overview: Overview, width: int) -> RenderableType:
    """Everything of one moment."""
    moment = overview.moment
    parts: list[RenderableType] = [Text(tr("watch.title", time=_clock(moment.at)), style="bold")]
    parts += _cards(overview, width)
    for one in overview.services:
        parts += ["", *service_block(one, moment)]
    if not overview.services:
        parts += ["", Text(tr("watch.no_services"))]
    parts += ["", *_host(overview)]
    if any(one.window for one in overview.services):
        parts.append(Text(tr("watch.guess_note"), style="dim"))
    return Group(*parts)


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _host(overview: Overview) -> Iterator[Text]:
    host = overview.moment.sample.host
    if host.total_bytes is not None:
        free = tr("watch.unknown") if host.available_bytes is None else format_bytes(host.available_bytes)
        yield Text(tr("watch.host") + "  " + tr("watch.host_is", available=free, total=format_bytes(host.total_bytes)))


def _cards(overview: Overview, width: int) -> Iterator[RenderableType]:
    cards = overview.moment.sample.cards
    if cards is None:
        remote = overview.moment.sample.host.total_bytes is None
        yield Text(tr("watch.cards_elsewhere" if remote else "watch.no_cards"), style="dim")
    elif width >= _WIDE:
        yield _table(overview, cards)
        for card in cards:
            yield Text.assemble(_title(card, named=False), "  ", line(_remarks(overview, card)))
    else:
        for card in cards:
            yield _title(card)
            yield line([*_facts(overview, card), *_remarks(overview, card)])
    if not overview.services:
        yield from balance_line(overview.machine.balance)


def _title(card: CardSample, *, named: bool = True) -> Text:
    name = f" {strip_control(card.name)}" if named else ""
    return Text(tr("watch.card", index=card.index) + name, style="bold")


def _table(overview: Overview, cards: Sequence[CardSample]) -> Table:
    rows = [_facts(overview, card) for card in cards]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", overflow="fold", min_width=12)
    for label, _ in rows[0] if rows else []:
        table.add_column(label, no_wrap=True)
    for card, facts in zip(cards, rows, strict=True):
        table.add_row(_title(card), *(value for _, value in facts))
    return table


def _facts(overview: Overview, card: CardSample) -> Facts:
    signs = overview.card(card.index)
    return [
        (tr("watch.memory"), _memory(card)),
        (tr("watch.planned"), _planned(overview, card.index)),
        (tr("watch.busy"), unknown() if card.busy_percent is None else Text(f"{card.busy_percent} %")),
        (tr("watch.temperature"), degrees(card.temperature_c, signs.hot if signs else None)),
        (tr("watch.power"), _pair(card.power_w, card.power_limit_w, "W")),
        (tr("watch.clock"), _pair(card.sm_clock_mhz, card.sm_clock_max_mhz, "MHz")),
    ]


def _remarks(overview: Overview, card: CardSample) -> Facts:
    """What is longer than a cell of a table."""
    signs = overview.card(card.index)
    return [
        (tr("watch.slowed"), _slowed(card, signs)),
        (tr("watch.growth"), growth(signs.growth) if signs else unknown()),
        (tr("watch.processes"), _holders(card)),
    ]


def _memory(card: CardSample) -> Text:
    if card.used_bytes is None or not card.total_bytes:
        return unknown()
    room = card.total_bytes - (card.reserved_bytes or 0)  # what programs can have
    share = card.used_bytes / room
    filled = round(min(1.0, share) * _BAR)
    text = Text("█" * filled + "░" * (_BAR - filled), style="red" if share > 0.97 else "green")
    said = tr("watch.used_of", used=format_gib(card.used_bytes), total=format_gib(room))
    return text.append(" " + said, style="default")


def _planned(overview: Overview, index: int) -> Text:
    """What the ledgers of the services on this card say it takes."""
    on_it = [one.service for one in overview.services if one.service.cards and index in one.service.cards]
    sizes = [sum(service.planned.values()) for service in on_it if service.planned and service.state != "stopped"]
    return gib(sum(sizes)) if sizes else unknown()


def _pair(value: float | None, limit: float | None, unit: str) -> Text:
    if value is None:
        return unknown()
    return Text(f"{value:.0f} {unit}" if limit is None else f"{value:.0f} / {limit:.0f} {unit}")


def _slowed(card: CardSample, signs: CardSigns | None) -> Text:
    """Over the time watched, and whether it is so now."""
    if signs is None or signs.slowed is None:
        return unknown()
    told = []
    for name, share in signs.slowed.items():
        key = "slowed_now" if name in (card.slow_reasons or ()) else "slowed_once"
        told.append(tr(f"watch.{key}", reason=reason(name), percent=f"{100 * share:.0f}"))
    return Text(", ".join(told) or tr("watch.no"), style="red" if HARMFUL & signs.slowed.keys() else "")


def _holders(card: CardSample) -> Text:
    """Who holds memory on it."""
    if card.processes is None:
        return unknown()
    shown = []
    for process in card.processes[:_HOLDERS]:
        used = "" if process.used_bytes is None else " " + format_bytes(process.used_bytes)
        shown.append(f"{strip_control(process.name or '?')} ({process.pid}){used}")
    more = len(card.processes) - len(shown)
    return Text((", ".join(shown) or tr("watch.no")) + (f" +{more}" if more else ""))
