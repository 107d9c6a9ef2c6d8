"""One setting against another: each started from clean, several rounds in rotated order, the same work for all.

What a round does with each setting: start it, ask the first question (cold), ask the common questions (their answers
are compared), run the load (warm), stop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fitserve.chat.endpoint import Endpoint
from fitserve.errors import FitserveError, Interrupted, ToolMissing
from fitserve.measure.bench import Bench, Listener, Spec, bench
from fitserve.measure.load import Load, Pace
from fitserve.measure.memory import MemoryWatch, UsedMemory
from fitserve.measure.sample import Sample
from fitserve.measure.verdict import Round
from fitserve.measure.workload import Workload, judged, scripts

QUESTIONS = "questions"


@dataclass(frozen=True)
class Running:
    """A service that answers. `stages` are (name, seconds after the start of the engine)."""

    endpoint: Endpoint
    seconds: float  # from nothing to its first right answer
    stages: tuple[tuple[str, float], ...] = ()
    deployment: Mapping[str, object] = field(default_factory=dict)  # plan and measured ledger, as JSON


class Service(Protocol):
    """Starts a setting from clean, and stops it to the last process. `start` raises FitserveError, leaving nothing."""

    def start(self, setting: str) -> Running: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class Plan:
    """What is compared. The load's seed moves on with the round, the questions stay."""

    settings: tuple[str, ...]
    rounds: int = 5
    questions: int = 10
    load: Spec = field(default_factory=Spec)

    def order(self, number: int) -> tuple[str, ...]:
        """Each round begins with another setting, so that what drifts with time hits all alike."""
        turn = number % len(self.settings)
        return self.settings[turn:] + self.settings[:turn]

    def asking(self) -> Spec:
        """The common questions: the model ends by itself, so that answers can be compared."""
        work = replace(
            self.load.work, conversations=self.questions, turns=1, output_tokens=None, same_pictures=False, words=0
        )
        return replace(self.load, work=work, pace=Pace(users=1), warmup=0)


@dataclass(frozen=True)
class Trial:
    """One start of one setting, with all that was measured. `failure` is why it did not start."""

    setting: str
    number: int
    running: Running | None
    cold: Sample | None = None
    answers: tuple[str, ...] = ()
    right: int = 0
    judged: int = 0
    load: Bench | None = None
    stage_memory: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    failure: FitserveError | None = None

    def round(self, first: bool) -> Round:
        """Its figures. `first`: the first start of this setting, whose caches may have been empty."""
        if self.running is None or self.load is None:
            return Round(self.setting, self.number, {})
        found = self.load.figures
        figures = {
            "output_tokens_s": found.throughput.output_tokens,
            "time_per_token_s": found.time_per_token_s.median.value if found.time_per_token_s else None,
            "first_token_s": found.first_token_s.median.value if found.first_token_s else None,
            "end_to_end_s": found.end_to_end_s.median.value if found.end_to_end_s else None,
            "cold_first_token_s": self.cold.first_token_s if self.cold else None,
            "first_start_s" if first else "start_s": self.running.seconds,
        }
        return Round(self.setting, self.number, figures, self.load.invalid)


