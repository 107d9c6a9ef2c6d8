"""Start the real CPU engine with a plan, read what it resolved, and end all its processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitserve.engines.find import pick_engine
from fitserve.engines.launch import launch
from fitserve.facts.engine import EngineFacts
from fitserve.plan.plan import Plan

_INFO = re.compile(r"^vllm:cache_config_info\{(.*)\} 1\.0$", re.MULTILINE)
_PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PRINTED = re.compile(
    r"CPU KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x"
)
WAIT_SECONDS = 400  # 30 on an idle machine of two cores


def engine() -> EngineFacts:
    """The engine to test with: $FITSERVE_ENGINE_PYTHON, or the managed one."""
    return pick_engine(None, "cpu")


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(plan: Plan, log: Path) -> Iterator[str]:
    """The engine's address once /health answers; its whole process group is ended afterwards."""
    how = launch(plan.command, plan.env, plan.engine)
    port = how.argv[how.argv.index("--port") + 1]
    with log.open("wb") as output:
        child = subprocess.Popen(
            how.argv, env=os.environ | how.env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(child, url, log)
        yield url
    finally:
        _end(child)


def _wait(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        if child.poll() is not None:
            break
        try:
            urllib.request.urlopen(url + "/health", timeout=2).close()
            return
        except OSError:
            time.sleep(0.3)
    tail = log.read_text(errors="replace")[-4000:]
    raise AssertionError(f"the engine did not come up (exit {child.poll()}):\n{tail}")


def _end(child: subprocess.Popen[bytes]) -> None:
    for sign, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(child.pid, sign)
            child.wait(seconds)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
    # The group may outlive its leader: ask until the kernel says that nobody is left.
    for _ in range(100):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.1)


def cache_config(url: str) -> dict[str, str]:
    """What the engine resolved for its cache: the labels of `vllm:cache_config_info`."""
    with urllib.request.urlopen(url + "/metrics", timeout=10) as response:
        found = _INFO.search(response.read().decode())
    assert found is not None
    return dict(_PAIR.findall(found[1]))


def printed_capacity(log: Path) -> tuple[int, int, float]:
    """Tokens, length and concurrency of the log's capacity line."""
    found = _PRINTED.search(log.read_text(errors="replace"))
    assert found is not None
    return int(found[1].replace(",", "")), int(found[2].replace(",", "")), float(found[3])
