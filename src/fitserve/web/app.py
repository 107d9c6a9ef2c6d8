"""The page in one language: widgets of Gradio, wired to `talk`. Nothing is decided here."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.models import served_models
from fitserve.chat.said import Problem
from fitserve.text import tr
from fitserve.web.talk import Desk, Draft, Talk, cleared
from fitserve.web.view import header, messages, notice_line

FORMATS = [".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".heic"]
_LOOK_EVERY_S = 2.0
_LONGEST_TEXT = 100_000  # a longer paste becomes a file, which we could not read
LATEX: list[dict[str, str | bool]] = [
    {"left": "$$", "right": "$$", "display": True},
    {"left": "\\[", "right": "\\]", "display": True},
    {"left": "\\(", "right": "\\)", "display": False},
]


class Page:
    """One language's page. `is_demo`: say that the model is a toy."""

    def __init__(self, desk: Desk, language: str, is_demo: bool) -> None:
        self._desk = desk
        self._language = language
        self._is_demo = is_demo

    def blocks(self) -> gr.Blocks:
        """The widgets and what each event does."""
        blocks = gr.Blocks(title="fitserve", analytics_enabled=False, delete_cache=(3600, 86400))
        with blocks:
            talk = gr.State(Talk())
            top = gr.HTML(elem_id="top", padding=False)
            chat = self._chat()
            notice = gr.HTML(elem_id="notices", padding=False)
            box = self._box()
            with gr.Row(elem_id="buttons"):
                keep = gr.Checkbox(label=self._tr("keep"), elem_id="keep", container=False, min_width=320)
                back = gr.Button(self._tr("bring_back"), elem_id="back", size="sm", visible=False)
                clear = gr.Button(self._tr("clear"), elem_id="clear", size="sm")
            out = [talk, chat, notice, box, back]
            quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": None}
            box.submit(self._ask, [box, talk, keep], out, **quiet)
            back.click(self._bring_back, [talk], out, **quiet)
            box.stop(self._stop, queue=False, show_progress="hidden", api_visibility="private")
            for event in (clear.click, chat.clear):
                event(self._clear, None, out, queue=False, **quiet)
            looking = gr.Timer(_LOOK_EVERY_S)
            for event in (blocks.load, looking.tick):
                event(self._look, None, [top, looking], **quiet)
            blocks.unload(self._leave)
        return blocks

    def _chat(self) -> gr.Chatbot:
        return gr.Chatbot(
            label=self._tr("conversation"),
            show_label=False,
            elem_id="chat",
            height="calc(100dvh - 18rem)",
            min_height=240,
            buttons=["copy", "copy_all"],
            latex_delimiters=LATEX,
            sanitize_html=True,
            allow_tags=False,
            feedback_options=None,
            placeholder=self._invitation(),
            group_consecutive_messages=False,
        )

    def _invitation(self) -> str:
        """What stands in an empty conversation; of the demo model also the questions that it understands."""
        return "\n\n".join(self._tr(name) for name in ("placeholder", *(("demo_asks",) if self._is_demo else ())))

    def _box(self) -> gr.MultimodalTextbox:
        return gr.MultimodalTextbox(
            elem_id="box",
            label=self._tr("question"),
            show_label=False,
            placeholder=self._tr("type_here"),
            sources=["upload"],
            file_types=FORMATS,
            file_count="multiple",
            max_plain_text_length=_LONGEST_TEXT,
            autofocus=True,
            stop_btn=False,
        )

    async def _ask(
        self, typed: dict[str, Any] | None, talk: Talk, keep: bool, request: gr.Request
    ) -> AsyncGenerator[list[Any], None]:
        typed = typed or {}
        draft = Draft(typed.get("text") or "", tuple(Path(path) for path in typed.get("files") or ()))
        policy = OnNewPicture.KEEP if keep else OnNewPicture.START_OVER
        states = self._desk.ask(talk, draft, policy, _reader(request), self._language)
        async with aclosing(self._updates(states)) as updates:
            async for update in updates:
                yield update

    async def _bring_back(self, talk: Talk, request: gr.Request) -> AsyncGenerator[list[Any], None]:
        async with aclosing(self._updates(self._desk.bring_back(talk, _reader(request)))) as updates:
            async for update in updates:
                yield update

    async def _updates(self, states: AsyncGenerator[Talk, None]) -> AsyncGenerator[list[Any], None]:
        """A talk as updates of its widgets. The text box is touched only at the beginning and the end."""
        was_busy = False
        async with aclosing(states) as talks:
            async for talk in talks:
                box = gr.skip() if talk.busy and was_busy else self._box_update(talk)
                was_busy = talk.busy
                yield self._shown(talk, box)

    def _box_update(self, talk: Talk) -> Any:  # noqa: ANN401 - Gradio's updates have no type
        values: dict[str, Any] = {"submit_btn": not talk.busy, "stop_btn": talk.busy}
        if talk.busy:
            values["value"] = None
        elif talk.draft:
            values["value"] = {"text": talk.draft.text, "files": [str(path) for path in talk.draft.files]}
        return gr.MultimodalTextbox(**values)

    def _shown(self, talk: Talk, box: Any) -> list[Any]:  # noqa: ANN401 - as above
        line = notice_line(talk, self._language)
        return [talk, messages(talk, self._language), line, box, gr.Button(visible=talk.can_bring_back)]

    def _clear(self, request: gr.Request) -> list[Any]:
        self._desk.ongoing.drop(_reader(request))
        box = gr.MultimodalTextbox(value=None, submit_btn=True, stop_btn=False)
        return self._shown(cleared(), box)

    def _stop(self, request: gr.Request) -> None:
        self._desk.ongoing.stop(_reader(request))

    def _leave(self, request: gr.Request) -> None:
        self._desk.ongoing.drop(_reader(request))

    async def _look(self) -> list[Any]:
        """Who answers: asked when the page is opened, and again until somebody does."""
        endpoint, problem = self._desk.endpoint, None
        try:
            served = await served_models(endpoint)
            endpoint = replace(endpoint, model=endpoint.model or served[0].name)
        except Problem as caught:
            problem = caught.what
        is_demo = self._is_demo or endpoint.model == "demo"
        top = header(endpoint.model, endpoint.base_url, is_demo, self._language, problem)
        return [top, gr.Timer(active=problem is not None)]

    def _tr(self, name: str) -> str:
        return tr(f"web.{name}", self._language)


def _reader(request: gr.Request) -> str:
    return str(request.session_hash)
