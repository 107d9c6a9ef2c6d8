"""vLLM for NVIDIA GPUs, as PyPI has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fitserve.constants import VLLM_VERSION
from fitserve.engines.base import Recipe
from fitserve.facts.engine import EngineFacts


class Vllm:
    """Any released version; pip resolves what it asks for, since a lock can't cover them all."""

    name = "vllm"
    device = "cuda"

    def recipe(self, version: str | None) -> Recipe:
        version = version or VLLM_VERSION
        return Recipe("vllm", version, f"vllm=={version}", self.device)

    def environment(
        self,
        facts: EngineFacts,  # noqa: ARG002 - the protocol's signature
        command: Sequence[str],  # noqa: ARG002
        env: Mapping[str, str],  # noqa: ARG002
    ) -> dict[str, str]:
        """PCI order, so that an index means the same card to vLLM, to the driver and to us."""
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


VLLM = Vllm()
