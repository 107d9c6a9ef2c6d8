"""Kept measurements made from numbers: a bench of three loads and a comparison of two settings, with known answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitserve.cli.compare import plan_table
from fitserve.clock import ManualClock
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.measure.bench import Bench, Spec
from fitserve.measure.compare import Plan
from fitserve.measure.figures import figures
from fitserve.measure.load import Pace
from fitserve.measure.results import head
from fitserve.measure.sample import Sample
from fitserve.measure.server import Comparison, Held, ServerView
from fitserve.measure.tables import bench_table, plain, spec_table
from fitserve.measure.verdict import Round, summary, verdicts
from fitserve.measure.workload import Workload
from fitserve.observe.record import RunRecord
from fitserve.units import GIB

HOST = HostFacts(
    "Linux 6.1 x86_64", "3.11", "A <processor> & more", frozenset(), 16, 128 * GIB, 64 * GIB, None, None, None
)
CARDS = (Gpu(0, "NVIDIA H200", 139 * GIB, None, (9, 0)),)
DEPLOYMENT = {
    "name": "demo",
    "model": "demo",
    "engine": "vllm 0.22.1",
    "plan": {
        "ledger": [
            {"item": "weights", "low": 11 * GIB, "expected": 11 * GIB, "high": 11 * GIB},
            {"item": "activation_peak", "low": GIB, "expected": 2 * GIB, "high": 3 * GIB},
            {"item": "graphs", "low": None, "expected": None, "high": None},
        ],
        "kv": {"blocks": 790, "tokens": 812_000},
    },
    "measured": {"weights_bytes": 12 * GIB, "kv_blocks": 790, "kv_tokens": None},
}
VIEW = ServerView((Comparison("requests", 40, 40, Held.AGREES), Comparison("first_token_s", 0.11, 0.1, Held.AGREES)))


def samples(users: int, count: int, gap_s: float = 0.01) -> tuple[Sample, ...]:
    """So many users who each get an answer of 11 tokens every 0.2 s."""
    made = []
    for number in range(count):
        sent_s = (number // users) * 0.2
        times = tuple(sent_s + 0.1 + 0.001 * (number % 7) + gap_s * token for token in range(11))
        counts = {"pictures": 1, "prompt_tokens": 100, "completion_tokens": 11, "image_tokens": 64}
        made.append(Sample(number, 0, sent_s, sent_s, 0.0, times[-1], times, **counts))
    return tuple(made)


def load(users: int, gap_s: float = 0.01, **changes: object) -> Bench:
    """A bench of so many users."""
    spec, found = Spec(Workload(conversations=40), Pace(users=users)), samples(users, 40, gap_s)
    values = {
        "warmup": (), "lag_s": 0.002, "seconds": 8.0, "unfinished": 0, "judged": 40, "right": 38,
        "picture_tokens": {(448, 448): 196}, "memory_peak_bytes": (21 * GIB,),
    } | changes  # fmt: skip
    return Bench(spec, figures(found, spec.pace), VIEW, samples=found, **values)


@pytest.fixture
def bench_file(tmp_path: Path) -> Path:
    """Loads of 1, 4 and 16 users; the last one is invalid."""
    record = RunRecord(tmp_path / "bench.jsonl", ManualClock(1_790_000_000.0))
    target = {"name": "demo", "url": "http://127.0.0.1:8000", "model": "demo", "engine_version": "0.22.1"}
    record.write("bench", **head(target, HOST, CARDS, None, None) | {"deployment": DEPLOYMENT})
    for run, users in enumerate((1, 4, 16)):
        bench = load(users, invalid=("lagged",) if users == 16 else (), lag_s=0.05)
        record.write("run", run=run, settings=spec_table(bench.spec))
        for sample in bench.samples:
            record.write("sample", run=run, part="measured", **sample.table())
        record.write("memory", run=run, rows=[[0.0, 20 * GIB], [1.0, 21 * GIB]])
        record.write("result", run=run, **bench_table(bench))
    return record.path


@pytest.fixture
def compare_file(tmp_path: Path) -> Path:
    """Eager against graphs, three rounds; graphs has half the time per token. A third setting did not start."""
    plan = Plan(("eager", "graphs", "tp=8"), rounds=3)
    record = RunRecord(tmp_path / "compare.jsonl", ManualClock(1_790_000_000.0))
    record.write("compare", **head({"name": "demo"}, HOST, None, None, None), plan=plan_table(plan))
    rounds = []
    for number in range(3):
        for setting, gap_s, seconds in (("eager", 0.01, 145.0), ("graphs", 0.005, 234.0)):
            rounds.append(_start(record, setting, number, gap_s, seconds + number))
    failure = {"message": "TP 8 needs 8 cards", "evidence": "1 card"}
    record.write("round", setting="tp=8", round=0, failure=failure)
    record.write("verdict", **_verdict(plan, rounds))
    return record.path


def _start(record: RunRecord, setting: str, number: int, gap_s: float, seconds: float) -> Round:
    bench = load(1, gap_s)
    where = {"setting": setting, "round": number}
    for sample in bench.samples:
        record.write("sample", **where, part="measured", **sample.table())
    record.write(
        "round", **where, failure=None, start_seconds=seconds, answers=["red"], right=9, judged=10,
        stage_memory_bytes={"load": [12 * GIB], "profile": [15 * GIB]}, deployment=DEPLOYMENT,
        result=bench_table(bench),
    )  # fmt: skip
    token = bench.figures.time_per_token_s
    assert token is not None
    jitter = 1 + number / 100
    values = {"output_tokens_s": 0.55 * jitter / gap_s, "time_per_token_s": token.median.value * jitter}
    return Round(setting, number, values | {"first_start_s" if number == 0 else "start_s": seconds})


def _verdict(plan: Plan, rounds: list[Round]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "kind": "comparison",
        "target": "demo",
        "settings": list(plan.settings),
        "figures": {setting: plain(summary(rounds, setting)) for setting in plan.settings},
        "verdicts": [plain(verdict) for verdict in verdicts(rounds, plan.settings)],
        "answers": [{"setting": "graphs", "same": 29, "count": 30, "differs": ["What colour?", "red", "<b>blue</b>"]}],
        "right": {"eager": {"right": 27, "judged": 30}, "graphs": {"right": 28, "judged": 30}},
    }
