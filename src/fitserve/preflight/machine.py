"""The machine: /dev/shm, room on the disks, and the ports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fitserve.errors import FitserveError
from fitserve.facts.hub_cache import hugging_face_cache, modelscope_cache
from fitserve.facts.hub_ref import Hub
from fitserve.fetch.room import free_bytes
from fitserve.paths import state_dir
from fitserve.plan.checks.machine import SHM
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.subject import PortWish, Subject
from fitserve.run import ports
from fitserve.run.view import look_at_all, port_holder
from fitserve.text import tr
from fitserve.units import GIB, MIB, format_bytes

_LOGS = 256 * MIB  # what logs and records of a deployment may take
_COMFORT = 2 * GIB  # of /dev/shm, for several ranks


def check(subject: Subject) -> Iterator[Check]:
    """What a start would stumble over on this host."""
    yield _shared_memory(subject)
    yield from _state()
    yield from _download(subject)
    for wish in subject.ports:
        yield _port(wish, subject)


def _shared_memory(subject: Subject) -> Check:
    """As the plan judges it for several ranks; one rank needs none to speak of."""
    said = [one for one in (subject.plan.checks if subject.plan else ()) if one.name == SHM]
    host = subject.host
    if said:
        return said[0]
    if host.shm_total_bytes is None:
        return Check(SHM, CheckState.UNKNOWN, tr("check.shm_unread"), "", "df -h /dev/shm")
    free = format_bytes(host.shm_free_bytes) if host.shm_free_bytes is not None else "?"
    state = CheckState.OK if subject.plan or host.shm_total_bytes >= _COMFORT else CheckState.WARN
    return Check(SHM, state, tr("check.shm", total=format_bytes(host.shm_total_bytes), free=free))


def _state() -> Iterator[Check]:
    """Logs and records need a folder that can be written."""
    try:
        folder = state_dir()
    except FitserveError as error:
        yield Check("disk_state", CheckState.FAIL, error.message, error.evidence, error.hint)
        return
    free = free_bytes(folder)
    good = free > _LOGS and os.access(folder, os.W_OK)
    said = tr("check.disk_state", free=format_bytes(free), need=format_bytes(_LOGS))
    yield Check("disk_state", CheckState.OK if good else CheckState.FAIL, said, str(folder), _df(folder, good))


def _download(subject: Subject) -> Iterator[Check]:
    """A hub's model that is not here has to go somewhere."""
    if subject.ref is None or subject.folder is not None or subject.facts is None:
        return
    need = subject.facts.checkpoint_bytes
    folder = hugging_face_cache() if subject.ref.hub is Hub.HUGGING_FACE else modelscope_cache()
    free = free_bytes(folder)
    good = free > need + _LOGS
    said = tr("check.disk_download", need=format_bytes(need), free=format_bytes(free))
    state = CheckState.UNKNOWN if not need else CheckState.OK if good else CheckState.FAIL
    yield Check("disk_download", state, said, str(folder), _df(folder, good))


def _df(folder: Path, good: bool) -> str:
    while not folder.exists():
        folder = folder.parent
    return "" if good else f"df -h {folder}"


def _port(wish: PortWish, subject: Subject) -> Check:
    """Free, ours already, or somebody's: then `up` takes the next one, unless this very port was asked for."""
    port = wish.port
    if wish.own:
        return Check(wish.name, CheckState.OK, tr("check.port_own", port=port))
    if port not in subject.taken and ports.is_free(wish.host, port):
        return Check(wish.name, CheckState.OK, tr("check.port_free", port=port))
    who = port_holder(port, look_at_all())
    free = ports.next_free(wish.host, port + 1, subject.taken)
    option = "--port" if wish.name == "port_api" else "--page-port"
    if wish.asked or free is None:
        hint = f"fitserve up {subject.name or 'MODEL'} {option} {free}" if free else "fitserve status"
        return Check(wish.name, CheckState.FAIL, tr("check.port_held", port=port), who, hint)
    return Check(wish.name, CheckState.WARN, tr("check.port_moves", port=port, free=free), who, "fitserve status")
