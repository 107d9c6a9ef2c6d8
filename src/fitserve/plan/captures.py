"""CUDA graphs that a start captures, by the settings (0.33 `config/vllm.py` `_set_cudagraph_sizes`)."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.plan.settings import Settings

LARGEST = 512  # 1024 on SM100
_SMALL_STEP, _LARGE_STEP, _TURN = 8, 16, 256


@dataclass(frozen=True)
class Captures:
    """Sizes of the piecewise graphs (mixed batches) and of the full ones (decode only)."""

    piecewise: tuple[int, ...]
    full: tuple[int, ...]

    @property
    def count(self) -> int:
        """All graphs."""
        return len(self.piecewise) + len(self.full)

    @property
    def largest(self) -> int:
        """The largest captured batch, 0 without graphs."""
        return max(self.piecewise, default=0)


def captures(settings: Settings) -> Captures:
    """What will be captured: 51 + 35 graphs at 256 sequences, 7 + 5 at 16."""
    if settings.enforce_eager:
        return Captures((), ())
    decode = 1 + settings.num_speculative_tokens
    wanted = settings.max_cudagraph_capture_size or min(settings.max_num_seqs * decode * 2, LARGEST)
    top = min(wanted, settings.max_num_batched_tokens)
    sizes = [1, 2, 4, *range(_SMALL_STEP, _TURN, _SMALL_STEP), *range(_TURN, top + 1, _LARGE_STEP)]
    piecewise = tuple(size for size in sizes if size <= top)
    return Captures(piecewise, tuple(size for size in piecewise if size <= settings.max_num_seqs * decode))
