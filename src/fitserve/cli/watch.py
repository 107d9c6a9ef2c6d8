"""`fitserve watch`: cards and services as they are now and as they were lately."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.cli.watch_source import Source
    from fitserve.observe.overview import History, Overview

_LIVE_S, _REPLAY_S = 2.0, 0.2
_FIRST_LOOK_S = 1.0  # between the two looks of `--once`


@click.command("watch", help=tr("help.watch"))
@click.argument("name", required=False, default="")
@click.option("--url", default="", metavar="URL", help=tr("watch.option_url"))
@click.option("--replay", "recording", metavar="FILE", type=click.Path(path_type=Path), help=tr("watch.option_replay"))
@click.option("--once", is_flag=True, help=tr("watch.option_once"))
@click.option("--json", "as_json", is_flag=True, help=tr("watch.option_json"))
@click.option("--interval", "every_s", type=click.FloatRange(0.0, 86400), metavar="S", help=tr("watch.option_interval"))
@click.option(
    "--window",
    "window_s",
    type=click.FloatRange(1, 86400),
    default=60.0,
    show_default=True,
    metavar="S",
    help=tr("watch.option_window"),
)
def command(
    name: str, url: str, recording: Path | None, once: bool, as_json: bool, every_s: float | None, window_s: float
) -> int:
    """Watch until Ctrl-C; the exit code says whether anything answered at the last look."""
    source = _source(name, url, recording)
    at_end = once or (recording is not None and not as_json and not _moves())
    looks = _looks(source, _pause(every_s, recording is not None, at_end, as_json))
    if at_end:
        looks = _ends(looks) if recording else _last(islice(looks, 2))  # a rate needs two looks
    show = _line if as_json else _page if at_end or not _moves() else _screen
    return _verdict(show(history.overview(window_s) for history in looks))


def _pause(every_s: float | None, recorded: bool, at_end: bool, as_json: bool) -> float:
    """Seconds between two looks."""
    if recorded and (at_end or as_json):
        return 0.0
    usual = _REPLAY_S if recorded else _FIRST_LOOK_S if at_end else _LIVE_S
    return usual if every_s is None else every_s


def _source(name: str, url: str, recording: Path | None) -> Source:
    """What is watched. Raises SettingsError, NotFound."""
    from fitserve.cli.watch_source import Address, Deployments, Recording
    from fitserve.errors import SettingsError

    if sum(map(bool, (name, url, recording))) > 1:
        raise SettingsError(tr("watch.one_of"), hint="fitserve watch --help")
    if recording:
        return Recording(recording)
    if url:
        from fitserve.chat.endpoint import Endpoint, parse_base_url

        return Address(Endpoint(parse_base_url(url), api_key=os.environ.get("FITSERVE_API_KEY", "")))
    if name:
        from fitserve.cli.named import one_of

        one_of(name)
    return Deployments(name)


def _moves() -> bool:
    """Whether a screen that is drawn again and again can be shown."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _looks(source: Source, pause_s: float) -> Iterator[History]:
    """The history after each look, until a recording ends or the person does."""
    from fitserve.observe.overview import History

    history = History(source.history())
    with suppress(KeyboardInterrupt):
        while (moment := source.look()) is not None:
            history.add(moment)
            yield history
            time.sleep(pause_s)


def _last(looks: Iterable[History]) -> Iterator[History]:
    """The last one only."""
    yield from deque(looks, maxlen=1)


def _ends(looks: Iterable[History]) -> Iterator[History]:
    """Of a recording the last moment at which something answered, and the end where that is another."""
    for history in _last(looks):
        answered = history.answered()
        if answered is not None:
            yield answered
        if answered is None or answered.moments[-1] != history.moments[-1]:
            yield history


def _line(overviews: Iterable[Overview]) -> Iterator[Overview]:
    """JSON lines on stdout."""
    from fitserve.observe.overview import to_document

    for overview in overviews:
        click.echo(json.dumps(to_document(overview), ensure_ascii=False))
        yield overview


def _page(overviews: Iterable[Overview]) -> Iterator[Overview]:
    """Each as text, one below the other."""
    from fitserve.cli.inspect_console import answer_console
    from fitserve.tui.watch import page

    console = answer_console()
    for overview in overviews:
        console.print(page(overview, console.width))
        yield overview


def _screen(overviews: Iterable[Overview]) -> Iterator[Overview]:
    """One page that is drawn anew; what was seen last stays on the terminal."""
    from rich.live import Live

    from fitserve.cli.inspect_console import answer_console
    from fitserve.tui.watch import page

    console, last = answer_console(), None
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for overview in overviews:
            live.update(page(overview, console.width), refresh=True)
            last = overview
            yield overview
    if last is not None:
        console.print(page(last, console.width))


def _verdict(overviews: Iterable[Overview]) -> int:
    """0 where something answered at the last look; where only the machine was watched, its cards have to be known."""
    last = None
    with suppress(KeyboardInterrupt):  # the usual end of a watch
        for overview in overviews:
            last = overview
    if last is None:
        return 1
    return 0 if last.answers or (not last.services and last.moment.sample.cards) else 1
