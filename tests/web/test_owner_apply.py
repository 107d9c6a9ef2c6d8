"""A fix from the page, with real processes: the start that failed is planned anew with it, and answers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.run.conftest import free_port, home, stub  # noqa: F401 - fixtures
from tests.run.small_model import write_model

from fitserve.clock import SystemClock
from fitserve.diagnose.finding import Fix
from fitserve.errors import FitserveError
from fitserve.run.control import Control
from fitserve.run.follow import follow
from fitserve.run.live import Live, State
from fitserve.run.registry import load
from fitserve.web import owner, owner_actions
from fitserve.web.owner_jobs import Jobs
from fitserve.web.refused import Conflict
from fitserve.web.status_diagnosis import Diagnoses

pytestmark = pytest.mark.process


def end_of_start() -> Live:
    """The last moment of the start that is under way."""
    return list(follow("shop", Control().supervisor, SystemClock(), 30.0))[-1]


@pytest.fixture
def failed(home: Path, stub: Path, free_port: int, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: F811 - as above
    """A deployment whose cache was too small for its length."""
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", str(stub))
    monkeypatch.setenv("FITSERVE_PORT", str(free_port))
    monkeypatch.setenv("STUB_ENGINE", json.dumps({"kv_tokens": 512}))
    monkeypatch.chdir(home)
    model = write_model(home / "Small-Model")
    argv = [sys.executable, "-m", "fitserve", "up", str(model), "--name", "shop", "--no-page", "--no-retry"]
    assert subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 1
    monkeypatch.delenv("STUB_ENGINE")  # a page has the environment of a supervisor, not of the person who said `up`
    return "shop"


def test_the_fix_is_shown_then_applied_and_kept(failed: str) -> None:
    diagnoses, view = Diagnoses(), owner.found(failed)
    diagnosis = diagnoses.of(view, "en")
    assert diagnosis
    assert diagnosis.findings[0].cause == "kv_below_max_len"
    number, change = next(
        (n, fix) for n, fix in enumerate(diagnosis.findings[0].fixes) if fix.set == {"--max-model-len": 512}
    )
    fix = owner_actions.chosen_fix(diagnoses, view, number, "--max-model-len 512")
    assert fix is change
    shown = owner_actions.preview(view, fix)
    assert shown["rows"] == [{"name": "--max-model-len", "before": 2048, "after": 512}]
    assert load(failed) == view.deployment  # nothing was touched

    owner_actions.apply_fix(view, fix)
    assert end_of_start().state is State.ANSWERING
    after = load(failed)
    assert after
    assert (after.port, after.env["STUB_ENGINE"]) == (view.deployment.port, view.deployment.env["STUB_ENGINE"])
    assert after.argv[after.argv.index("--max-model-len") + 1] == "512"
    assert (
        after.wishes["typed"] == {"name": "shop", "max_model_len": 512} or after.wishes["typed"]["max_model_len"] == 512
    )  # type: ignore[index]

    with pytest.raises(Conflict):  # nothing is wrong any more
        owner_actions.chosen_fix(diagnoses, owner.found(failed), number, "--max-model-len 512")
    before = owner.found(failed)
    owner_actions.restart(before)
    assert end_of_start().state is State.ANSWERING
    now = owner.found(failed)
    assert now.live
    assert before.live
    assert now.live.engine != before.live.engine


def test_a_change_that_comes_to_nothing_leaves_all_as_it_was(failed: str) -> None:
    view = owner.found(failed)
    for fix in (Fix({"--max-num-seqs": 10**9}), Fix({"--block-size": 7}), Fix(why="buy a larger card")):
        with pytest.raises(FitserveError):
            owner_actions.preview(view, fix)
    assert load(failed) == view.deployment


def test_a_job_ends_once_and_tells_why() -> None:
    async def jobs() -> list[object]:
        running, release = Jobs(), asyncio.Event()

        def work(tell: Callable[[dict[str, object]], None]) -> dict[str, object]:
            tell({"name": "one"})
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result(10)
            raise ZeroDivisionError

        loop = asyncio.get_running_loop()
        running.begin("shop", "restart", work, "en")
        with pytest.raises(Conflict):
            running.begin("shop", "apply", work, "en")
        release.set()
        while (running.of("shop") or {})["runs"]:
            await asyncio.sleep(0.01)
        return [running.of("shop"), running.of("other")]

    ended, other = asyncio.run(jobs())
    assert other is None
    assert ended["told"] == [{"name": "one"}]  # type: ignore[index]  # a table
    assert ended["error"]["evidence"] == "ZeroDivisionError: "  # type: ignore[index]