class Comparing:
    """Runs a plan. `trials` grows with each start, so that what is done is kept whatever ends it."""

    def __init__(
        self,
        plan: Plan,
        service: Service,
        memory: UsedMemory,
        listen: Callable[[str, int], Listener],
        run: Callable[[Coroutine[Any, Any, Trial]], Trial] = asyncio.run,
    ) -> None:
        self._plan, self._service, self._memory, self._listen, self._run = plan, service, memory, listen, run
        self.trials: list[Trial] = []

    def run(self, done: Callable[[Trial], None], go_on: Callable[[int], bool] = lambda _number: True) -> None:
        """All rounds. `go_on(round)` is asked before each: a budget may be spent. An interrupt goes through."""
        for number in range(self._plan.rounds):
            if not go_on(number):
                return
            for setting in self._plan.order(number):
                if not self._hopeless(setting):
                    self.trials.append(self._trial(setting, number))
                    done(self.trials[-1])

    def rounds(self) -> list[Round]:
        """The figures of all trials."""
        seen: set[str] = set()
        found = []
        for trial in self.trials:
            if trial.running is not None:
                found.append(trial.round(trial.setting not in seen))
                seen.add(trial.setting)
        return found

    def _hopeless(self, setting: str) -> bool:
        """It failed to start before: that takes minutes and shows nothing new. Without an engine none can start."""
        failed = [trial for trial in self.trials if trial.failure]
        return any(trial.setting == setting or isinstance(trial.failure, ToolMissing) for trial in failed)

    def _trial(self, setting: str, number: int) -> Trial:
        watch = MemoryWatch(self._memory)
        watch.start()
        try:
            running = self._service.start(setting)
        except (FitserveError, KeyboardInterrupt) as failure:
            self._service.stop()  # a start that was undone is still known by its name
            if isinstance(failure, (Interrupted, KeyboardInterrupt)):
                raise
            return Trial(setting, number, None, failure=failure)
        finally:
            watch.end()
        try:
            trial = Trial(setting, number, running, stage_memory=stage_memory(watch, running))
            return self._run(measured(self._plan, trial, running, self._memory, self._listen(setting, number)))
        finally:
            self._service.stop()


async def measured(plan: Plan, trial: Trial, running: Running, memory: UsedMemory, listener: Listener) -> Trial:
    """The first question, the common questions, the load."""
    stop, asking = asyncio.Event(), plan.asking()
    work = tuple(scripts(asking.work, QUESTIONS))
    listener.begins(QUESTIONS, len(work))
    load = Load(
        asking.asking(running.endpoint), asking.pace, lambda one: listener.sample(QUESTIONS, one, load.in_flight)
    )
    ran = await load.run(work, stop)
    answers = tuple(sample.answer for sample in sorted(ran.samples, key=lambda one: one.conversation))
    verdicts = judged(work, [(one.conversation, one.turn, one.answer) for one in ran.samples if one.ok])
    spec = replace(plan.load, work=replace(plan.load.work, seed=plan.load.work.seed + trial.number))
    found = await bench(running.endpoint, spec, memory, stop, listener)
    return replace(
        trial, cold=ran.samples[0] if ran.samples else None, answers=answers, right=sum(verdicts),
        judged=len(verdicts), load=found,
    )  # fmt: skip


def stage_memory(watch: MemoryWatch, running: Running) -> dict[str, tuple[int, ...]]:
    """The peak of each card in each stage of the start; empty where no driver can say."""
    if not watch.samples or not running.stages:
        return {}
    began = watch.samples[-1][0] - running.stages[-1][1]  # the last look was at the last stage's beginning
    ends = [at_s for _, at_s in running.stages[1:]] + [float("inf")]
    peaks: dict[str, tuple[int, ...]] = {}
    for (name, at_s), end_s in zip(running.stages, ends, strict=True):
        rows = [used for moment, used in watch.samples if at_s <= moment - began < end_s]
        if rows:
            peaks[name] = tuple(max(card) for card in zip(*rows, strict=True))
    return peaks


@dataclass(frozen=True)
class AnswersCompared:
    """How the answers to the common questions agree with the base's. `differs` is the first that does not."""

    setting: str
    same: int
    count: int
    differs: tuple[str, str, str] | None = None  # question, the base's answer, this one's


def compare_answers(trials: Sequence[Trial], plan: Plan, work: Workload) -> tuple[AnswersCompared, ...]:
    """Every trial after the base's first, the base's own later ones too: they show what repeats at all."""
    with_answers = [trial for trial in trials if trial.answers]
    base = next((trial for trial in with_answers if trial.setting == plan.settings[0]), None)
    if base is None:
        return ()
    questions = [script.asks[0].text for script in scripts(work, QUESTIONS)]
    return tuple(
        _compared(setting, base, [one for one in with_answers if one.setting == setting and one is not base], questions)
        for setting in plan.settings
    )


def _compared(setting: str, base: Trial, others: Sequence[Trial], questions: Sequence[str]) -> AnswersCompared:
    pairs = [row for other in others for row in zip(questions, base.answers, other.answers, strict=False)]
    different = [row for row in pairs if row[1] != row[2]]
    return AnswersCompared(setting, len(pairs) - len(different), len(pairs), different[0] if different else None)
