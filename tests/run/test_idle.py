"""When an engine is asked, and what a failed question means; and who holds memory that did not come back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fitserve.clock import ManualClock
from fitserve.run.deployment import Deployment, Policy
from fitserve.run.edges import Holder, Outcome, Probe
from fitserve.run.holders import named
from fitserve.run.idle import Idle
from fitserve.run.pulse import Pulse
from fitserve.run.signals import Event, Health
from fitserve.run.stall import Progress, Stall

BUSY, STILL = Progress(1, 10), Progress(0, 10)
ONE = Deployment("one", "/m", "one", "127.0.0.1", 1, ("python",), {}, "vllm 1", policy=Policy(health_every_s=0))


def test_it_is_due_when_nobody_asked_for_a_minute() -> None:
    idle = Idle(60, 0)
    assert not idle.is_due(STILL, 59)
    assert idle.is_due(STILL, 60)
    assert not idle.is_due(replace(STILL, tokens=11), 70)  # somebody was answered: as good as a probe
    assert not idle.is_due(replace(STILL, tokens=11), 129)
    assert idle.is_due(replace(STILL, tokens=11), 130)
    assert not idle.is_due(replace(BUSY, tokens=11), 200)  # it works; the counters will tell
    assert idle.is_due(None, 200)  # it does not tell: ask


def test_an_answer_starts_the_minute_anew_and_a_failure_does_not() -> None:
    idle = Idle(60, 0)
    assert idle.is_due(STILL, 60)
    assert not idle.answered(False, STILL, 65)
    assert idle.is_due(STILL, 66)
    assert idle.answered(True, replace(STILL, tokens=15), 67)
    assert not idle.is_due(replace(STILL, tokens=15), 126)
    assert idle.asked == 2


@dataclass
class Played:
    """An engine that a test plays."""

    outcome: Outcome = Outcome.ANSWERED
    progress_: Progress | None = STILL
    asked: list[bool] = field(default_factory=list)

    def healthy(self, deployment: Deployment, timeout_s: float) -> bool:
        return True

    def progress(self, deployment: Deployment, timeout_s: float) -> Progress | None:
        return self.progress_

    def ask(self, deployment: Deployment, attempt: int, *, brief: bool = False) -> Probe:
        self.asked.append(brief)
        return Probe(self.outcome, "?", "!", 0.1)


def looks(played: Played, count: int, each: Callable[[int], None] = lambda _: None) -> list[Health]:
    """So many looks at an engine that has answered, ten seconds apart."""
    clock, seen, kept = ManualClock(), [], []

    def tell(event: Event) -> None:
        if isinstance(event, Health):
            seen.append(event)
            clock.sleep(10)
            each(len(seen))
        if len(seen) == count:
            pulse.end()

    pulse = Pulse(ONE, played, clock, lambda: True, tell, kept.append)
    pulse.run()
    assert kept == [look.good for look in seen]
    return seen


def test_an_idle_engine_is_asked_once_a_minute_and_briefly() -> None:
    played = Played()
    seen = looks(played, 14)
    assert played.asked == [False, True, True]  # the proof at the start, then two
    assert [look.probe is not None for look in seen].index(True) == 6
    assert all(look.good for look in seen)


def test_under_load_nothing_is_asked() -> None:
    played = Played()

    def work(number: int) -> None:
        played.progress_ = Progress(1, 10 + number)

    assert all(look.good for look in looks(played, 30, work))
    assert played.asked == [False]


def test_what_does_not_answer_when_it_is_idle_is_not_well() -> None:
    played = Played()

    def fall_ill(number: int) -> None:
        played.outcome = Outcome.FAILED

    good = [look.good for look in looks(played, 9, fall_ill)]
    assert good == [True] * 6 + [False] * 3  # each look asks again


def test_the_longest_prompt_may_take_its_time() -> None:
    measured = Progress(1, 5, prompt_tokens=1000, prefill_s=10)  # 100 tokens a second
    stall = Stall(60, longest_prompt=10_000)
    assert stall.moves(measured, 0)
    assert stall.moves(measured, 400)
    assert not stall.moves(measured, 401)
    unmeasured = Stall(60, longest_prompt=10_000)
    assert unmeasured.moves(BUSY, 0)
    assert unmeasured.moves(BUSY, 200)
    assert not unmeasured.moves(BUSY, 201)


def test_holders_are_named_and_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (told,) = named([Holder(other.pid, 5)])
        assert (told["pid"], told["used_bytes"]) == (other.pid, 5)
        assert str(told["process"]).startswith("python")
        assert isinstance(told["since"], float)
        assert told["owner"]
        assert other.poll() is None
        other.communicate(b"\n")
    (gone,) = named([Holder(2**22 + 1, None)])  # of another container
    assert gone == {"pid": 2**22 + 1, "used_bytes": None, "process": None, "owner": None, "since": None}
