"""A real supervisor: started, found again, restarting what was killed, and gone without a trace."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.run.conftest import events, marked

from fitserve.clock import SystemClock
from fitserve.errors import OperationFailed
from fitserve.run.control import Control
from fitserve.run.deployment import Deployment
from fitserve.run.follow import follow
from fitserve.run.live import Live, forget_live, read_live
from fitserve.run.ports import is_free
from fitserve.run.processes import is_alive
from fitserve.run.supervisor_conf import Program, program_path, socket_path
from fitserve.run.view import look

pytestmark = pytest.mark.process

Deploy = Callable[..., Deployment]


def came_up(control: Control, deployment: Deployment) -> Live:
    with control.alone(deployment.name):
        control.start(deployment)
    *_, last = follow(deployment.name, control.supervisor, control.clock, 30)
    assert last.state == "answering", last
    return last


def until(name: str, wanted: Callable[[Live], bool]) -> Live:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        live = read_live(name)
        if live and wanted(live):
            return live
        time.sleep(0.02)
    raise AssertionError(read_live(name))


def test_it_is_found_again_and_ends_with_its_last_program(control: Control, deploy: Deploy, home: Path) -> None:
    deployment = deploy()
    came_up(control, deployment)
    again = Control()  # another terminal
    assert again.supervisor.answers()
    assert again.supervisor.states() == {"one": "RUNNING"}
    assert len(again.supervisor.processes()) == 1
    with again.alone("one"):
        assert again.stop("one")
        assert not again.stop("one")
    assert not again.supervisor.processes()
    assert not socket_path().exists()
    assert not program_path("one").exists()
    assert is_free("127.0.0.1", deployment.port)
    assert marked(home) == []


def test_a_killed_runner_comes_back(control: Control, deploy: Deploy) -> None:
    first = came_up(control, deploy())
    assert first.runner
    os.kill(first.runner.pid, signal.SIGKILL)
    second = until("one", lambda live: live.state == "answering" and live.runner != first.runner)
    assert second.failures == 1
    assert second.engine != first.engine


def test_what_fails_for_good_is_left_down(control: Control, deploy: Deploy, home: Path) -> None:
    came_up(control, deploy(die_after_s=0.3))
    live = until("one", lambda live: live.state == "failed")
    assert (live.failures, live.reason) == (3, "engine_died")
    deadline = time.monotonic() + 20
    while control.supervisor.states() != {"one": "EXITED"} and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    assert control.supervisor.states() == {"one": "EXITED"}, "and it stays there"
    assert look("one").state == "failed"
    assert marked(home) == []


def test_a_killed_supervisor_is_started_again_and_has_its_deployments(
    control: Control, deploy: Deploy, home: Path, free_port: int
) -> None:
    before = {
        name: came_up(control, deploy(name, port=port)) for name, port in (("one", free_port), ("two", free_port + 1))
    }
    (supervisor,) = control.supervisor.processes()
    os.kill(supervisor.pid, signal.SIGKILL)
    for name, live in before.items():
        after = until(name, lambda now, old=live: now.state == "answering" and now.runner != old.runner)
        assert (after.failures, after.orphaned) == (0, 1)  # it is no failure of the service
    (another,) = control.supervisor.processes()
    assert another != supervisor
    assert control.supervisor.states() == {"one": "RUNNING", "two": "RUNNING"}
    assert len(marked(home)) == 6
    ends = [row["reason"] for row in events("one") if row["event"] == "ended"]
    assert ends == ["supervisor_died"]


def test_a_supervisor_that_dies_again_and_again_is_given_up(control: Control, deploy: Deploy, home: Path) -> None:
    live = came_up(control, deploy())
    for _ in range(3):
        (supervisor,) = control.supervisor.processes()
        os.kill(supervisor.pid, signal.SIGKILL)
        live = until(
            "one",
            lambda now, old=live: now.state == "stopped" or (now.state == "answering" and now.runner != old.runner),
        )
    assert (live.state, live.reason) == ("stopped", "supervisor_died")
    assert marked(home) == []


def test_a_supervisor_without_a_socket_keeps_its_engines_and_is_still_ended(
    control: Control, deploy: Deploy, home: Path, free_port: int
) -> None:
    came_up(control, deploy("one"))
    came_up(control, deploy("two", port=free_port + 1))
    socket_path().unlink()  # the runtime folder may be wiped when a session ends
    assert look("one").state == "answering"
    with control.alone("one"):
        assert control.stop("one")
    assert look("one").state == "stopped"
    assert look("two").state == "answering"
    came_up(control, deploy("one"))  # by a second supervisor
    assert len(control.supervisor.processes()) == 2
    control.supervisor.end()
    assert not control.supervisor.processes()
    assert marked(home) == []


def test_a_runner_that_dies_without_a_word(control: Control, deploy: Deploy) -> None:
    deployment = deploy()
    with control.alone("one"):
        control.start(deployment)
        path = program_path("one").parent.parent.parent / "deployments/one/deployment.json"
        path.write_text("{")
        control.supervisor.stop("one")
        forget_live("one")
        control.supervisor._take_up("one")
    *_, last = follow("one", control.supervisor, SystemClock(), 30)
    assert (last.state, last.reason) == ("failed", "runner_died")
    assert last.evidence.text.startswith("fitserve: ")


def test_two_deployments_side_by_side(control: Control, deploy: Deploy, free_port: int) -> None:
    one, two = deploy("one"), deploy("two", port=free_port + 1)
    came_up(control, one)
    came_up(control, two)
    assert control.supervisor.states() == {"one": "RUNNING", "two": "RUNNING"}
    with control.alone("one"):
        control.stop("one")
    assert control.supervisor.states() == {"two": "RUNNING"}
    assert look("two").state == "answering"


def test_each_has_its_page_and_a_killed_supervisor_brings_both_back(
    control: Control, deploy: Deploy, home: Path, free_port: int
) -> None:
    pages = {"one": free_port + 2, "two": free_port + 3}
    for more, (name, page_port) in enumerate(pages.items()):
        deployment = replace(deploy(name, port=free_port + more), page_port=page_port)
        came_up(control, deployment)
        control.start_page(deployment, "en")
    for page_port in pages.values():
        opens(page_port)
    (supervisor,) = control.supervisor.processes()
    before = {name: read_live(name).runner for name in pages}
    os.kill(supervisor.pid, signal.SIGKILL)
    for name, page_port in pages.items():
        until(name, lambda now, name=name: now.state == "answering" and now.runner != before[name])
        opens(page_port)
    assert control.supervisor.states() == dict.fromkeys(("one", "two", "page-one", "page-two"), "RUNNING")
    for name, page_port in pages.items():
        with control.alone(name):
            control.stop(name)
        assert is_free("127.0.0.1", page_port)
    assert not control.supervisor.processes()


def opens(port: int) -> None:
    """Wait until somebody listens there."""
    deadline = time.monotonic() + 100
    while is_free("127.0.0.1", port):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_several_times_up_and_down_leave_nothing(control: Control, deploy: Deploy, home: Path, free_port: int) -> None:
    came_up(control, deploy("keeper", port=free_port + 1))
    deployment = deploy()
    (supervisor,) = control.supervisor.processes()
    keeper_files = len(marked(home))
    before = descriptors(supervisor.pid)
    for _ in range(4):
        came_up(control, deployment)
        with control.alone("one"):
            control.stop("one")
    assert is_alive(supervisor)
    while descriptors(supervisor.pid) != before:  # it closes connections in its own time
        time.sleep(0.05)
    assert len(marked(home)) == keeper_files
    assert is_free("127.0.0.1", deployment.port)
    assert sorted(path.name for path in (home / "state/fitserve/supervisor/programs").iterdir()) == ["keeper.conf"]


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_a_supervisor_that_cannot_start_says_what_room_there_is(
    control: Control, deploy: Deploy, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")  # as on a full disk: it ends without a word
    with pytest.raises(OperationFailed) as caught:
        control.supervisor.start(Program("one", ("true",), home, home / "log"))
    assert caught.value.evidence.startswith("exit 1; ")
    assert caught.value.evidence.endswith(" free")
    assert caught.value.hint.startswith("df -h ")


def test_its_death_is_none_of_the_services_failures(control: Control, deploy: Deploy, home: Path) -> None:
    live = came_up(control, deploy())
    for expected in (1, 2):
        os.kill(live.engine.pid, signal.SIGKILL)
        live = until("one", lambda now, old=live: now.state == "answering" and now.engine != old.engine)
        assert live.failures == expected
    (supervisor,) = control.supervisor.processes()
    os.kill(supervisor.pid, signal.SIGKILL)
    live = until("one", lambda now, old=live: now.state == "answering" and now.runner != old.runner)
    assert (live.failures, live.orphaned) == (2, 1)
