"""`doctor NAME --probe` against the stub: the smallest question first, and none after the first that fails."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fitserve.cli.doctor_probe import probed
from fitserve.cli.doctor_service import judged
from fitserve.diagnose.engine import Stated
from fitserve.observe.http import request
from fitserve.plan.plan import Check, CheckState
from fitserve.run.deployment import Deployment
from fitserve.run.live import State
from fitserve.run.view import View
from run.conftest import Runner

pytestmark = pytest.mark.process

Deploy = Callable[..., Deployment]
Start = Callable[[Deployment], Runner]


def test_ever_larger_pictures_are_asked(deploy: Deploy, runner: Start) -> None:
    deployment = deploy(looks=True)
    live = runner(deployment).until("answering")
    asked = list(probed(deployment, None))
    assert [check.name for check in asked] == ["probe_text", "probe_64", "probe_448", "probe_1024"]
    assert {check.state for check in asked} == {CheckState.OK}
    assert all("tokens" in check.detail for check in asked)
    checks = {check.name: check for check in judged(View(deployment, live, State.ANSWERING, False), Stated()).checks}
    assert checks["answering"].state is checks["log"].state is CheckState.OK
    assert checks["kv_cache"].state is CheckState.UNKNOWN  # the stub does not tell it


@pytest.mark.parametrize(
    ("script", "last", "said"),
    [
        ({"no_pictures": True}, "probe_64", "HTTP 400: stub is not a multimodal model"),
        ({"fail_requests": 1000}, "probe_text", "HTTP 500: the stub was told to fail"),
    ],
    ids=["refuses pictures", "fails"],
)
def test_nothing_is_asked_after_the_first_failure(
    deploy: Deploy, runner: Start, script: dict[str, object], last: str, said: str
) -> None:
    deployment = deploy(**script)
    runner(deployment)
    asked = waited(deployment)
    assert [check.state for check in asked[:-1]] == [CheckState.OK] * (len(asked) - 1)
    assert (asked[-1].name, asked[-1].state, asked[-1].detail) == (last, CheckState.FAIL, said)


def waited(deployment: Deployment) -> list[Check]:
    """The questions of an engine that serves, whatever its runner thinks of its answers."""
    deadline = time.monotonic() + 20
    while request(deployment, "/health", 1.0).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return list(probed(deployment, None))
