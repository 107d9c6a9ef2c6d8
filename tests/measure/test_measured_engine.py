"""The demo model on the real CPU engine, measured: the server's own count agrees, and settings can be compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fitserve.engines.find import pick_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1500)]
SHORT = ("--requests", "8", "--output-tokens", "12", "--size", "256")


class Home:
    """The command line in a home of its own, with an engine that was found before."""

    def __init__(self, folder: Path, engine: Path) -> None:
        self.folder = folder
        names = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("STATE", "DATA", "CACHE", "CONFIG")}
        runtime = {"XDG_RUNTIME_DIR": str(folder / "run"), "FITSERVE_ENGINE_PYTHON": str(engine), "FITSERVE_LANG": "en"}
        self.env = os.environ | names | runtime
        (folder / "run").mkdir(mode=0o700)

    def say(self, *words: object, codes: tuple[int, ...] = (0,)) -> str:
        argv = [sys.executable, "-m", "fitserve", *map(str, words)]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False, timeout=1400)
        assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *words: object, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        return json.loads(self.say(*words, "--json", codes=codes))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("m"), pick_engine(None, "cpu").python)
    yield home
    home.say("down", "--all")


def test_bench_demo(home: Home) -> None:
    home.say("up", "demo", "--no-page", "--execution", "eager")
    kept = home.folder / "bench.jsonl"
    document = home.json("bench", "demo", "--users", "1,2", *SHORT, "-o", kept, codes=(0, 5))
    for run in document["runs"]:  # 5: a busy machine is said to be one; the counts are right all the same
        held = {row["name"]: row["held"] for row in run["server"]["comparisons"]}
        assert (held["requests"], held["prompt_tokens"], held["output_tokens"]) == ("agrees", "agrees", "agrees")
        assert run["figures"]["answered"] == 8
        assert run["figures"]["output_tokens"] == 8 * 12
        assert run["picture_tokens"]["256x256"] > 0
        assert run["figures"]["image_tokens"] == 8 * run["picture_tokens"]["256x256"]
        assert run["server"]["picture_cache_hits"] in (0, None)
    home.say("report", kept, "-o", home.folder / "bench.html")
    assert "weights" in (home.folder / "bench.html").read_text()  # the ledger came along
    home.say("down", "demo")


def test_compare_demo_eager_graphs(home: Home) -> None:
    kept = home.folder / "compare.jsonl"
    document = home.json(
        "compare", "demo", "eager", "graphs", "--rounds", "1", "--questions", "6", *SHORT, "-o", kept, codes=(0, 5)
    )
    assert document["failed"] == []
    assert all(row["right"] >= 5 and row["judged"] == 6 for row in document["right"].values())
    assert (
        document["figures"]["graphs"]["first_start_s"]["value"] > document["figures"]["eager"]["first_start_s"]["value"]
    )
    assert {verdict["call"] for verdict in document["verdicts"]} == {"undecided"}  # one round decides nothing
    home.say("report", kept, "-o", home.folder / "compare.md")
    assert "graphs repeats the first answers of eager" in (home.folder / "compare.md").read_text()
