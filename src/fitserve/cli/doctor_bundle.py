"""`doctor --bundle FILE`: one archive to hand on, without keys, names, hosts, folders or what was asked."""

from __future__ import annotations

import contextlib
import getpass
import io
import json
import platform
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import click

from fitserve import __version__
from fitserve.diagnose.document import document
from fitserve.diagnose.finding import Diagnosis
from fitserve.diagnose.redact import Redactor
from fitserve.errors import Interrupted, OperationFailed
from fitserve.observe.log.source import lines_of, open_log
from fitserve.run.view import View
from fitserve.text import tr

_LONGEST = 20_000_000  # bytes of the log: its end is kept


def write(path: Path, diagnosis: Diagnosis, log: Path | None, view: View | None) -> None:
    """List what goes in, ask where somebody is there to answer, then write. Raises Interrupted, OperationFailed."""
    redactor = Redactor(_names())
    parts = dict(_parts(diagnosis, log, view, redactor))
    click.echo(tr("doctor.bundle_holds"), err=True)
    for name, content in parts.items():
        click.echo(f"  {name}  {len(content):,} B", err=True)
    if sys.stdin.isatty() and not click.confirm(tr("doctor.bundle_ask", path=path), default=True, err=True):
        raise Interrupted(tr("failure.interrupted"))
    try:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in parts.items():
                entry = tarfile.TarInfo(f"fitserve-doctor/{name}")
                entry.size, entry.mode = len(content), 0o600
                archive.addfile(entry, io.BytesIO(content))
    except OSError as error:
        raise OperationFailed(tr("doctor.bundle_failed"), evidence=str(error), hint=f"ls -ld {path.parent}") from error
    click.echo(tr("doctor.bundle_written", path=path), err=True)


def _names() -> tuple[str, ...]:
    found = {platform.node(), platform.node().split(".")[0]}
    with contextlib.suppress(OSError, KeyError):  # a container's user may have no name
        found.add(getpass.getuser())
    return tuple(sorted(name for name in found if len(name) > 2 and name not in ("root", "localhost")))


def _parts(
    diagnosis: Diagnosis, log: Path | None, view: View | None, redactor: Redactor
) -> Iterator[tuple[str, bytes]]:
    yield "diagnosis.json", _json(redactor.value(json.loads(json.dumps(document(diagnosis), default=str))))
    yield (
        "versions.json",
        _json({"fitserve": __version__, "python": platform.python_version(), "engine": diagnosis.engine_version}),
    )
    yield "hardware.json", _json(redactor.value(_hardware()))
    if view is not None:
        yield "plan.json", _json(redactor.value(view.deployment.plan))
        yield "command.json", _json(redactor.value(list(view.deployment.argv)))
    if log is not None and log.is_file():
        yield "log.txt", _log(log, redactor)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _log(path: Path, redactor: Redactor) -> bytes:
    """The end of the log, line by line without what is hidden."""
    kept: list[bytes] = []
    size = 0
    with open_log(path) as stream:
        for line in lines_of(stream):
            clean = (redactor.line(line[:4000].rstrip("\r")) + "\n").encode()
            kept.append(clean)
            size += len(clean)
            if size > 2 * _LONGEST:
                kept, size = _halved(kept)
    return b"".join(kept)[-_LONGEST:]


def _halved(lines: list[bytes]) -> tuple[list[bytes], int]:
    rest = lines[len(lines) // 2 :]
    return rest, sum(map(len, rest))


def _hardware() -> dict[str, object]:
    from fitserve.facts.gpu_record import gpus_document
    from fitserve.facts.read_gpus import read_gpus
    from fitserve.facts.read_host import read_host

    host = read_host()
    table: dict[str, object] = {
        "system": host.system,
        "cpu": host.cpu_model,
        "cores": host.cores,
        "memory_total_bytes": host.memory_total_bytes,
        "shm_total_bytes": host.shm_total_bytes,
    }
    return {"host": table, "gpus": gpus_document(read_gpus())}
