"""The stub's API server: arguments, the engine core as a child, then HTTP."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time

from vllm.core import READY, Child, core, stage
from vllm.http import serve
from vllm.said import info, raw
from vllm.script import Script, read_script


def arguments(script: Script) -> argparse.Namespace:
    """The flags that matter here; the others are taken and left."""
    parser = argparse.ArgumentParser(prog="api_server.py", allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", default="")
    parser.add_argument("--max-model-len", type=int, default=4096)
    if script.refuse:
        parser.error(script.refuse)
    _, others = parser.parse_known_args()
    for flag in (word.partition("=")[0] for word in others if word.startswith("--")):
        parser.add_argument(flag, nargs="*")
    return parser.parse_args()


def main() -> None:
    """Start, serve, end as vLLM does: the death of the core ends the server."""
    script = read_script()
    asked = arguments(script)
    if script.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    info("APIServer", "api_utils.py:347", "        version 0.32.0")
    info("APIServer", "api_utils.py:286", f"non-default args: {{'model': '{asked.model}', 'port': {asked.port}}}")
    stage(script, "config")
    info("APIServer", "model.py:733", "Resolved architecture: Qwen3_5ForConditionalGeneration")
    settings: dict[str, object] = {"model": asked.model, "length": asked.max_model_len}
    child = Child(lambda life, news: core(script, settings, life, news))
    wait_ready(child)
    for _ in range(script.noise // 1000):
        raw("." * 999)
    stage(script, "serve")
    threading.Thread(target=end_with, args=(child,), daemon=True).start()
    info("APIServer", "entry.py:140", f"Starting vLLM server on http://{asked.host}:{asked.port}")
    serve(asked, script)


def wait_ready(child: Child) -> None:
    """Until the core says that it is ready. Its death is told by a wrapper, as vLLM does."""
    if os.read(child.news, len(READY)) != READY:
        raw(f"(APIServer pid={os.getpid()}) Traceback (most recent call last):")
        raw(f"(APIServer pid={os.getpid()}) RuntimeError: Engine core initialization failed. See root cause above.")
        sys.exit(1)


def end_with(child: Child) -> None:
    """The server does not outlive its core."""
    child.wait()
    info("APIServer", "core_client.py:1", "EngineCore died unexpectedly, shutting down client.", "ERROR")
    time.sleep(0.05)
    os._exit(1)


if __name__ == "__main__":
    main()
