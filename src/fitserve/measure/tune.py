"""A search for better settings within a budget: the ledger has removed what can't fit, one look at each that is left,
then the best against what is there, with fresh starts only, so that the luck of the first look does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fitserve.measure.bench import Listener
from fitserve.measure.compare import Comparing, Plan, Service, Trial
from fitserve.measure.memory import UsedMemory
from fitserve.measure.verdict import Call, Verdict, verdicts

LOOKING_SHARE = 0.5  # of the budget; the rest is for the proof
_LEAST_ROUNDS = 2  # fewer give no verdict
FIGURE = "output_tokens_s"

RunComparing = Callable[[Plan], Comparing]


@dataclass(frozen=True)
class Situation:
    """What is there now, and what the machine would take."""

    eager: bool
    tensor_parallel_size: int
    max_num_seqs: int
    max_num_batched_tokens: int
    cards: int  # 0 for a CPU engine


@dataclass(frozen=True)
class Budget:
    """Seconds, and how many are spent."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    begun: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """What is left; below 0 it is overspent."""
        return self.seconds - (self.clock() - self.begun)


@dataclass(frozen=True)
class Tuned:
    """What a search found. `winner` is the best at first sight; `verdict` is its proof, None where time ran out."""

    looked: tuple[Trial, ...]
    not_looked: tuple[str, ...]
    winner: str | None
    proof: tuple[Trial, ...] = ()
    verdict: Verdict | None = None

    @property
    def offered(self) -> str | None:
        """The setting that is really better."""
        return self.winner if self.verdict is not None and self.verdict.call is Call.BETTER else None


def candidates(now: Situation) -> tuple[str, ...]:
    """A short list of settings that differ in one thing from what is there, the most promising first."""
    found = ["graphs" if now.eager else "eager"]
    found += [f"tp={ranks}" for ranks in (1, 2, 4, 8) if ranks <= now.cards and ranks != now.tensor_parallel_size]
    found += [f"seqs={seqs}" for seqs in (now.max_num_seqs * 2, max(1, now.max_num_seqs // 4))]
    batched = now.max_num_batched_tokens
    found += [f"batched={tokens}" for tokens in (batched * 2, batched // 2) if 1024 <= tokens <= 32_768]
    if not now.eager and now.cards:
        found.append(f"capture={max(1, min(now.max_num_seqs, 512) // 4)}")
    if now.cards:
        found.append("kv-dtype=fp8")
    return tuple(found)


class Tuning:
    """Runs a search. `tell` hears of each start."""

    def __init__(
        self,
        service: Service,
        memory: UsedMemory,
        listen: Callable[[str, int], Listener],
        tell: Callable[[Trial], None],
        run: Callable[[Plan], Comparing] | None = None,
    ) -> None:
        self._tell = tell
        self._make = run or (lambda plan: Comparing(plan, service, memory, listen))
        self._longest_s = 0.0

    def run(self, plan: Plan, budget: Budget) -> Tuned:
        """`plan.settings`: what is there now, then the candidates. An interrupt goes through."""
        base = plan.settings[0]
        looked, left = self._look(plan, budget)
        best = best_of(looked, base)
        if best is None:
            return Tuned(looked, left, None)
        proof = self._prove(replace(plan, settings=(base, best)), budget)
        rounds = proof.rounds()
        verdict = next(one for one in verdicts(rounds, (base, best)) if one.figure == FIGURE)
        return Tuned(looked, left, best, tuple(proof.trials), verdict if verdict.ratio else None)

    def _look(self, plan: Plan, budget: Budget) -> tuple[tuple[Trial, ...], tuple[str, ...]]:
        """One start of each, as far as half of the budget reaches."""
        looked: list[Trial] = []
        for number, setting in enumerate(plan.settings):
            room = budget.left() - budget.seconds * (1 - LOOKING_SHARE)
            if number and room < self._longest_s:
                return tuple(looked), plan.settings[number:]
            looked += self._timed(replace(plan, settings=(setting,), rounds=1), budget, lambda _number: True).trials
        return tuple(looked), ()

    def _prove(self, plan: Plan, budget: Budget) -> Comparing:
        """Rounds of both as long as another one fits into what is left."""

        def fits(number: int) -> bool:
            wanted = _LEAST_ROUNDS if number == 0 else 1
            return budget.left() >= wanted * len(plan.settings) * self._longest_s

        return self._timed(plan, budget, fits)

    def _timed(self, plan: Plan, budget: Budget, go_on: Callable[[int], bool]) -> Comparing:
        comparing = self._make(plan)
        before = budget.left()

        def told(trial: Trial) -> None:
            nonlocal before
            self._longest_s = max(self._longest_s, before - budget.left())
            before = budget.left()
            self._tell(trial)

        comparing.run(told, go_on)
        return comparing


def best_of(looked: Sequence[Trial], base: str) -> str | None:
    """The setting with the highest throughput at first sight; None where nothing beats what is there."""
    seen = {trial.setting: flow(trial) for trial in looked}
    ranked = sorted(((value, name) for name, value in seen.items() if value is not None), reverse=True)
    return ranked[0][1] if ranked and ranked[0][1] != base and seen.get(base) is not None else None


def flow(trial: Trial) -> float | None:
    """Tokens per second of one start; None where it did not start, answered nothing, or lagged."""
    if trial.load is None or trial.load.invalid:
        return None
    return trial.load.figures.throughput.output_tokens
