"""Keep results of `run.py` as recorded material, small enough for a repository.

    PYTHONPATH=src python tools/gpu_lab/keep.py RESULTS --host h200

For each case: HOST-CASE.json (with the figures of each rank, memory by stage and the doctor's word on a failure, read
from the log), HOST-CASE.log.gz (without the debug lines of every step), HOST-CASE.samples.jsonl (a moment every 2 s)
and HOST-CASE-SIDE.bench.jsonl for each size of pictures (times to a millisecond).
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ENOUGH_BYTES = 300_000
KEPT = Path(__file__).parents[2] / "tests" / "data" / "gpu"
EVERY_STEP = re.compile(rb"Running batch with cudagraph_mode|ubatch_slices: |Finish execute for mm hash")
RANK = re.compile(r"\(Worker_TP(\d+) |\(EngineCore")
# What a rank says of itself, by the name that it has in the file; GiB.
SAID = {
    "free_at_start": re.compile(r"worker init memory snapshot: .*?free_memory=([\d.]+)GiB"),
    "loaded": re.compile(r"Model loading took ([\d.]+) GiB"),
    "available": re.compile(r"Available KV cache memory: ([\d.]+) GiB"),
    "peak": re.compile(r"torch peak memory increase: ([\d.]+)GiB"),
    "non_torch": re.compile(r"non-torch forward increase memory: ([\d.]+)GiB"),
    "graph_estimate": re.compile(r"Estimated CUDA graph memory: ([\d.]+) GiB total"),
    "graphs": re.compile(r"CUDA graph pool memory: ([\d.]+) GiB \(actual\)"),
}
SECONDS = {
    "compile_s": re.compile(r"torch\.compile took ([\d.]+) s in total"),
    "first_pass_s": re.compile(r"Initial profiling/warmup run took ([\d.]+) s"),
    "profiling_s": re.compile(r"Memory profiling takes ([\d.]+) seconds"),
    "capture_s": re.compile(r"Graph capturing finished in ([\d.]+) secs"),
    "engine_init_s": re.compile(r"init engine .*? took ([\d.]+) s"),
}
CACHE = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
STAGES = (
    ("context", "worker init memory snapshot"),
    ("weights", "Model loading took"),
    ("profiling", "Encoder cache will be initialized"),
    ("graph_probe", "Profiling CUDA graph memory:"),
    ("cache", "GPU KV cache size"),
    ("captured", "init engine"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--host", required=True)
    parser.add_argument("--place", action="append", default=[], metavar="OLD=NEW", help="paths to be kept as others")
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    for path in sorted(options.results.glob("*.json")):
        places = [tuple(place.split("=", 1)) for place in options.place]
        _keep(path, f"{options.host}-{path.stem}", options.host, places)


def _keep(path: Path, name: str, host: str, places: Sequence[tuple[str, ...]]) -> None:
    case = json.loads(path.read_text(encoding="utf-8")) | {"host": host, "name": path.stem}
    log = path.with_suffix(".log")
    if log.exists():
        text = log.read_bytes()
        case["log"] = read_log(text.decode("utf-8", "replace"))
        alone = case["cards"] and case.get("alone", True)  # beside others, the card's memory says nothing of the case
        seen = path.with_suffix(".samples.jsonl").read_text().splitlines() if alone else ()
        rows = [json.loads(line) for line in seen]
        case |= {"stages": stages(rows, text), "probe_seen_bytes": probe_seen(rows, text)}
        if case["outcome"] == "failed" or b"OutOfMemoryError" in text:
            case["doctor"] = doctor(log)
        _keep_log(_placed(text, places), KEPT / f"{name}.log.gz")
        if alone:
            _keep_samples(rows, KEPT / f"{name}.samples.jsonl")
    if path.with_suffix(".bench.jsonl").exists():
        _keep_bench(path.with_suffix(".bench.jsonl"), name)
    _drop_answers(case)
    text = json.dumps(case, ensure_ascii=False, separators=(",", ":"))
    (KEPT / f"{name}.json").write_bytes(_placed(text.encode(), places) + b"\n")
    print(name, case["outcome"])


def read_log(text: str) -> dict[str, Any]:
    """Figures by rank (GiB), the cache's tokens, seconds by part."""
    ranks: dict[str, dict[str, float]] = {}
    found: dict[str, Any] = {}
    for line in text.splitlines():
        rank = RANK.search(line)
        number = (rank[1] or "0") if rank else None
        for name, pattern in SAID.items():
            if hit := pattern.search(line):
                ranks.setdefault(number or str(len(ranks)), {})[name] = float(hit[1])
        for name, pattern in SECONDS.items():
            if hit := pattern.search(line):
                found[name] = float(hit[1])
        if hit := CACHE.search(line):
            found["kv_tokens"] = int(hit[1].replace(",", ""))
    return found | {"ranks": ranks}


