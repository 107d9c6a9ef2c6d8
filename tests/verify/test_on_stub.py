"""Every step against a running stub: all well, and each fault that it can have found by its own line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.run.conftest import Runner
from tests.verify.conftest import VISION, plan

from fitserve.chat.endpoint import Endpoint
from fitserve.cli.verify_subject import of_deployment
from fitserve.plan.plan import Check
from fitserve.run.deployment import Deployment
from fitserve.run.registry import save
from fitserve.verify.step import Timed
from fitserve.verify.subject import Subject
from fitserve.verify.verification import STEPS, verification

pytestmark = pytest.mark.process

Up = Callable[..., Subject]


@pytest.fixture
def up(deploy: Callable[..., Deployment], runner: Callable[[Deployment], Runner]) -> Up:
    """A stub that answers, as the subject of a verification: `up(old_picture=True)`."""

    def start(planned: dict[str, Any] | None = None, **script: object) -> Subject:
        made = deploy(looks=True, token_s=0.01, answer="one two three", **script)
        deployment = replace(made, plan=planned or plan(), argv=(*made.argv, "--served-model-name", "one"))
        save(deployment)
        runner(deployment).until("answering")
        return replace(of_deployment("one"), vision=VISION, programs={"one": "RUNNING"})

    return start


def seen(subject: Subject, *names: str, **options: Any) -> dict[str, Check]:
    """The lines of these steps, or of all."""

    async def collect() -> list[Timed]:
        steps = [step for step in STEPS if not names or step.name in names]
        return [line async for line in verification(subject, steps=steps, **options)]

    return {line.check.name: line.check for line in asyncio.run(collect())}


def test_all_is_well(up: Up) -> None:
    found = seen(up())
    states = {name: check.state.value for name, check in found.items()}
    assert states.pop("settings") == "unknown"  # the stub's log names no setting that could be compared
    assert set(states.values()) == {"ok"}, found
    assert list(found) == [step.name for step in STEPS if step.name != "demo_set"]
    assert found["longest_prompt"].detail.startswith("4,095 tokens of prompt and one of answer, of 4,096")
    assert "3 of 3" in found["new_image"].detail
    assert "12 turns answered, memory flat" in found["turns"].detail
    assert found["ports"].detail.endswith("belongs to the engine alone.")


FAULTS: list[tuple[str, dict[str, object], str, str]] = [
    ("kv_blocks", {"blocks": 6000}, "fail", "6,000 blocks, and 6,899 were planned"),
    ("new_image", {"old_picture": True}, "fail", "answered as the old one would be"),
    ("stop", {"keeps_slot": True}, "fail", "still works on it"),
    ("turns", {"leak_bytes": 12 * 1024**2}, "fail", "memory grew"),
]


@pytest.mark.parametrize(("name", "script", "state", "said"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_found(
    up: Up, name: str, script: dict[str, object], state: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fitserve.verify.streaming._FREED_S", 1.0)
    check = seen(up(**script), name)[name]
    assert check.state == state, check
    assert said in check.detail
    assert check.evidence


def test_pictures_that_a_plan_allows(up: Up) -> None:
    one = {"max_model_len": 4096, "limit_mm_per_prompt": {"image": 1}}
    kept = up(plan(settings=one), pictures=1)
    assert "refused in words" in seen(kept, "images")["images"].detail
    three = replace(
        kept, deployment=replace(_of(kept), plan=plan(settings=one | {"limit_mm_per_prompt": {"image": 3}}))
    )
    assert seen(three, "images")["images"].state == "fail"
    text_only = replace(kept, deployment=replace(_of(kept), plan=plan(model={"vision": False})))
    found = seen(text_only, "image", "largest_image", "new_image")
    assert {check.detail for check in found.values()} == {"The model takes no pictures."}


def _of(subject: Subject) -> Deployment:
    assert subject.deployment
    return subject.deployment


def test_no_step_waits_without_an_end(up: Up) -> None:
    subject = up(answer_s=0.4)
    began = time.monotonic()
    found = seen(subject, "text", limit_s=0.1)
    assert time.monotonic() - began < 5
    assert found["text"].state == "fail"
    assert "0.1 s" in found["text"].detail


def test_others_are_not_disturbed(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = up()
    monkeypatch.setattr("fitserve.verify.verification._QUIET_WAIT_S", 0.2)

    async def beside() -> list[Timed]:
        from fitserve.verify.service import Service

        heavy = [step for step in STEPS if step.heavy]
        async with Service(subject.endpoint, 30) as other:
            stream = other.stream("long", 2000, {"ignore_eos": True})
            await anext(stream)
            lines = [line async for line in verification(subject, steps=heavy)]
            await stream.aclose()
        return lines

    lines = asyncio.run(beside())
    assert {line.check.state.value for line in lines} == {"unknown"}
    assert {line.check.hint for line in lines} == {"fitserve verify one --disturb"}


def test_a_dead_process_and_a_service_that_went(up: Up) -> None:
    subject = up()
    assert subject.live
    assert subject.live.engine
    assert subject.live.runner
    os.kill(subject.live.runner.pid, signal.SIGSTOP)  # it must not start the engine again meanwhile
    try:
        for member in subject.live.members:
            with contextlib.suppress(ProcessLookupError):  # they die with their leader
                os.kill(member.pid, signal.SIGKILL)
        found = seen(subject, "models", "processes", "ports", "text", "stop")
    finally:
        os.kill(subject.live.runner.pid, signal.SIGCONT)
    assert {name: check.state.value for name, check in found.items()} == {
        "models": "fail", "processes": "fail", "ports": "fail", "text": "unknown", "stop": "unknown",
    }  # fmt: skip
    assert str(subject.live.engine.pid) in found["processes"].evidence


def test_somebody_elses_address(up: Up) -> None:
    mine = up()
    found = seen(Subject(Endpoint(mine.endpoint.base_url, "one")))
    unknown = {name for name, check in found.items() if check.state == "unknown"}
    assert unknown == {"settings", "kv_blocks", "processes", "ports", "memory", "largest_image", "turns"}
    assert not [check for check in found.values() if check.state == "fail"]
