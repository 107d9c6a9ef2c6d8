"""`fitserve verify` as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests.run.conftest import Runner
from tests.verify.conftest import plan

from fitserve.cli.verify import command
from fitserve.errors import OperationFailed
from fitserve.run.deployment import Deployment
from fitserve.run.registry import save

pytestmark = pytest.mark.process


def test_lines_then_a_document(
    deploy: Callable[..., Deployment], runner: Callable[[Deployment], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = deploy(looks=True, token_s=0.01, blocks=1)
    deployment = replace(made, plan=plan(), argv=(*made.argv, "--served-model-name", "one"))
    save(deployment)
    running = runner(deployment)
    running.until("answering")
    monkeypatch.setattr("fitserve.run.supervisor.Supervisor.states", lambda _: {"one": "RUNNING"})
    done = CliRunner().invoke(command, ["one", "--quick"])
    assert done.exit_code == 5, done.output
    assert "1 blocks, and 6,899 were planned" in done.stdout
    assert "Next: fitserve calibrate one" in done.stdout
    told = json.loads(CliRunner().invoke(command, ["one", "--quick", "--json"]).stdout)
    assert (told["kind"], told["name"], told["state"]) == ("verification", "one", "fail")
    assert [row["name"] for row in told["checks"]][:3] == ["models", "settings", "kv_blocks"]
    assert all(row["seconds"] >= 0 for row in told["checks"])
    address = CliRunner().invoke(command, ["--url", deployment.url, "--quick"])
    assert address.exit_code == 0, address.output
    running.end()
    stopped = CliRunner().invoke(command, ["one"])
    assert isinstance(stopped.exception, OperationFailed)
    assert stopped.exception.code == "not_answering"
