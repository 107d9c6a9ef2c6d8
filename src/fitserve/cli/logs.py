"""`fitserve logs`: what the engine wrote, followed through rotation."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fitserve.text import tr

_POLL_S = 0.2
_TAIL_CHUNK = 64 * 1024


@click.command(help="What the engine of a deployment wrote.")
@click.argument("name", required=False, default="")
@click.option("-f", "--follow", is_flag=True, help="go on as it grows")
@click.option("-n", "--lines", "count", type=click.IntRange(0), default=100, help="last lines (default 100)")
@click.option("--of", type=click.Choice(["engine", "runner", "page"]), default="engine", help="whose log")
def command(name: str, follow: bool, count: int, of: str) -> None:
    from fitserve.cli.named import one_of
    from fitserve.errors import NotFound
    from fitserve.run.deployment import engine_log

    name = one_of(name)
    path = engine_log(name).with_name(f"{of}.log")
    if not path.exists() and not follow:
        raise NotFound(tr("run.no_log", name=name), hint=f"fitserve up {name}")
    position = _tail(path, count)
    if follow:
        _follow(path, position)


def _tail(path: Path, count: int) -> int:
    """Print the last lines; returns where they end."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        end = start = file.seek(0, 2)
        block = b""
        while start > 0 and block.count(b"\n") <= count:
            start = max(0, start - _TAIL_CHUNK)
            file.seek(start)
            block = file.read(end - start)
    lines = block.removesuffix(b"\n").split(b"\n") if block else []
    for line in lines[len(lines) - count :] if count < len(lines) else lines:
        _print(line)
    return end


def _follow(path: Path, position: int) -> None:
    """Print what is added, for as long as the person watches. A rotated file is read to its end first."""
    while not path.exists():
        time.sleep(_POLL_S)
    file = path.open("rb")
    file.seek(position)
    rest = b""
    while True:
        block = file.read(_TAIL_CHUNK)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            _print(line)
        if block:
            continue
        if _replaced(path, file.fileno(), file.tell()):
            file.close()
            file = path.open("rb")
            continue
        time.sleep(_POLL_S)


def _replaced(path: Path, descriptor: int, position: int) -> bool:
    import os

    try:
        now = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return now.st_ino != ours.st_ino or now.st_size < position


def _print(line: bytes) -> None:
    from fitserve.cli.shown import plain

    click.echo(plain(line.decode(errors="replace")))
