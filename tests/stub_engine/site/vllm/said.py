"""vLLM's log lines, in the shape of 0.32."""

from __future__ import annotations

import os
import time


def info(process: str, source: str, text: str, level: str = "INFO") -> None:
    """One line with vLLM's prefix."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    raw(f"({process} pid={os.getpid()}) {level} {stamp} [{source}] {text}")


def raw(text: str) -> None:
    """One line, in a single write, so that processes do not mix theirs."""
    os.write(1, text.encode() + b"\n")
