"""Keep what `service.py` wrote as one table, tests/data/gpu/HOST-service.json, and the logs of starts that failed.

    python tools/gpu_lab/keep_service.py RESULTS STATE --host h200 [--place OLD=NEW …]

STATE is the unpacked state folder of the last lane (it holds the deployments of all of them).
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
KEPT = Path(__file__).parents[2] / "tests" / "data" / "gpu"
LANES = ("stopped", "living", "shortage")
HALF_BYTES = {"living": 2**36, "stopped": 2**29}  # a fall by so much is the end of the lane's engine
SHORT = ("code", "seconds", "before_bytes", "after_bytes", "signal", "back_s", "status", "answer", "not_run")
TOLD = {  # what is kept of a command's document
    "up": ("state", "stages", "ledger", "learned", "retries", "probe"),
    "error": ("error",),
    "verification": ("state", "checks"),
    "checklist": ("state", "checks"),
    "diagnosis": ("stage", "figures", "findings"),
    "gpus": ("gpus",),
    "plan": ("verdict", "settings", "ledger", "kv"),
}
ENDS = ("hung", "back_off", "engine_ended", "runner_died", "swept", "ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--host", required=True)
    parser.add_argument("--place", action="append", default=[], metavar="OLD=NEW", help="texts to be kept as others")
    options = parser.parse_args()
    rows = [row for lane in LANES for row in kept(options.results / f"{lane}.jsonl", lane)]
    runs = [run(path) for path in sorted(options.state.glob("deployments/*/runs/*.jsonl"))]
    table = {"schema_version": 1, "kind": "gpu_service", "host": options.host, "steps": rows, "runs": runs}
    table |= {"presses": presses(options.results)}
    places = [tuple(place.split("=", 1)) for place in options.place]
    write(KEPT / f"{options.host}-service.json", json.dumps(table, ensure_ascii=False, separators=(",", ":")), places)
    for name in ("short", "graphs"):
        logs = sorted(options.state.glob(f"deployments/{name}/logs/engine.log*"))
        for number, path in enumerate(reversed(logs)):  # the oldest part first: one start each
            write(KEPT / f"{options.host}-{name}-{number}.log.gz", path.read_text(errors="replace"), places)


def kept(path: Path, lane: str) -> Iterator[Row]:
    """The steps of a lane: the words, how they ended, and the part of the answer that is looked at later."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row: Row = json.loads(line)
        found: Row = {"lane": lane, "step": row["step"], "at": row["at"]}
        for name in (
            "code",
            "seconds",
            "before_bytes",
            "after_bytes",
            "signal",
            "back_s",
            "status",
            "answer",
            "not_run",
        ):
            if name in row:
                found[name] = row[name]
        if "argv" in row:
            found["words"] = row["argv"][3:]
        if "changes" in row:
            found |= {"changes": turns(row["changes"]), "memory_back_s": memory_back(row["changes"], HALF_BYTES[lane])}
        yield found | told(row.get("out", ""))


def told(out: str) -> Row:
    """The kept part of a JSON document; nothing of a text."""
    try:
        document = json.loads(out)
    except ValueError:
        return {}
    names = TOLD.get(document.get("kind", ""), ()) if isinstance(document, dict) else ()
    return {"told": {name: document[name] for name in names if name in document}} if names else {}


def turns(changes: list[Row]) -> list[Row]:
    """Without the rows in which only the memory moved."""
    found: list[Row] = []
    for row in changes:
        same = found and all(found[-1][name] == row[name] for name in row if name not in ("at_s", "used"))
        if not same:
            found.append(row)
    return found


def memory_back(changes: list[Row], half_bytes: int) -> float | None:
    """Seconds from the fault to the engine's memory being back; neighbours come and go by less, or later."""
    first = changes[0]["engine"]
    gone = [row for row in changes if row["engine"] in (first, None) and row["used"]]
    falls = [now["at_s"] for then, now in itertools.pairwise(gone) if then["used"][0] - now["used"][0] > half_bytes]
    return falls[-1] if falls else None


def run(path: Path) -> Row:
    """Of a run record: whose it is, what was measured, and how it ended."""
    rows: list[Row] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found: Row = {"name": path.parents[1].name, "run": re.sub(r"-\d+$", "", path.stem)}
    for row in rows:
        if row["event"] == "measured":
            found["measured"] = {name: value for name, value in row.items() if name not in ("event", "at")}
    return found | {"ends": [row for row in rows if row["event"] in ENDS]}


def presses(results: Path) -> dict[str, list[Row]]:
    """When the other process took the memory, and when it gave it back."""
    paths = sorted(results.glob("press-*.jsonl"))
    return {path.stem.partition("-")[2]: [json.loads(line) for line in path.read_text().splitlines()] for path in paths}


def write(path: Path, text: str, places: list[tuple[str, ...]]) -> None:
    """Keep it under other names for this host's places."""
    for old, new in places:
        text = text.replace(old, new)
    data = text.encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data + b"\n")
    print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
