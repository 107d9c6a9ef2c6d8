"""Where an 18 GiB allocation can come from: the tower's attention by each of torch's back ends, memory at its peak.

    python tools/gpu_lab/attention.py > attention.json

One pass over one picture of the lead model's tower (16 heads of 72, halved at TP 2): scores are patches x patches, and
a back end that writes them down takes 4 bytes for each and head. 3072 x 2048 px are 24,576 patches.
"""

from __future__ import annotations

import json

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD = 72
PICTURES = ((448, 448), (1344, 1344), (2048, 2048), (3072, 2048))
BACKENDS = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)


def peak(backend: SDPBackend, patches: int, heads: int) -> dict[str, object]:
    """Bytes that one call takes beyond its inputs, or why it did not run."""
    torch.cuda.empty_cache()
    query = torch.randn(1, heads, patches, HEAD, dtype=torch.bfloat16, device="cuda")
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    try:
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(query, query, query)
        torch.cuda.synchronize()
    except RuntimeError as error:  # torch.OutOfMemoryError is one
        return {"error": str(error)[:300]}
    return {"bytes": torch.cuda.max_memory_allocated() - before}


def main() -> None:
    """All pictures, both numbers of heads, all back ends."""
    rows = [
        {"width": width, "height": height, "patches": width * height // 256, "heads": heads, "backend": backend.name,
         **peak(backend, width * height // 256, heads)}
        for width, height in PICTURES
        for heads in (16, 8)
        for backend in BACKENDS
    ]  # fmt: skip
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
