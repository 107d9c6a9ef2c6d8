"""What a rule may look at: one start, its settings, its version, and what the person said of the machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from fitserve.diagnose.finding import Evidence
from fitserve.diagnose.frames import stage_of_frames
from fitserve.observe.log.failures import Failure
from fitserve.observe.log.start import Hit, Start
from fitserve.stage import Stage

Release = tuple[int, int]
_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?!\d*\.dev\d{4,})")
_RANK = re.compile(r"^Worker_(?:\w{1,20}_)?TP(\d{1,5})")
_QUANTIZED = re.compile(r"AWQ|GPTQ|INT[48]|FP[48]|W[48]A|AutoRound|bnb|-[48]bit", re.IGNORECASE)
_DEVELOPMENT = re.compile(r"0\.1\.dev")
_ORDER = {stage: number for number, stage in enumerate(Stage)}
# Who writes a line dates the engine where no version is printed.
_ERAS: tuple[tuple[str, Release, Release], ...] = (
    (r"EngineCore|Worker_TP\d+(?:_EP\d+)?|Worker_(?:DP|PP)\d+\S*", (0, 11), (9, 9)),
    (r"EngineCore_(?:DP)?\d+", (0, 10), (0, 18)),
    (r"VllmWorker rank=\d+", (0, 8), (0, 10)),
    (r"VllmWorkerProcess|RayWorkerWrapper", (0, 4), (0, 11)),
)


@dataclass(frozen=True)
class Case:
    """A start to judge. `gpus` and `gpu_gib` are what the person named, None where unknown."""

    start: Start
    before: Start | None = None
    stated: dict[str, object] = field(default_factory=dict)
    gpus: int | None = None
    gpu_gib: float | None = None
    model: str = ""
    cpu: bool = False

    @cached_property
    def settings(self) -> dict[str, object]:
        """Flags of the launch: from the log, what the person stated over it."""
        return {**self.start.settings, **self.stated}

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Exceptions of this start; what is thrown while it is taken down on request is no failure."""
        stop = next((hit.line for hit in self.hits("stopped")), None)
        return tuple(item for item in self.start.failures if stop is None or item.line < stop)

    @cached_property
    def roots(self) -> tuple[Failure, ...]:
        """Failures that say something of their own, inner processes before the API server."""
        own = [failure for failure in self.failures if not failure.wrapper]
        return tuple(sorted(own, key=lambda failure: (failure.process.startswith("APIServer"), failure.line)))

    @cached_property
    def frames(self) -> frozenset[str]:
        """Functions on the way to any failure."""
        return frozenset(name for failure in self.failures for name in failure.functions)

    @cached_property
    def framed(self) -> Stage | None:
        """The stage of a start that a traceback proves, None where none does or the service was up."""
        found = (stage_of_frames(failure) for failure in self.roots)
        return None if self.served else next((stage for stage in found if stage not in (None, Stage.SERVE)), None)

    @cached_property
    def release(self) -> Release | None:
        """(major, minor) of the engine as printed; None for development builds and silent logs."""
        text = self.start.version or ""
        found = None if _DEVELOPMENT.match(text) else _VERSION.match(text)
        return (int(found[1]), int(found[2])) if found else None

    def at_least(self, *release: int) -> bool | None:
        """Whether the engine is this release or newer; None where it can't be told."""
        wanted = (release[0], release[1])
        if self.release is not None:
            return self.release >= wanted
        if _DEVELOPMENT.match(self.start.version or ""):
            return True
        low, high = self._era
        return True if low >= wanted else False if high < wanted else None

    @cached_property
    def _era(self) -> tuple[Release, Release]:
        low, high = (0, 0), (9, 9)
        writers = {*self.start.pids, *(line.process for line in self.start.tail)}
        for shape, first, last in _ERAS:
            if any(re.fullmatch(shape, writer) for writer in writers):
                low, high = max(low, first), min(high, last)
        return low, high

    def hits(self, key: str) -> list[Hit]:
        """Lines in which the pattern was found, remarks left out."""
        found = self.start.hits.get(key)
        return [hit for hit in found.all if hit.level != "NOTE"] if found else []

    def noted(self, key: str) -> list[Hit]:
        """Remarks of a person in which the pattern was found."""
        found = self.start.hits.get(key)
        return [hit for hit in found.all if hit.level == "NOTE"] if found else []

    @cached_property
    def levels(self) -> dict[int, str]:
        """The level of each line that was kept."""
        lines = [*self.start.tail, *self.start.errors, *self.start.notes]
        hits = [hit for hits in self.start.hits.values() for hit in hits.all]
        return {line.number: line.level for line in lines} | {hit.line: hit.level for hit in hits}

    def complaints(self, key: str) -> list[Hit]:
        """Hits that are not mere information: errors and bare lines."""
        return [hit for hit in self.hits(key) if hit.level not in ("INFO", "DEBUG", "WARNING")]

    def figure(self, name: str) -> float | None:
        value = self.start.figures.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def number(self, flag: str) -> float | None:
        """A numeric setting, None where it is not stated."""
        value = self.settings.get(flag)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def reached(self, stage: Stage) -> bool:
        return self.start.stage is not None and _ORDER[self.start.stage] >= _ORDER[stage]

    @cached_property
    def served(self) -> bool:
        """Whether the service was up when it happened."""
        return self.reached(Stage.SERVE) or bool(self.hits("runtime_wrapper") or self.hits("engine_ready"))

    @cached_property
    def eager(self) -> bool:
        return self.settings.get("--enforce-eager") is True or bool(self.hits("eager_notice"))

    @cached_property
    def tp(self) -> int:
        """Ranks: as stated, else as many as the log shows."""
        stated = self.number("--tensor-parallel-size") or self.figure("world_size")
        writers = {*self.start.pids, *(failure.process for failure in self.failures)}
        last = max((int(found[1]) for name in writers if (found := _RANK.search(name))), default=0)
        several = self.hits("several_ranks") or any(_RANK.search(name) for name in writers)
        return int(stated or max(2 if several else 1, last + 1))

    @cached_property
    def utilization(self) -> float:
        """The share that was asked for, or the version's default."""
        stated = self.number("--gpu-memory-utilization") or self.figure("utilization")
        return stated or (0.92 if self.at_least(0, 21) else 0.9)

    @cached_property
    def total_gib(self) -> float | None:
        """Memory of one card."""
        return self.figure("total_gib") or self.gpu_gib

    @cached_property
    def moe(self) -> bool:
        """Whether the model is a mixture of experts, as far as its name and its layers tell."""
        name = f"{self.model} {self.settings.get('--model', '')} {self.start.figures.get('model', '')}"
        return bool(re.search(r"-A\d+(?:\.\d+)?B|MoE|8x7|8x22|DeepSeek|Mixtral|MiniMax|Kimi", name, re.IGNORECASE))

    @cached_property
    def quantized(self) -> bool:
        """Whether the checkpoint is quantized, as far as its name and its settings tell."""
        name = f"{self.model} {self.settings.get('--model', '')} {self.start.figures.get('model', '')}"
        return bool(_QUANTIZED.search(name)) or self.settings.get("--quantization") not in (None, "None")

    def place(self, default: Stage) -> Stage:
        """The stage of a failure that can come early or while serving."""
        return Stage.SERVE if self.served else default

    def started(self, default: Stage) -> Stage:
        """The stage that a traceback proves, else the one that was reached, where that is past loading; `default`."""
        stage = self.framed or self.start.stage
        told = self.framed is not None or self.reached(Stage.PROFILE)
        return self.place(stage if stage is not None and told else default)

    def evidence(self, *hits: Hit | Failure | None, figures: tuple[str, ...] = ()) -> tuple[Evidence, ...]:
        """Lines that prove a finding: the telling ones first, then the lines of the figures it rests on."""
        found = [Evidence(hit.line, hit.text.strip()) for hit in hits if hit is not None]
        kept = {line.number: line.text for line in self.start.tail}
        for name in figures:
            number = self.start.figure_lines.get(name)
            if number is not None:
                found.append(Evidence(number, kept.get(number, f"{name} = {self.start.figures[name]}").strip()))
        unique = {item.line: item for item in reversed(found)}
        return tuple(sorted(unique.values(), key=lambda item: found.index(item)))[:6]
