"""Where an engine lays its Unix sockets: a folder of the deployment's own, gone with the engine.

vLLM's processes talk over sockets named by a uuid in the temporary folder, and an engine that is ended while it starts
leaves them there: nobody can tell later whose they were.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from fitserve.paths import runtime_dir

VARIABLE = "VLLM_RPC_BASE_PATH"  # vllm/utils/network_utils.py: ipc://{VLLM_RPC_BASE_PATH}/{uuid4()}
_UUID = 36
_LIMIT = 100  # of sun_path's 108 bytes


def with_sockets(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment with a fresh, empty folder for them; as it is where that would be too long, or is set already."""
    folder = _folder(name)
    clear_sockets(name)
    if VARIABLE in env or len(str(folder).encode()) + 1 + _UUID > _LIMIT:
        return dict(env)
    try:
        folder.mkdir(mode=0o700)
    except OSError:
        return dict(env)  # the temporary folder serves too
    return {**env, VARIABLE: str(folder)}


def clear_sockets(name: str) -> None:
    """Remove what an engine left. Call it when none of the deployment runs."""
    with contextlib.suppress(OSError):
        shutil.rmtree(_folder(name))


def _folder(name: str) -> Path:
    return runtime_dir() / f"rpc-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
