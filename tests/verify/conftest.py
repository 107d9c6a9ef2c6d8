"""What a plan would have said of the stub; the home and the runner are those of the runner's tests."""

from __future__ import annotations

from typing import Any

from tests.run.conftest import deploy, free_port, home, runner, stub

from fitserve.facts.model import Vision
from fitserve.units import GIB

__all__ = ["deploy", "free_port", "home", "runner", "stub"]

VISION = Vision(2, 32, 2, 16, 2, 64, 64, 256, 256 * 256)


def plan(**changes: Any) -> dict[str, Any]:
    """What `plan --json` would have said of the stub."""
    return {
        "model": {"vision": True},
        "settings": {"max_model_len": 4096, "tensor_parallel_size": 1},
        "kv": {"blocks": 6899, "block_tokens": 128, "bytes_per_block": 1000},
        "ledger": [{"item": "context", "high": GIB}, {"item": "kv_pool", "low": 6_899_000, "high": 6_899_000}],
    } | changes
