"""How the engine is, over HTTP; and told to the open tabs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from starlette.responses import JSONResponse
from starlette.routing import Route

from fitserve.text import LANGUAGES, in_language
from fitserve.web.guard import preferred_language
from fitserve.web.status import document
from fitserve.web.status_diagnosis import Diagnoses
from fitserve.web.status_diagnosis import document as diagnosis_document

if TYPE_CHECKING:
    from starlette.requests import Request

    from fitserve.web.status_watch import Watch

_EVERY_S = 1.5
Status = dict[str, object]


class Listeners(Protocol):
    """The open tabs."""

    def __len__(self) -> int: ...
    def status_changed(self, statuses: dict[str, Status]) -> None: ...


async def statuses(watch: Watch) -> dict[str, Status]:
    """The present one in each language."""
    seen = await watch.seen()
    return {language: document(seen, language) for language in LANGUAGES}


async def tell(watch: Watch, listeners: Listeners) -> None:
    """Tell the tabs how the engine is, for as long as there are any. Runs until it is cancelled."""
    while True:
        if len(listeners):
            try:
                listeners.status_changed(await statuses(watch))
            except Exception as error:  # noqa: BLE001 - a look that fails is told in the log, and is not the last one
                logging.getLogger("uvicorn.error").warning("no look at the engine: %r", error)
        await asyncio.sleep(_EVERY_S)


def status_routes(watch: Watch, diagnoses: Diagnoses) -> list[Route]:
    """`/api/status` and `/api/diagnosis`."""

    async def status(request: Request) -> JSONResponse:
        return JSONResponse(document(await watch.seen(), asked_language(request)))

    async def diagnosis(request: Request) -> JSONResponse:
        seen, language = await watch.seen(), asked_language(request)
        found = await asyncio.to_thread(diagnoses.of, seen.view, language) if seen.view else None
        with in_language(language):
            return JSONResponse(diagnosis_document(found) if found else None)

    return [Route("/api/status", status), Route("/api/diagnosis", diagnosis)]


def asked_language(request: Request) -> str:
    """The reader's."""
    return preferred_language(request.headers.get("accept-language", ""))
