"""Ask two other planners the same questions, and keep their answers in peers.json for docs/accuracy.md.

    python tools/accuracy/peers.py KVFIT_PYTHON VRAMSCOUT_PYTHON

The two interpreters are environments with `kvfit` and `vramscout` from PyPI. Both read models from a hub, so this
script is one on loopback for a moment: it answers with the configs of the points' models. What is compared is the
memory of one request of full length: the report's own pool divided by it is the number of such requests, which vLLM
printed.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from points import Point, points
from subjects import subject

from fitserve.units import GIB

ANSWERS = Path(__file__).parent / "peers.json"
_TYPES = {"Qwen3ForCausalLM": "qwen3", "Qwen3MoeForCausalLM": "qwen3_moe", "LlamaForCausalLM": "llama",
          "Qwen2ForCausalLM": "qwen2", "MistralForCausalLM": "mistral", "Qwen3_5ForConditionalGeneration": "qwen3_5",
          "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe"}  # fmt: skip
_KVFIT = "import sys, kvfit.hf as hub; hub.HF_BASE = sys.argv.pop(1); from kvfit.cli import main; sys.exit(main())"
_COMMIT = "0" * 40


def config_of(name: str) -> dict[str, object]:
    """A model's config as its hub page has it."""
    facts = subject(name)
    assert facts is not None
    architecture = str((facts.config.get("architectures") or [""])[0])  # type: ignore[index]  # a list of names
    return {"model_type": _TYPES.get(architecture, ""), "torch_dtype": "bfloat16"} | facts.config


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of a hub as the two ask for."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """The same without a body."""
        self.do_GET(body=False)

    def do_GET(self, body: bool = True) -> None:
        """A model's page or its config."""
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"] and len(parts) >= 4:
            name, answer = parts[3], page_of(parts[3])
        elif parts[-1] == "config.json" and len(parts) > 2:
            name, answer = parts[1], config_of(parts[1])
        else:
            self.send_error(404)
            return
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{name}"')
        self.send_header("X-Repo-Commit", _COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)


def page_of(name: str) -> dict[str, object]:
    """A model's page: files and parameters (of a geometry a made-up number: its weights are not compared)."""
    facts = subject(name)
    size = facts.checkpoint_bytes if facts and facts.tensors else 16 * GIB
    files = [{"rfilename": "config.json", "size": 1000}, {"rfilename": "model.safetensors", "size": size}]
    parameters = {"parameters": {"BF16": size // 2}, "total": size // 2}
    return {"id": f"points/{name}", "modelId": f"points/{name}", "sha": _COMMIT, "siblings": files,
            "safetensors": parameters, "tags": [], "pipeline_tag": "text-generation"}  # fmt: skip


def kvfit(python: str, point: Point, hub: str) -> float | None:
    """GiB of one request on one rank."""
    dtype = "fp8" if point.kv_dtype == "fp8" else "bf16"
    ranks = str(point.ranks or 1)
    cards = ["--hardware", "custom:80", "--gpus", ranks, "--tp", ranks, "--weight-gib", "1"]
    length = ["--context", str(point.length), "--allow-context-overflow", "--kv-dtype", dtype]
    args = [hub, f"points/{point.model}", *cards, *length, "--json"]
    answer = run([python, "-c", _KVFIT, *args], {})
    for place in ("best_any_fabric", "best_scale_up_local", "recommended"):
        layout = ((answer.get("concurrency") or {}).get(place) or {}).get("layout") or {}
        if layout.get("kv_per_sequence_per_rank_gib"):
            return float(layout["kv_per_sequence_per_rank_gib"])
    return None


def vramscout(python: str, point: Point, hub: str) -> float | None:
    """GiB of one request on one rank: KV cache and recurrent state."""
    dtype = "fp8" if point.kv_dtype == "fp8" else "bf16"
    args = [f"points/{point.model}", "--context", str(point.length), "--tp", str(point.ranks or 1), "--kv-dtype", dtype,
            "--engine", "vllm", "--vram-gib", "80", "--json"]  # fmt: skip
    answer = run([str(Path(python).parent / "vramscout"), *args], {"HF_ENDPOINT": hub, "HF_HUB_DISABLE_XET": "1"})
    return request_gib(answer)


def request_gib(answer: dict[str, object]) -> float | None:
    """The parts of VRAMScout's answer that a request takes: cache and recurrent state."""
    parts = answer.get("parts_gib")
    if not isinstance(parts, dict):
        return None
    return sum(float(size) for name, size in parts.items() if "KV" in name or "state" in name) or None


def run(argv: list[str], env: dict[str, str]) -> dict[str, object]:
    """A peer's JSON answer; {} where it has none."""
    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ | env, timeout=120, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    return answer if isinstance(answer, dict) else {}


def comparable(point: Point) -> bool:
    """What both can express: a pool and tokens are stated, a 16-bit or fp8 cache, no drafts."""
    plain = point.kv_dtype in ("auto", "bfloat16", "fp8") and not point.drafts and not point.kv_reason
    stated = point.truth.tokens is not None and point.truth.pool is not None and point.length is not None
    return plain and stated and subject(point.model) is not None


def main() -> None:
    """Ask, and keep the answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub = f"http://127.0.0.1:{server.server_address[1]}"
    answers: dict[str, dict[str, float | None]] = {}
    asked: dict[tuple[object, ...], dict[str, float | None]] = {}
    for point in points():
        if not comparable(point):
            continue
        key = (point.model, point.ranks, point.length, point.kv_dtype)
        if key not in asked:
            asked[key] = {"kvfit": kvfit(sys.argv[1], point, hub), "vramscout": vramscout(sys.argv[2], point, hub)}
        answers[point.id] = asked[key]
        print(point.id, answers[point.id], flush=True)
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
