"""The page's commands: each request becomes one call of a reader's desk and one JSON document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.export import as_document, as_markdown, as_zip, file_stem
from fitserve.chat.images import prepared
from fitserve.chat.said import ChatMissing, said
from fitserve.errors import FitserveError
from fitserve.text import LANGUAGES, tr
from fitserve.web.intake import (
    PICTURE_LIMIT,
    Fields,
    body_of,
    fields_of,
    language_of,
    names_in,
    number_in,
    reader_of_request,
    text_in,
)  # fmt: skip
from fitserve.web.open_chat import OpenChat
from fitserve.web.refused import Invalid, status_of, told
from fitserve.web.view import chat_document, entry_document, meter_document, picture_document

if TYPE_CHECKING:
    from starlette.requests import Request

    from fitserve.web.readers import ReaderDesk, Readers

Handler = Callable[["Request"], Awaitable[Response]]
_CACHED = {"cache-control": "private, max-age=31536000, immutable"}  # a digest always names the same bytes


class Commands:
    """The handlers, one a route."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def routes(self) -> list[Route]:
        """Under `/api`."""
        one = "/api/chats/{id}"
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/api/chats", self.chats),
            ("POST", "/api/chats", self.create),
            ("DELETE", "/api/chats", self.delete_all),
            ("GET", one, self.chat),
            ("PATCH", one, self.rename),
            ("DELETE", one, self.delete),
            ("POST", f"{one}/messages", self.ask),
            ("POST", f"{one}/again", self.again),
            ("POST", f"{one}/edit", self.edit),
            ("POST", f"{one}/undo", self.undo),
            ("POST", f"{one}/stop", self.stop),
            ("POST", f"{one}/since", self.since),
            ("POST", f"{one}/meter", self.meter),
            ("GET", f"{one}/pictures/{{digest}}", self.sent_picture),
            ("GET", f"{one}/export", self.export),
            ("POST", "/api/pictures", self.prepare),
            ("GET", "/api/pictures/{digest}", self.prepared_picture),
            ("GET", "/api/settings", self.settings),
            ("PUT", "/api/settings", self.choose),
        ]
        return [Route(path, answered(handler), methods=[method]) for method, path, handler in table]

    async def chats(self, request: Request) -> Response:
        """All of the reader's, the latest first."""
        desk = self._desk(request)
        entries = [entry_document(chat, desk.is_answering(chat.id)) for chat in await asyncio.to_thread(desk.chats)]
        return JSONResponse({"keeps": desk.settings.history, "chats": entries})

    async def create(self, request: Request) -> Response:
        """A new one."""
        return _shown(self._desk(request).create(), request, 201)

    async def chat(self, request: Request) -> Response:
        """One, whole."""
        return _shown(await self._chat(request), request)

    async def rename(self, request: Request) -> Response:
        """The reader's own title."""
        chat = await self._chat(request)
        await chat.rename(text_in(await fields_of(request), "title").strip()[:200])
        return _shown(chat, request)

    async def delete(self, request: Request) -> Response:
        """One, with its pictures."""
        await self._desk(request).delete(request.path_params["id"])
        return Response(status_code=204)

    async def delete_all(self, request: Request) -> Response:
        """Everything that the reader has."""
        desk = self._desk(request)
        for chat in desk.chats():
            with suppress(ChatMissing):  # deleted in another tab meanwhile
                await desk.delete(chat.id)
        return Response(status_code=204)

    async def ask(self, request: Request) -> Response:
        """The next question."""
        desk, chat, fields = self._desk(request), await self._chat(request), await fields_of(request)
        pictures = desk.pictures(names_in(fields, "pictures"), chat)
        text = text_in(fields, "text").strip()
        if not text and not pictures:
            raise Invalid(said("page.nothing_asked"), code="nothing_asked")
        await chat.ask(_tab(request), text or tr("chat.describe", language_of(request)), pictures, _policy(fields))
        return self._asked(chat, request)

    async def again(self, request: Request) -> Response:
        """The last question once more."""
        chat, fields = await self._chat(request), await fields_of(request)
        await chat.again(_tab(request), fields.get("with_earlier") is True)
        return self._asked(chat, request)

    async def edit(self, request: Request) -> Response:
        """An earlier question, changed."""
        desk, chat, fields = self._desk(request), await self._chat(request), await fields_of(request)
        pictures = desk.pictures(names_in(fields, "pictures"), chat) if "pictures" in fields else None
        await chat.edit(_tab(request), number_in(fields, "turn"), text_in(fields, "text").strip(), pictures)
        return self._asked(chat, request)

    async def undo(self, request: Request) -> Response:
        """The replaced answer again."""
        chat = await self._chat(request)
        await chat.undo()
        return _shown(chat, request)

    async def stop(self, request: Request) -> Response:
        """The answer under way ends."""
        chat = await self._chat(request)
        await chat.stop()
        return _shown(chat, request)

    async def since(self, request: Request) -> Response:
        """Where the context begins."""
        chat = await self._chat(request)
        await chat.start_at(number_in(await fields_of(request), "turn"))
        return _shown(chat, request)

    async def meter(self, request: Request) -> Response:
        """What would fill the window with this draft."""
        desk, chat, fields = self._desk(request), await self._chat(request), await fields_of(request)
        pictures = desk.pictures(names_in(fields, "pictures"), chat)
        found = await chat.desk.meter(chat.chat.id, text_in(fields, "text"), pictures, _policy(fields))
        return JSONResponse(meter_document(found))

    async def sent_picture(self, request: Request) -> Response:
        """Its bytes, as they were sent."""
        chat, digest = await self._chat(request), request.path_params["digest"]
        for picture in (one for turn in chat.turns for one in turn.pictures if one.digest == digest):
            return Response(picture.data, media_type=picture.media_type, headers=_CACHED)
        raise ChatMissing(said("page.no_such_picture"), code="no_such_picture")

    async def export(self, request: Request) -> Response:
        """The chat as a file to keep."""
        chat = (await self._chat(request)).chat
        language = request.query_params.get("language") or language_of(request)
        if language not in LANGUAGES:
            raise Invalid(said("page.wrong_field", name="language"), code="wrong_field", evidence=language)
        wanted, stem = request.query_params.get("as", "zip"), file_stem(chat)
        if wanted not in ("zip", "markdown", "json"):
            raise Invalid(said("page.wrong_field", name="as"), code="wrong_field", evidence=wanted[:200])
        if wanted == "markdown":
            return _download(as_markdown(chat, language).encode(), "text/markdown; charset=utf-8", f"{stem}.md")
        if wanted == "json":
            return JSONResponse(as_document(chat), headers=_named(f"{stem}.json"))
        return _download(await asyncio.to_thread(as_zip, chat, language), "application/zip", f"{stem}.zip")

    async def prepare(self, request: Request) -> Response:
        """A picture file, made ready: its size, its cost, what was changed."""
        desk, name = self._desk(request), request.query_params.get("name", "picture")[:200]
        data = await body_of(request, PICTURE_LIMIT)
        limits = await desk.limits()
        if request.query_params.get("whole") == "1":
            limits = limits.whole()
        picture = await prepared(data, name, limits)
        desk.keep(picture)
        return JSONResponse(picture_document(picture, "api/pictures", language_of(request)), 201)

    async def prepared_picture(self, request: Request) -> Response:
        """A picture that is not sent yet."""
        (picture,) = self._desk(request).pictures([request.path_params["digest"]])
        return Response(picture.data, media_type=picture.media_type, headers=_CACHED)

    async def settings(self, request: Request) -> Response:
        """What the reader has chosen."""
        return JSONResponse(self._desk(request).settings.document())

    async def choose(self, request: Request) -> Response:
        """Change it."""
        desk = self._desk(request)
        desk.choose(desk.settings.changed(await fields_of(request)))
        self._readers.tabs.list_changed(reader_of_request(request).id)
        return JSONResponse(desk.settings.document())

    def _asked(self, chat: OpenChat, request: Request) -> Response:
        self._readers.asked(reader_of_request(request).id, chat)
        return _shown(chat, request, 202)

    def _desk(self, request: Request) -> ReaderDesk:
        reader = reader_of_request(request)
        if reader.is_new:
            raise Invalid(said("page.no_reader"), code="no_reader", next_step=said("page.no_reader_next"))
        return self._readers[reader.id]

    async def _chat(self, request: Request) -> OpenChat:
        return await self._desk(request).chat(request.path_params["id"])


def answered(handler: Handler) -> Handler:
    """The handler, with failures told in the reader's language."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except FitserveError as error:
            return JSONResponse({"error": told(error, language_of(request))}, status_of(error))

    return handle


def _shown(chat: OpenChat, request: Request, status: int = 200) -> Response:
    return JSONResponse(chat_document(chat, language_of(request)), status)


def _policy(fields: Fields) -> OnNewPicture:
    return OnNewPicture.KEEP if fields.get("new_picture") == OnNewPicture.KEEP else OnNewPicture.START_OVER


def _tab(request: Request) -> str:
    return request.headers.get("x-tab", "")


def _download(data: bytes, media_type: str, name: str) -> Response:
    return Response(data, media_type=media_type, headers=_named(name))


def _named(name: str) -> dict[str, str]:
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
