"""The load generator on one core: 64 streams of 50 tokens/s, its stamps against those that each token carries.

    python benchmarks/load.py [STREAMS] [TOKENS_PER_SECOND] [SECONDS]

Server and generator are two processes that read the same monotonic clock. Bound: 5 ms at the 99th percentile.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from timing import PYTHON

from fitserve.chat.endpoint import Endpoint
from fitserve.measure.load import Asking, Load, Pace, Ran
from fitserve.measure.statistics import quantile
from fitserve.measure.workload import Workload, scripts

SERVER = Path(__file__).parent.parent / "tests" / "measure" / "sse_server.py"


def lateness(ran: Ran, began: float) -> list[float]:
    """Seconds between a token's sending and its stamp here."""
    late = []
    for sample in ran.samples:
        stamps = map(float, sample.answer.split())
        late += [began + time_s - stamp for time_s, stamp in zip(sample.times_s, stamps, strict=True)]
    return late


async def measured(port: int, streams: int, tokens: int) -> tuple[Ran, float]:
    work = Workload(conversations=streams * 2, pictures=1, output_tokens=tokens)
    load = Load(Asking(Endpoint(f"http://127.0.0.1:{port}", "stub"), tokens), Pace(users=streams))
    ran = await load.run(list(scripts(work)), asyncio.Event())
    return ran, load.began


def main() -> None:
    streams, rate, seconds = (float(arg) for arg in [*sys.argv[1:], "64", "50", "20"][:3])
    cores = sorted(os.sched_getaffinity(0))
    server = subprocess.Popen([PYTHON, str(SERVER), str(rate)], stdout=subprocess.PIPE, text=True)
    try:
        os.sched_setaffinity(server.pid, cores[-1:])
        os.sched_setaffinity(0, cores[:1])
        port = int(server.stdout.readline())
        begun = time.process_time()
        ran, began = asyncio.run(measured(port, int(streams), int(seconds * rate / 2)))
        used = (time.process_time() - begun) / ran.seconds
    finally:
        server.kill()
        server.wait()
    late = lateness(ran, began)
    failed = sum(not sample.ok for sample in ran.samples)
    print(f"{len(late)} tokens in {ran.seconds:.1f} s ({len(late) / ran.seconds:.0f}/s), {failed} failed requests")
    shares = "  ".join(f"p{share * 100:g} {quantile(late, share) * 1000:.2f}" for share in (0.5, 0.9, 0.99, 0.999, 1.0))
    print(f"stamp after sending, ms: {shares}   (bound: p99 5)")
    print(f"generator: {used:.0%} of one core, longest lag of its loop {ran.lag_s * 1000:.1f} ms")


if __name__ == "__main__":
    main()
