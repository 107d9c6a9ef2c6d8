"""The options of a load, shared by `bench`, `compare` and `tune`, and what they mean."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.measure.bench import Spec
    from fitserve.measure.figures import Bounds
    from fitserve.measure.workload import Workload

_Function = Callable[..., Any]
_BOUNDS = {"ttft": "first_token_s", "tpot": "time_per_token_s", "e2el": "end_to_end_s", "e2e": "end_to_end_s"}
_WORK: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--pictures",), {"type": click.IntRange(0, 64), "default": 1, "help": "pictures in a conversation (default 1)"}),
    (("--size", "sizes"), {"default": "448", "help": "their size: 448, or 448,1024x768 in turn (default 448)"}),
    (("--same-pictures",), {"is_flag": True, "help": "send the same ones again: what an image cache makes of it"}),
    (("--words",), {"type": click.IntRange(0, 1_000_000), "default": 0, "help": "more words before each question"}),
    (("--turns",), {"type": click.IntRange(1, 100), "default": 1, "help": "questions in a conversation"}),
    (("--output-tokens",), {"type": click.IntRange(1), "default": 64, "help": "tokens out, exactly (default 64)"}),
    (("--stop-freely",), {"is_flag": True, "help": "let the model end by itself, at most --max-tokens"}),
    (("--max-tokens",), {"type": click.IntRange(1), "default": 256, "help": "with --stop-freely"}),
    (("--seed",), {"type": int, "help": "repeat a run's pictures, words and arrivals (default: new ones)"}),
    (("--body",), {"default": "", "metavar": "JSON", "help": "more of the request's body"}),
    (("--goodput",), {"default": "", "metavar": "BOUNDS", "help": "ttft:500,tpot:50,e2e:5000 in ms: what is good"}),
    (("--request-timeout",), {"type": click.FloatRange(min=1), "default": 600.0, "help": "seconds for one answer"}),
)


def work_options(function: _Function) -> _Function:
    """Give a command all options of the work."""
    for names, settings in reversed(_WORK):
        function = click.option(*names, **settings)(function)
    return function


def workload(options: Mapping[str, Any], conversations: int, run: int = 0) -> Workload:
    """The work that the options describe. Raises SettingsError.

    Without a seed it is work that nobody has seen: a server that was measured before would answer from its caches.
    Runs of one command get seeds in a row, for the same reason.
    """
    from fitserve.measure.workload import Workload
    from fitserve.text import current_language

    return Workload(
        conversations=conversations,
        turns=options["turns"],
        pictures=options["pictures"],
        sizes=parse_sizes(options["sizes"]),
        words=options["words"],
        output_tokens=None if options["stop_freely"] else options["output_tokens"],
        max_tokens=options["max_tokens"],
        same_pictures=options["same_pictures"],
        language="zh" if current_language() == "zh" else "en",
        seed=run + (random.randrange(10**9) if options["seed"] is None else options["seed"]),
    )


def specs(options: Mapping[str, Any], target: str) -> tuple[Spec, ...]:
    """One bench a number of users, or one at a rate. Raises SettingsError."""
    from fitserve.measure.bench import Spec
    from fitserve.measure.load import Pace

    if options["users"] and options["rate"]:
        hint = tr("measure.users_and_rate_next", target=target)
        raise SettingsError(tr("measure.users_and_rate"), hint=hint)
    common: dict[str, Any] = {
        "bounds": parse_bounds(options["goodput"]),
        "extra": parse_body(options["body"]),
        "limit_s": options["request_timeout"],
    }
    if options["rate"]:
        work = workload(options, options["requests"] or 60)
        return (
            Spec(work, Pace(rate=options["rate"]), 2 if options["warmup"] is None else options["warmup"], **common),
        )
    made = []
    for run, users in enumerate(parse_users(options["users"] or "1,4,16")):
        work = workload(options, options["requests"] or max(16, 6 * users), run)
        warmup = users if options["warmup"] is None else options["warmup"]
        made.append(Spec(work, Pace(users=users), warmup, **common))
    return tuple(made)


def parse_users(text: str) -> tuple[int, ...]:
    """`1,4,16`. Raises SettingsError."""
    try:
        users = tuple(int(part) for part in text.split(","))
    except ValueError:
        users = ()
    if not users or not all(1 <= number <= 4096 for number in users):
        raise SettingsError(tr("measure.bad_users", text=text), hint=tr("measure.bad_users_next"))
    return users


def parse_sizes(text: str) -> tuple[tuple[int, int], ...]:
    """`448,1024x768`. Raises SettingsError."""
    from fitserve.measure.pictures import parse_size

    try:
        return tuple(parse_size(part) for part in text.split(","))
    except ValueError as error:
        raise SettingsError(tr("measure.bad_size", text=str(error)), hint=tr("measure.bad_size_next")) from error


def parse_bounds(text: str) -> Bounds:
    """`ttft:500,tpot:50` in milliseconds, as `vllm bench` writes it. Raises SettingsError."""
    from fitserve.measure.figures import Bounds

    given: dict[str, float] = {}
    for part in filter(None, text.replace(" ", ",").split(",")):
        name, _, value = part.partition(":")
        try:
            given[_BOUNDS[name]] = float(value) / 1000
        except (KeyError, ValueError) as error:
            raise SettingsError(tr("measure.bad_goodput", text=part), hint=tr("measure.bad_goodput_next")) from error
    return Bounds(**given)


def parse_body(text: str) -> tuple[tuple[str, object], ...]:
    """A JSON object's keys and values. Raises SettingsError."""
    if not text:
        return ()
    try:
        table = json.loads(text)
    except ValueError as error:
        raise SettingsError(tr("measure.bad_body"), evidence=str(error), hint=tr("measure.bad_body_next")) from error
    if not isinstance(table, dict):
        raise SettingsError(tr("measure.bad_body"), evidence=text, hint=tr("measure.bad_body_next"))
    return tuple(table.items())
