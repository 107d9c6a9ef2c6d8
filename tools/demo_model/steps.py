"""Gradients of a lesson: computed as usual, or on a GPU recorded once a batch shape and replayed.

A step is thousands of small kernels; starting them one by one takes the host four times as long as they run.
"""

import time
from collections.abc import Callable

import torch
from lessons import Figures, precision
from stream import Batch
from torch import Tensor, nn

LessonFunction = Callable[[Batch], tuple[Tensor, Figures]]


class Eager:
    """Run the lesson; gradients are left in the weights."""

    def __init__(self, weights: list[nn.Parameter], device: torch.device) -> None:
        self.weights = weights
        self.device = device
        for weight in weights:
            weight.grad = torch.zeros_like(weight)

    def __call__(self, lesson: LessonFunction, batch: Batch) -> Figures:
        return self._run(lesson, batch.to(self.device))

    def _run(self, lesson: LessonFunction, batch: Batch) -> Figures:
        torch._foreach_zero_([weight.grad for weight in self.weights])
        with precision(self.device):
            loss, figures = lesson(batch)
        loss.backward()
        return figures


class Recorded(Eager):
    """Record the lesson at a batch shape's first coming (after one ordinary run of all), and replay it from then on.

    Gradients live in the same tensors for every recording; the recordings share one pool of memory, so a replay's
    figures must be read before the next replay.
    """

    def __init__(self, weights: list[nn.Parameter], device: torch.device) -> None:
        super().__init__(weights, device)
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.tapes: dict[tuple[object, ...], tuple[torch.cuda.CUDAGraph, Batch, Figures]] = {}
        self.warm: set[LessonFunction] = set()

    def __call__(self, lesson: LessonFunction, batch: Batch) -> Figures:
        if lesson not in self.warm:
            self._warm_up(lesson, batch)
        key = (lesson, *(part.shape for part in batch.parts()))
        if key not in self.tapes:
            self.tapes[key] = self._record(lesson, batch)
        tape, static, figures = self.tapes[key]
        for kept, part in zip(static.parts(), batch.parts(), strict=True):
            kept.copy_(part, non_blocking=True)
        tape.replay()
        return figures

    def _warm_up(self, lesson: LessonFunction, batch: Batch) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self._run(lesson, batch.to(self.device))
        torch.cuda.current_stream().wait_stream(self.stream)
        self.warm.add(lesson)

    def _record(self, lesson: LessonFunction, batch: Batch) -> tuple[torch.cuda.CUDAGraph, Batch, Figures]:
        began = time.monotonic()
        static = batch.to(self.device)
        torch.cuda.synchronize()
        tape = torch.cuda.CUDAGraph()
        with torch.cuda.graph(tape, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            figures = self._run(lesson, static)
        size = "x".join(str(side) for side in batch.pixels.shape[:3])
        print(f"recorded {lesson.__name__} {size} in {time.monotonic() - began:.1f} s", flush=True)
        return tape, static, figures


def runner(weights: list[nn.Parameter], device: torch.device, recorded: bool) -> Eager:
    return Recorded(weights, device) if recorded and device.type == "cuda" else Eager(weights, device)
