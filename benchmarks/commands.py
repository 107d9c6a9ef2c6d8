"""`fitserve --help` and plans as whole processes, beside a bare Python start and `import click`."""

from __future__ import annotations

import statistics

from timing import PYTHON, interleaved, row

COMMANDS = {
    "python -c pass": ([PYTHON, "-c", "pass"], ""),
    "python -c 'import click'": ([PYTHON, "-c", "import click"], ""),
    "fitserve --help": ([PYTHON, "-m", "fitserve", "--help"], "bound 0.15 s"),
    "fitserve plan demo": ([PYTHON, "-m", "fitserve", "plan", "demo", "--json"], ""),
    "fitserve plan qwen3.5-35b (known)": (
        [PYTHON, "-m", "fitserve", "plan", "qwen3.5-35b-a3b-awq-4bit", "--gpus", "2xRTX3090", "--json"],
        "bound 0.4 s",
    ),
}


def main() -> None:
    times = interleaved({name: argv for name, (argv, _) in COMMANDS.items()}, rounds=15)
    base = statistics.median(times["python -c pass"])
    print(f"{'whole process, seconds':<34} {'min':>7} {'median':>7} {'max':>7}  {'ratio':>7}")
    for name, (_, bound) in COMMANDS.items():
        print(row(name, times[name], base, bound))


if __name__ == "__main__":
    main()
