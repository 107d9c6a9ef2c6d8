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

    from fitserve.web.status import Seen
    from fitserve.web.status_watch import Watch

_BUSY_S, _QUIET_S = 1.5, 5.0  # between two looks; each leaves a line in the engine's log
_NOBODY_S = 0.2  # until somebody opens the page
Status = dict[str, object]


class Listeners(Protocol):
    """The open tabs."""

    def __len__(self) -> int: ...
    def status_changed(self, statuses: dict[str, Status]) -> None: ...


def documents(seen: Seen) -> dict[str, Status]:
    """What was seen, in each language."""
    return {language: document(seen, language) for language in LANGUAGES}


async def tell(watch: Watch, listeners: Listeners, busy_s: float = _BUSY_S) -> None:
    """Tell the tabs how the engine is, for as long as there are any. Runs until it is cancelled."""
    while True:
        wait_s = _NOBODY_S
        if len(listeners):
            wait_s = busy_s
            try:
                seen = await watch.seen()
                listeners.status_changed(documents(seen))
                wait_s = _QUIET_S if is_quiet(seen) else busy_s
            except Exception as error:  # noqa: BLE001 - a look that fails is told in the log, and is not the last one
                logging.getLogger("uvicorn.error").warning("no look at the engine: %r", error)
        await asyncio.sleep(wait_s)


def is_quiet(seen: Seen) -> bool:
    """Whether it answers and nobody asks: then little changes."""
    values = seen.metrics.values if seen.metrics else {}
    return seen.answers and not values.get("running") and not values.get("waiting")


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
