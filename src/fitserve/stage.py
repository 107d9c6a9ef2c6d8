"""The nine stages of a vLLM start and life, then `answering`: one list for the runner, the doctor and the texts."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """Where a start stands. Members are in order of time; `before` compares them."""

    CONFIG = "config"  # arguments, model config, device and free-memory checks, port
    DOWNLOAD = "download"  # files fetched
    LOAD = "load"  # workers, communicators, kernels found, weights read and repacked
    PROFILE = "profile"  # profiling pass, compilation, graph-memory probe
    KV_ALLOC = "kv_alloc"  # KV cache sized, checked, allocated
    GRAPH_CAPTURE = "graph_capture"  # CUDA graphs captured
    WARMUP = "warmup"  # sampler and kernels warmed up
    SERVE = "serve"  # HTTP server up
    CLIENT = "client"  # a request itself is refused or wrong
    ANSWERING = "answering"  # a real image question came back right

    def before(self, other: Stage) -> bool:
        """Whether this stage comes earlier than `other`."""
        order = list(Stage)
        return order.index(self) < order.index(other)