def probe_seen(rows: list[dict[str, Any]], log: bytes) -> list[int] | None:
    """How much more each card held when the graph probe had its throw-away cache than just before; None without one."""
    mark = log.find(dict(STAGES)["graph_probe"].encode())
    after = [row for row in rows if row["log_bytes"] > mark]
    if mark < 0 or not after:
        return None
    at = after[0]["at"]

    def used(card: int, start: float, end: float) -> list[int]:
        return [row["cards"][card]["used_bytes"] for row in rows if at + start <= row["at"] <= at + end]

    return [max(used(card, -2, 2)) - used(card, -8, 0)[0] for card in range(len(rows[0]["cards"]))]


def stages(rows: list[dict[str, Any]], log: bytes) -> list[dict[str, Any]]:
    """Each stage's seconds, and bytes of each card beyond what was held before the start: first, most, last."""
    marks = [(name, log.find(text.encode())) for name, text in STAGES]
    marks = [("process", -1), *[(name, at) for name, at in marks if at >= 0]]
    base = [card["used_bytes"] for card in rows[0]["cards"] or []] if rows else []
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = [name for name, at in marks if at < row["log_bytes"]][-1]
        found.setdefault(name, []).append(row)
    return [
        {
            "stage": name,
            "seconds": round(inside[-1]["at"] - inside[0]["at"], 1),
            **{
                key: [
                    pick([row["cards"][card]["used_bytes"] - base[card] for row in inside]) for card in range(len(base))
                ]
                for key, pick in (("first_bytes", lambda x: x[0]), ("most_bytes", max), ("last_bytes", lambda x: x[-1]))
            },
        }
        for name, inside in found.items()
    ]


def doctor(log: Path) -> list[dict[str, Any]]:
    """What `fitserve doctor` says of the log: causes, sentences, changes."""
    words = [sys.executable, "-m", "fitserve", "doctor", str(log), "--json", "--lang", "en"]
    document = json.loads(subprocess.run(words, capture_output=True, check=False).stdout or "{}")
    kept = ("cause", "severity", "confidence", "stage", "summary")
    return [
        {key: finding[key] for key in kept} | {"fixes": [fix["set"] for fix in finding["fixes"]]}
        for finding in document.get("findings", [])
    ]


def _keep_log(text: bytes, path: Path) -> None:
    lines = (line for line in text.splitlines(keepends=True) if not EVERY_STEP.search(line))
    path.write_bytes(gzip.compress(b"".join(lines), 9, mtime=0))


def _keep_samples(rows: list[dict[str, Any]], path: Path) -> None:
    """The moments at which the engine was asked too, every second one (and so on) where they are many."""
    kept = [{key: value for key, value in row.items() if key != "log_bytes"} for row in rows if row["services"]]
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in kept]
    path.write_text("".join(lines[:: 1 + sum(map(len, lines)) // ENOUGH_BYTES]), encoding="utf-8")


def _keep_bench(source: Path, name: str) -> None:
    """One file a size of pictures: a report tells its loads apart by their users."""
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    sides = {row["run"]: row["settings"]["workload"]["sizes"][0][0] for row in rows if row["event"] == "run"}
    for row in rows:
        if row["event"] == "sample":
            row["times_s"] = [round(time_s, 3) for time_s in row["times_s"]]
            for key in ("answer", "error", "evidence", "cached_tokens"):  # as they are where nothing stands
                if not row[key]:
                    del row[key]
        if row["event"] == "memory":
            row["rows"] = row["rows"][::4]
    for side in sorted(set(sides.values())):
        chosen = (row for row in rows if "run" not in row or sides[row["run"]] == side)
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in chosen)
        (KEPT / f"{name}-{side}.bench.jsonl").write_text(text, encoding="utf-8")


def _drop_answers(case: dict[str, Any]) -> None:
    score = (case.get("measured") or {}).get("score")
    if isinstance(score, dict):
        score.pop("answers", None)


def _placed(text: bytes, places: Sequence[tuple[str, ...]]) -> bytes:
    for old, new in places:
        text = text.replace(old.encode(), new.encode())
    return text


if __name__ == "__main__":
    main()
