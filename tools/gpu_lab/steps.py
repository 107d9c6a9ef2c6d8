"""What is measured of an engine that answers. Each step returns JSON; what it could not do stands in it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import client
from watch import Memory, Peak

from fitserve.chat.endpoint import Endpoint
from fitserve.clock import SystemClock
from fitserve.facts.read_gpus import read_gpus
from fitserve.facts.read_host import read_host
from fitserve.measure.bench import Spec, bench
from fitserve.measure.load import Pace
from fitserve.measure.pictures import Size
from fitserve.measure.results import head, memory_table, new_results, target_table
from fitserve.measure.sample import Sample
from fitserve.measure.tables import bench_table, spec_table
from fitserve.measure.workload import Workload
from fitserve.observe.record import RunRecord

TOKENS_OUT = 64
SIZES: tuple[Size, ...] = (
    (448, 448), (448, 448), (672, 672), (896, 896), (1344, 1344), (1792, 1792), (2048, 2048), (2688, 2688),
    (3072, 2048), (3072, 2048),
)  # fmt: skip
LARGEST: Size = (4096, 4096)  # 16,777,216 px: what the lead model's processor lets through


@dataclass(frozen=True)
class Subject:
    """The engine under measurement, and how long there is for it (`time.monotonic`)."""

    url: str
    memory: Memory
    max_model_len: int
    out: Path
    name: str
    version: str
    until: float


def measure(step: str, subject: Subject, loads: dict[str, list[list[int]]]) -> object:
    """The step by its name; `load:NAME` runs one of the loads."""
    kind, _, which = step.partition(":")
    steps: dict[str, Callable[[], object]] = {
        "first": lambda: [_picture(subject, (448, 448), seed) for seed in range(2)],
        "pictures": lambda: _pictures(subject),
        "largest": lambda: [_picture(subject, LARGEST, 99)],
        "long": lambda: _long(subject),
        "score": lambda: _score(subject),
        "load": lambda: asyncio.run(_loads(subject, loads[which])),
    }
    return steps[kind]()


def _pictures(subject: Subject) -> list[dict[str, object]]:
    found = []
    for seed, size in enumerate((*SIZES, LARGEST)):
        if time.monotonic() > subject.until:
            break
        found.append(_picture(subject, size, seed))
    return found


def _picture(subject: Subject, size: Size, seed: int) -> dict[str, object]:
    """One picture: memory before, at its peak and after it."""
    before, peak = subject.memory.used(), Peak(subject.memory)
    peak.start()
    reply = client.ask_drawn(subject.url, size, seed)
    most = peak.end()
    return _row(reply, {"width": size[0], "height": size[1]}, before, most, subject.memory.used())


def _long(subject: Subject) -> dict[str, object]:
    """A prompt that fills the length, but for what the answer needs."""
    count = subject.max_model_len - 32
    before, peak = subject.memory.used(), Peak(subject.memory)
    peak.start()
    reply = client.ask_ids(subject.url, count, max(10.0, subject.until - time.monotonic()))
    return _row(reply, {"prompt_tokens": count}, before, peak.end(), subject.memory.used())


def _row(
    reply: client.Reply, what: dict[str, object], before: list[int], most: list[int], after: list[int]
) -> dict[str, object]:
    usage = reply.body.get("usage") or {}
    failed = {} if reply.status == 200 else {"error": reply.text[:500]}
    memory = {"before_bytes": before, "peak_bytes": most, "after_bytes": after}
    tokens = {"prompt_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    return {**what, **{k: v for k, v in tokens.items() if v is not None}, "status": reply.status,
            "seconds": reply.seconds, **memory, **failed}  # fmt: skip


def _score(subject: Subject, pictures: int = 100) -> dict[str, object]:
    """The demo world's own exam: fresh pictures, both languages, a trained and an untrained phrasing."""
    from concurrent.futures import ThreadPoolExecutor

    sys.path.insert(0, str(Path(__file__).parents[1] / "demo_model"))
    import exam

    papers = exam.papers(pictures)

    def answer(paper: Any) -> str:  # noqa: ANN401 - fitserve.demo.sample.Sample, by another path
        return client.ask_picture(subject.url, paper.image_bytes, paper.mime_type, paper.question.text, 32, 120).answer

    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(answer, papers))
    counts = exam.tally(papers, said)
    shares = {language: round(exam.share(counts, language), 4) for language in ("en", "zh")}
    right = sum(paper.is_right(text) for paper, text in zip(papers, said, strict=True))
    return {"pictures": pictures, "asked": len(papers), "right": right, **shares, "answers": said}


async def _loads(subject: Subject, loads: list[list[int]]) -> list[dict[str, object]]:
    """Fitserve's own bench, one load after the other, kept as `bench` keeps them."""
    record = new_results("bench", subject.name, SystemClock(), subject.out / f"{subject.name}.bench.jsonl")
    gpus, endpoint = read_gpus(), Endpoint(subject.url, client.MODEL)
    target = target_table(subject.url, client.MODEL, subject.name, subject.version)
    record.write("bench", **head(target, read_host(), gpus if isinstance(gpus, tuple) else None, None, None))
    found = []
    for run, (side, users, requests) in enumerate(loads):
        if time.monotonic() > subject.until:
            break
        work = Workload(conversations=requests, sizes=((side, side),), output_tokens=TOKENS_OUT, seed=1000 + run)
        spec = Spec(work, Pace(users=users), min(users, 4) if run else 2)
        record.write("run", run=run, settings=spec_table(spec))
        result = await bench(endpoint, spec, subject.memory, asyncio.Event(), _Keep(record, run))
        if result.memory:
            record.write("memory", run=run, rows=memory_table(result.memory))
        table = bench_table(result)
        record.write("result", run=run, **table)
        found.append({"side": side, "users": users, **table})
        speed = result.figures.throughput.output_tokens
        print(f"{subject.name}: {side} px, {users} users: {speed or 0:.0f} tokens/s", flush=True)
    record.close()
    return found


class _Keep:
    """Writes each sample; the answers of dummy weights are left out."""

    def __init__(self, record: RunRecord, run: int) -> None:
        self._record, self._run = record, run

    def begins(self, part: str, requests: int) -> None:
        """Nothing to do."""

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:  # noqa: ARG002 - the listener's signature
        """One request more."""
        if part == "measured":
            self._record.write("sample", run=self._run, part=part, **{**sample.table(), "answer": ""})
