"""`fitserve _run NAME`: what supervisor starts. The real edges are handed to the runner here."""

from __future__ import annotations

import os
import signal
import sys

import click

from fitserve.clock import Clock, SystemClock
from fitserve.observe.probe import ImageProber, Question, square_question
from fitserve.run.deployment import Deployment, deployment_dir
from fitserve.run.edges import Edges
from fitserve.run.engine_process import adopt_orphans, die_with_parent
from fitserve.run.exits import Exit
from fitserve.run.live import Live, Reason, read_live
from fitserve.run.lock import Locked, held
from fitserve.run.processes import look_up
from fitserve.run.registry import load


@click.command(hidden=True)
@click.argument("name")
def command(name: str) -> None:
    """Own one engine until it ends (started by supervisor)."""
    sys.exit(own(name))


def own(name: str, clock: Clock | None = None) -> int:
    """Run the deployment under its lock; the exit code is for supervisor."""
    os.umask(0o077)
    die_with_parent(signal.SIGTERM)  # a supervisor that dies takes its engines with it, in good order
    adopt_orphans()
    try:
        deployment = load(name)
    except (OSError, ValueError) as error:
        return _refuse(Exit.UNUSABLE, str(error))
    if deployment is None:
        return _refuse(Exit.UNUSABLE, f"no deployment {name!r}")
    try:
        with held(deployment_dir(name) / "lock"):
            code, orphaned = _run(deployment, clock or SystemClock())
    except Locked:
        return _refuse(Exit.LOCKED, f"{name} has a runner already")
    if orphaned and code is Exit.RESTART:
        from fitserve.run.control import Control

        Control().revive(name)
    return code


def _run(deployment: Deployment, clock: Clock) -> tuple[Exit, bool]:
    """The exit code, and whether the supervisor died meanwhile: then nobody would act on it."""
    from fitserve.run.runner import Runner

    process = look_up(os.getpid())
    runner = Runner(
        deployment, _edges(deployment, clock), read_live(deployment.name), process.identity if process else None
    )
    parent = os.getppid()

    def stop(_number: int, _frame: object) -> None:
        runner.stop(Reason.ASKED if os.getppid() == parent else Reason.SUPERVISOR_DIED)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    code = runner.run()
    return code, os.getppid() != parent


def _edges(deployment: Deployment, clock: Clock) -> Edges:
    from fitserve.observe.gpu_memory import NvmlMemory
    from fitserve.observe.meter import EngineMeter
    from fitserve.observe.past_starts import RecordedStarts
    from fitserve.observe.reader import LogReader
    from fitserve.observe.record import new_record
    from fitserve.observe.recorder import Recorder

    prober = ImageProber(_demo_question if deployment.demo else square_question)
    journal = new_record(deployment.name, clock)
    past, doctor, gpu = RecordedStarts(), DeploymentDoctor(), NvmlMemory()
    return Edges(clock, journal, LogReader(), prober, EngineMeter(gpu), gpu, past, doctor, Recorder(deployment))


class DeploymentDoctor:
    """The doctor, for a runner; it is imported when something went wrong, for its rules are larger than a runner."""

    def diagnose(self, deployment: Deployment, live: Live) -> dict[str, object]:
        """The root cause, and the first change that would cure it. See `diagnose/brief.py`."""
        from fitserve.cli.doctor_service import judged
        from fitserve.diagnose.brief import brief
        from fitserve.diagnose.engine import Stated
        from fitserve.run.view import View

        return brief(judged(View(deployment, live, live.state, page_runs=False), Stated()))


def _demo_question(attempt: int) -> Question:
    """A picture of the demo model's world, whose right answer is known; each attempt asks about another."""
    from fitserve.demo import sample

    drawn = sample(7_000 + attempt, "en")
    return Question(drawn.image_bytes, drawn.mime_type, drawn.question.text, drawn.is_right)


def _refuse(code: Exit, why: str) -> int:
    print(f"fitserve: {why}", file=sys.stderr)  # noqa: T201 - into the runner's own log
    return int(code)
