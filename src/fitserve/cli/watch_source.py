"""Where `watch` and `metrics serve` look: the deployments here, an address, or a recording."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from fitserve.errors import NotFound, SettingsError
from fitserve.observe.gpu_samples import NvmlSampler, Sample, Sampler
from fitserve.observe.host_samples import HostSample
from fitserve.observe.http import Reply
from fitserve.observe.metrics import read_metrics
from fitserve.observe.moments import Moment, Service, read_moments
from fitserve.text import tr
from fitserve.web.access import is_local

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from fitserve.chat.endpoint import Endpoint
    from fitserve.run.view import View

_TIMEOUT_S, _LONGEST = 5.0, 4 * 1024 * 1024  # of one page
_THERE = (200, 401, 403)  # somebody who speaks this language, though perhaps not to us


class Source(Protocol):
    """`history` is what is known from before; `look` gives the next moment, None at a recording's end."""

    def history(self) -> Sequence[Moment]: ...
    def look(self) -> Moment | None: ...


class Deployments:
    """Those of this machine: one by its name, or all."""

    def __init__(self, name: str = "", sampler: Sampler | None = None) -> None:
        self._name, self._sampler = name, sampler or NvmlSampler()

    def history(self) -> Sequence[Moment]:
        """What its runner recorded, where one deployment is meant."""
        from fitserve.observe.recorder import samples_file
        from fitserve.run.registry import names

        meant = [self._name] if self._name else names()
        try:
            return list(read_moments(samples_file(meant[0]))) if len(meant) == 1 else ()
        except OSError:
            return ()

    def look(self) -> Moment | None:
        """One look at cards, host and services."""
        services = tuple(deployed(view) for view in self.views())
        sample = self._sampler.sample([pid for service in services for pid in service.pids])
        return Moment(sample, services) if sample else None

    def views(self) -> tuple[View, ...]:
        """Every deployment that is meant."""
        from fitserve.run.view import look_at_all

        return tuple(view for view in look_at_all() if not self._name or view.deployment.name == self._name)


def deployed(view: View, *, with_metrics: bool = True) -> Service:
    """A deployment, with its metrics where it answers."""
    from fitserve.cli.up_wait import reason_text
    from fitserve.observe.http import request
    from fitserve.observe.recorder import deployment_service
    from fitserve.run.live import State

    live, state = view.live, view.state.value
    pids = [member.pid for member in live.members] if live and view.runs else []
    detail = reason_text(live) if live and live.reason else ""
    metrics = None
    if with_metrics and view.state is State.ANSWERING:
        page = request(view.deployment, "/metrics", _TIMEOUT_S)
        metrics = read_metrics(page.text)
        if page.status == 0:  # its runner will find out
            state, detail = "unreachable", page.text
    measured = live.measured if live else {}
    return deployment_service(view.deployment, state, pids, metrics, detail=detail, measured=measured)


class Address:
    """Any server. Cards and host are shown only where it is on this machine."""

    def __init__(self, endpoint: Endpoint, sampler: Sampler | None = None) -> None:
        self._endpoint = endpoint
        local = is_local(urlsplit(endpoint.base_url).hostname or "")
        self._sampler = (sampler or NvmlSampler()) if local else None

    def history(self) -> Sequence[Moment]:
        """Nothing is known from before."""
        return ()

    def look(self) -> Moment | None:
        """One look."""
        service = asyncio.run(self._service())
        sample = self._sampler.sample() if self._sampler else Sample(round(time.time(), 3), None, HostSample())
        return Moment(sample, (service,)) if sample else None

    async def _service(self) -> Service:
        url = self._endpoint.base_url
        async with self._endpoint.client() as client:
            health, page = await asyncio.gather(_fetch(client, "/health"), _fetch(client, "/metrics"))
            if not health.status and not page.status:
                return Service(url, url, "unreachable", detail=health.text)
            if health.status == 503:
                return Service(url, url, "failed", detail="/health: HTTP 503")
            metrics = read_metrics(page.text) if page.status == 200 else None
            if metrics:
                return Service(url, url, "answering", metrics)
            models = await _fetch(client, "/v1/models")
        if models.status in _THERE:
            return Service(url, url, "answering", detail=tr("watch.tells_no_metrics"))
        return Service(url, url, "unreachable", detail=f"/v1/models: HTTP {models.status}")


async def _fetch(client: AsyncClient, path: str) -> Reply:
    """Never raises for the network's sake, never waits longer than its time."""
    import httpx2

    body = b""
    try:
        async with asyncio.timeout(_TIMEOUT_S), client.stream("GET", path) as reply:
            async for piece in reply.aiter_bytes():
                body += piece
                if len(body) > _LONGEST:
                    break
            return Reply(reply.status_code, body.decode(errors="replace"))
    except TimeoutError:
        return Reply(0, tr("watch.no_answer_in", seconds=f"{_TIMEOUT_S:g}"))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        return Reply(0, f"{type(error).__name__}: {error}".rstrip(": "))


class Recording:
    """The moments of a file, one after the other."""

    def __init__(self, path: Path) -> None:
        """Raises NotFound, or SettingsError where the file holds no sample."""
        try:
            found = list(read_moments(path))
        except OSError as error:
            raise NotFound(tr("watch.no_recording", path=path), evidence=error.strerror or str(error)) from error
        if not found:
            raise SettingsError(tr("watch.not_a_recording", path=path), hint="fitserve watch --json > FILE")
        self._left = iter(found)

    def history(self) -> Sequence[Moment]:
        """It begins at its beginning."""
        return ()

    def look(self) -> Moment | None:
        """The next one."""
        return next(self._left, None)
