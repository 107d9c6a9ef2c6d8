"""A plugin of vLLM's: after the weights are loaded, which tensors hold what torch has allocated.

vLLM counts 0.02 GiB more for the lead model than its tensors' sum. With this file on PYTHONPATH, an entry point
`vllm.general_plugins: weighed = weighed:register` beside it, and WEIGHED=FILE in the environment, FILE tells why.
"""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

_MOST = 40


def register() -> None:
    """Look at the model when its runner has loaded it."""
    place = os.environ.get("WEIGHED")
    if not place:
        return
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner  # type: ignore[import-not-found]

    load = GPUModelRunner.load_model

    def loaded(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever vLLM's has
        result = load(self, *args, **named)
        Path(place).write_text(json.dumps(table(self.model), indent=1), encoding="utf-8")
        return result

    GPUModelRunner.load_model = loaded


def table(model: Any) -> dict[str, object]:  # noqa: ANN401 - a torch module
    """Bytes: allocated, of parameters, of buffers, and of every other tensor on the card by its shape."""
    import torch

    gc.collect()
    seen: set[int] = set()

    def own(tensors: Any) -> int:  # noqa: ANN401
        """Of storages not seen before."""
        total = 0
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if tensor.is_cuda and storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                total += storage.nbytes()
        return total

    parameters = list(model.parameters())
    found = {"parameters": own(parameters), "buffers": own(model.buffers())}
    others: Counter[str] = Counter()
    for one in gc.get_objects():
        if isinstance(one, torch.Tensor) and one.is_cuda and (size := own([one])):
            others[f"{tuple(one.shape)} {one.dtype}"] += size
    stats = torch.cuda.memory_stats()
    return {
        **found,
        "others": sum(others.values()),
        "allocated": torch.cuda.memory_allocated(),
        "requested": stats.get("requested_bytes.all.current"),
        "reserved": torch.cuda.memory_reserved(),
        "by_dtype": Counter({str(kind): sum(p.untyped_storage().nbytes() for p in parameters if p.dtype == kind)
                             for kind in {p.dtype for p in parameters}}),
        "others_by_shape": dict(others.most_common(_MOST)),
        "small_parameters": len([p for p in parameters if p.untyped_storage().nbytes() < 2**20]),
        "tensors": len(seen),
    }  # fmt: skip
