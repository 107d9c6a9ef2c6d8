"""A plan's command made startable: the engine's interpreter in front, and an environment that starts closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fitserve.engines.registry import engines
from fitserve.facts.engine import EngineFacts

# The engine reports to nobody, follows no redirect to somewhere else, and opens no development endpoint or
# run-time loading of adapters, whatever the person's shell says.
CLOSED = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",
    "VLLM_SERVER_DEV_MODE": "0",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "0",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
# Log lines arrive whole and at once, without the prefix colours; text is UTF-8 whatever the locale says.
READABLE = {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "VLLM_LOGGING_COLOR": "0", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Launch:
    """What to start. `env` holds only what is to be set on top of the caller's environment."""

    argv: tuple[str, ...]
    env: dict[str, str]


def launch(command: Sequence[str], env: Mapping[str, str], engine: EngineFacts) -> Launch:
    """Put the engine's interpreter in place of "python" and add what its processes need; the plan's `env` wins."""
    argv = (str(engine.python), *command[1:])
    needed = CLOSED | READABLE
    if _local(model_of(command)):
        needed = needed | OFFLINE
    kind = engines().get(engine.name)
    own = kind.environment(engine, command, env) if kind else {}
    return Launch(argv, needed | own | dict(env))


def model_of(command: Sequence[str]) -> str:
    """The model that a command serves, '' where it names none."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag == "--model":
            return value if equals else following
    return ""


def _local(model: str) -> bool:
    return bool(model) and Path(model).is_dir()
