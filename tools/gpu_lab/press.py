"""Take what is left of the card at the worst moment of somebody else's start, and give it back when that has died.

    python press.py --leave BYTES --times N (--log FILE TEXT | --below BYTES)

`--log`: when TEXT stands in FILE. `--below`: when less than so many bytes are free. Prints a JSON line for each event.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

_LOOK_S = 0.005
_DIED_BYTES = 400 * 2**20  # a CUDA context alone is more
_SMALLEST = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leave", type=int, required=True)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--log", nargs=2, metavar=("FILE", "TEXT"))
    parser.add_argument("--below", type=int)
    options = parser.parse_args()
    torch.zeros(1, device="cuda")
    _say("ready")
    for _ in range(options.times):
        _wait(options)
        held = _take(options.leave)
        _say("taken", bytes=sum(each.numel() for each in held))
        low = _free()
        while _free() - low < _DIED_BYTES:
            low = min(low, _free())
            time.sleep(_LOOK_S)
        held.clear()
        torch.cuda.empty_cache()
        _say("given back")


def _wait(options: argparse.Namespace) -> None:
    while True:
        if options.below is not None and _free() < options.below:
            return
        if options.log is not None:
            path, text = Path(options.log[0]), options.log[1]
            if path.exists() and text in path.read_text(errors="replace"):
                return
        time.sleep(_LOOK_S)


def _take(leave: int) -> list[torch.Tensor]:
    """Everything but `leave`, in ever smaller pieces."""
    held, size = [], max(0, _free() - leave)
    while size >= _SMALLEST and _free() > leave + _SMALLEST:
        try:
            held.append(torch.empty(min(size, _free() - leave), dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    return held


def _free() -> int:
    return int(torch.cuda.mem_get_info()[0])


def _say(what: str, **more: object) -> None:
    row = {"at": round(time.time(), 2), "press": what, "free": _free(), **more}
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
