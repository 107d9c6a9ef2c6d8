"""`/api/owner/…`: the owner's tab. Looking is free where only this machine reaches the page; acting needs the key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fitserve.errors import FitserveError
from fitserve.run.deployment import engine_log
from fitserve.text import current_language, in_language
from fitserve.web import owner, owner_actions, owner_bench
from fitserve.web.intake import fields_of, language_of, number_in, text_in
from fitserve.web.owner_access import KeyNeeded, OwnerAccess, TooManyTries
from fitserve.web.owner_jobs import Jobs, Work
from fitserve.web.owner_logs import Filter, last_lines, lines_after
from fitserve.web.refused import status_of, told
from fitserve.web.status_diagnosis import Diagnoses
from fitserve.web.status_diagnosis import document as diagnosis_document

if TYPE_CHECKING:
    from starlette.requests import Request

    from fitserve.diagnose.finding import Fix
    from fitserve.run.view import View

Handler = Callable[["Request"], Awaitable[Response]]
_LOGS = ("engine", "runner", "page")
_MOST_LINES = 2000


class OwnerDesk:
    """Takes each request to its function. What reads a disk or asks a process runs in a thread."""

    def __init__(self, access: OwnerAccess, diagnoses: Diagnoses) -> None:
        self._access, self._diagnoses, self._jobs = access, diagnoses, Jobs()

    def routes(self) -> list[Route]:
        """All of them."""
        one = "/api/owner/deployments/{name}"
        return [
            Route("/api/owner", self._looking(self.all)),
            Route("/api/owner/key", self._acting(self.key), methods=["POST"]),
            Route(one, self._looking(self.one)),
            Route(f"{one}/logs", self._looking(self.logs)),
            Route(f"{one}/bench", self._looking(self.bench)),
            Route(f"{one}/bench/{{file}}/{{chart}}.svg", self._looking(self.chart)),
            Route(f"{one}/diagnosis", self._looking(self.diagnosis)),
            Route(f"{one}/preview", self._acting(self.preview), methods=["POST"]),
            Route(f"{one}/apply", self._acting(self.apply), methods=["POST"]),
            Route(f"{one}/restart", self._acting(self.restart), methods=["POST"]),
            Route(f"{one}/verify", self._acting(self.verify), methods=["POST"]),
        ]

    async def all(self, request: Request) -> Response:
        """The deployments, and whether this reader may act on them."""
        rows = await asyncio.to_thread(owner.deployments, current_language())
        return JSONResponse({"may_act": self._may_act(request), "deployments": rows})

    async def key(self, _request: Request) -> Response:
        """Whether the key in the header is the right one."""
        return Response(status_code=204)

    async def one(self, request: Request) -> Response:
        """One deployment, and what is being done with it."""
        view = await self._view(request)
        detail = await asyncio.to_thread(owner.detail, view, current_language())
        return JSONResponse({**detail, "job": self._jobs.of(view.deployment.name)})

    async def logs(self, request: Request) -> Response:
        """The last lines, or with `place` those after it."""
        view, asked = await self._view(request), request.query_params
        of = asked.get("of", "engine")
        path = engine_log(view.deployment.name).with_name(f"{of if of in _LOGS else 'engine'}.log")
        keep = Filter(asked.get("trouble") == "1", asked.get("word", "")[:200])
        count = asked.get("lines", "")
        count_lines = min(int(count), _MOST_LINES) if count.isdecimal() else 400
        if place := asked.get("place", ""):
            part = await asyncio.to_thread(lines_after, path, place, count_lines, keep)
        else:
            part = await asyncio.to_thread(last_lines, path, count_lines, keep)
        lines = [{"level": line.level, "text": line.text} for line in part.lines]
        return JSONResponse({"lines": lines, "place": part.place, "begun_again": part.begun_again})

    async def bench(self, request: Request) -> Response:
        """Kept measurements and the names of their charts."""
        view = await self._view(request)
        found = await asyncio.to_thread(owner_bench.document, view.deployment.name, current_language())
        return JSONResponse({"measured": found})

    async def chart(self, request: Request) -> Response:
        """One chart."""
        file, name = request.path_params["file"], request.path_params["chart"]
        svg = await asyncio.to_thread(owner_bench.chart, file, name, current_language())
        return Response(svg, media_type="image/svg+xml")

    async def diagnosis(self, request: Request) -> Response:
        """What the doctor says; null where nothing is wrong."""
        view = await self._view(request)
        found = await asyncio.to_thread(self._diagnoses.of, view, current_language())
        return JSONResponse(diagnosis_document(found) if found else None)

    async def preview(self, request: Request) -> Response:
        """What a fix would change."""
        view, fix = await self._fix(request)
        return JSONResponse(await asyncio.to_thread(owner_actions.preview, view, fix))

    async def apply(self, request: Request) -> Response:
        """Begin to apply a fix."""
        view, fix = await self._fix(request)
        return self._begun(view, "apply", lambda _: owner_actions.apply_fix(view, fix))

    async def restart(self, request: Request) -> Response:
        """Begin to start it again."""
        view = await self._view(request)
        return self._begun(view, "restart", lambda _: owner_actions.restart(view))

    async def verify(self, request: Request) -> Response:
        """Begin to verify it."""
        view = await self._view(request)
        return self._begun(view, "verify", lambda tell: owner_actions.verify(view, tell))

    def _begun(self, view: View, kind: str, work: Work) -> Response:
        name = view.deployment.name
        self._jobs.begin(name, kind, work, current_language())
        return JSONResponse({"job": self._jobs.of(name)}, 202)

    async def _fix(self, request: Request) -> tuple[View, Fix]:
        view, fields = await self._view(request), await fields_of(request)
        number, change = number_in(fields, "number"), text_in(fields, "change")
        return view, await asyncio.to_thread(owner_actions.chosen_fix, self._diagnoses, view, number, change)

    async def _view(self, request: Request) -> View:
        return await asyncio.to_thread(owner.found, request.path_params["name"])

    def _may_act(self, request: Request) -> bool:
        return self._access.may_act(request.headers, _address(request))

    def _looking(self, handler: Handler) -> Handler:
        return _admitted(handler, lambda request: self._access.admit_reader(request.headers, _address(request)))

    def _acting(self, handler: Handler) -> Handler:
        return _admitted(handler, lambda request: self._access.admit_owner(request.headers, _address(request)))


def _admitted(handler: Handler, admit: Callable[[Request], None]) -> Handler:
    """The handler behind its door, in the reader's language, with failures told."""

    async def handle(request: Request) -> Response:
        language = language_of(request)
        with in_language(language):
            try:
                admit(request)
                return await handler(request)
            except FitserveError as error:
                return JSONResponse({"error": told(error, language)}, _status_of(error))

    return handle


def _status_of(error: FitserveError) -> int:
    if isinstance(error, KeyNeeded):
        return 401
    return 429 if isinstance(error, TooManyTries) else status_of(error)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
