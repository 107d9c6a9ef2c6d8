"""What a supervised deployment costs while nobody asks it: runner and supervisor, without page and without engine.

Runs the tests' stub of vLLM under a real supervisor with the policy that `up` gives, and reads /proc: processor seconds
over a few minutes (a busy machine does not change them much), and memory with shared pages counted in part.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.run import real
from tests.run.faults import Living, moment
from tests.run.soak import stub

from fitserve.run.control import Control
from fitserve.run.deployment import Policy
from fitserve.run.processes import memory_bytes
from fitserve.units import MIB

SECONDS = 150  # two idle questions


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, real.own_home(Path(folder)):
        living = Living(Control(), (replace(stub(Path(folder)), policy=Policy()),))
        living.up()
        runner = moment("stub").runner
        (supervisor,) = living.control.supervisor.processes()
        assert runner
        time.sleep(5)
        pids = {"runner": runner.pid, "supervisor": supervisor.pid}
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        time.sleep(SECONDS)
        spent = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        sizes = {name: (memory_bytes(pid) or 0) / MIB for name, pid in pids.items()}
        asked = moment("stub").probes
        living.down()
    for name in pids:
        print(f"{name:<11} {100 * spent[name] / SECONDS:6.2f} % of a core   {sizes[name]:6.1f} MiB")
    print(
        f"together    {100 * sum(spent.values()) / SECONDS:6.2f} % bound 1 %   {sum(sizes.values()):6.1f} MiB bound 60"
    )
    print(f"questions asked meanwhile: {asked - 1}")


if __name__ == "__main__":
    main()
