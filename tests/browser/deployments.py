"""Deployments for pages in a browser: frozen files and live states; what answers is the stub."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.page import served_page
from tests.web.owner_case import deployment

from fitserve.run.deployment import Deployment
from fitserve.run.live import Evidence, Live, Reason, StageTime, State
from fitserve.run.processes import Identity, look_up
from fitserve.stage import Stage

LOG = (
    "(APIServer pid=1) INFO 11-30 12:00:00 [api_utils.py:347]         version 0.33.0\n"
    "(EngineCore pid=2) INFO 11-30 12:00:01 [core.py:133] Initializing a V1 LLM engine (v0.33.0) with config: x\n"
    "(EngineCore pid=2) INFO 11-30 12:00:40 [gpu_model_runner.py:5150] Model loading took 11.16 GiB memory and 38.1 s\n"
    "(EngineCore pid=2) WARNING 11-30 12:00:41 [config.py:1] <b onclick=alert(1)>not markup</b> \x1b[31mred\x1b[0m\n"
)
TOO_LONG = (  # vllm/v1/core/kv_cache_utils.py
    "ValueError: To serve at least one request with the model's max seq len (262144), (5.08 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (3.37 GiB). Based on the available memory, the estimated "
    "maximum model length is 174080. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
    "initializing the engine."
)
STAGES = (StageTime(Stage.CONFIG, 0.0), StageTime(Stage.LOAD, 4.2), StageTime(Stage.PROFILE, 61.0))
EXPECTED = (
    *STAGES,
    StageTime(Stage.GRAPH_CAPTURE, 80.0),
    StageTime(Stage.SERVE, 92.0),
    StageTime(Stage.ANSWERING, 95.0),
)


def frozen(name: str, url: str) -> Deployment:
    """A plan for two cards; `url` is where its service answers, if it does."""
    settings = {
        "max_model_len": 262144,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 2048,
        "enable_prefix_caching": True,
    }
    return replace(deployment(**settings), name=name, served_model_name=name, port=urlsplit(url).port or 9)


def answering(name: str) -> Live:
    """Its runner is this very process, so that it counts as alive."""
    measured = {
        "weights_bytes": 11 * 2**30,
        "kv_bytes": 7 * 2**30,
        "kv_blocks": 790,
        "kv_tokens": 812_000,
        "concurrency": 3.1,
    }
    probe = {
        "outcome": "right",
        "question": "How many shapes are there?",
        "answer": "Three.",
        "seconds": 0.41,
        "detail": "",
    }
    stages = (*STAGES, StageTime(Stage.ANSWERING, 95.0))
    return Live(name, State.ANSWERING, 1, *_now(), stages, runner=here(), measured=measured, probe=probe)


def starting(name: str) -> Live:
    """In the middle of a start whose like has been seen before."""
    return Live(name, State.STARTING, 1, *_now(), STAGES, EXPECTED, runner=here(), engine=here())


def failed(name: str) -> Live:
    """Ended while the KV cache was sized."""
    evidence = Evidence(TOO_LONG, 5)
    return Live(name, State.FAILED, 1, *_now(), STAGES, reason=Reason.ENGINE_DIED, detail="exit 1", evidence=evidence)


def here() -> Identity:
    process = look_up(os.getpid())
    assert process
    return process.identity


def _now() -> tuple[float, float]:
    return time.time(), time.time() - 70


def put(env: dict[str, str], of: Deployment, live: Live, log: str = LOG) -> None:
    """Into the state folder of this environment."""
    folder = Path(env["XDG_STATE_HOME"]) / "fitserve" / "deployments" / of.name
    (folder / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "deployment.json").write_text(json.dumps(asdict(of)))
    (folder / "live.json").write_text(json.dumps(asdict(live)))
    (folder / "logs" / "engine.log").write_text(log)


@contextmanager
def owners_home(folder: Path, page_env: dict[str, str]) -> Iterator[dict[str, str]]:
    """An environment with folders of its own. The runtime folder's name is short: sockets live there."""
    runtime = tempfile.mkdtemp(prefix="fs", dir="/tmp")
    yield page_env | {"XDG_STATE_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": runtime}
    shutil.rmtree(runtime)


@contextmanager
def three_pages(folder: Path, page_env: dict[str, str], endpoint: str) -> Iterator[dict[str, str]]:
    """The pages of a deployment that answers, of one that starts, of one that failed; one owner has all three."""
    lives = {"shop": answering("shop"), "slow": starting("slow"), "broken": failed("broken")}
    with owners_home(folder, page_env) as env, ExitStack() as pages:
        for name, live in lives.items():
            url = endpoint if name == "shop" else "http://127.0.0.1:9"
            log = LOG + (f"(EngineCore pid=2) {TOO_LONG}\n" if name == "broken" else "")
            put(env, frozen(name, url), live, log)
        yield {name: pages.enter_context(served_page(name, env=env)) for name in lives}
