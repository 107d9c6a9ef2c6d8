"""A real question about a real picture, put to the running engine: the only proof that it answers."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass

from fitserve.observe.http import Reply, request
from fitserve.observe.metrics import totals
from fitserve.observe.picture import square
from fitserve.run.deployment import Deployment
from fitserve.run.edges import Outcome, Probe
from fitserve.run.stall import Progress

_TOKENS, _BRIEF_TOKENS = 256, 64
_NO_PICTURES = (
    "multimodal",
    "multi-modal",
    "at most 0 image",
    "image input is not supported",
    "does not support image",
)
_COUNTERS = (
    "num_requests_running", "prompt_tokens_total", "generation_tokens_total", "request_prefill_time_seconds_sum",
)  # fmt: skip
_TEXT_QUESTION = "Say hello in one word."


@dataclass(frozen=True)
class Question:
    """A picture, a question, and who can judge the answer (None: nobody can)."""

    image: bytes
    mime_type: str
    text: str
    is_right: Callable[[str], bool] | None = None


def square_question(attempt: int) -> Question:
    """For a model whose world is not known: it has to say something, and nobody judges it."""
    text = "What colour is the square in this picture? Answer in one word."
    return Question(square(attempt).png, "image/png", text)


class ImageProber:
    """Asks over HTTP, as any client would."""

    def __init__(self, questions: Callable[[int], Question] = square_question) -> None:
        self._questions = questions

    def healthy(self, deployment: Deployment, timeout_s: float) -> bool:
        """Whether the door opens (`/health`)."""
        return request(deployment, "/health", timeout_s).status == 200

    def progress(self, deployment: Deployment, timeout_s: float) -> Progress | None:
        """The engine's own counters; None where it does not tell them."""
        return progress_of(request(deployment, "/metrics", timeout_s).text)

    def ask(self, deployment: Deployment, attempt: int, *, brief: bool = False) -> Probe:
        """One question; a model that takes no pictures is asked in text, and the outcome says so.

        A `brief` one is for an engine that has answered before: fewer tokens, less patience.
        """
        question = self._questions(attempt)
        started = time.monotonic()
        reply = _post(deployment, _with_image(question), brief)
        if reply.status == 400 and refuses_pictures(reply):
            return self._ask_in_text(deployment, brief)
        seconds = time.monotonic() - started
        return judged(question.text, reply, seconds, question.is_right)

    def _ask_in_text(self, deployment: Deployment, brief: bool) -> Probe:
        started = time.monotonic()
        reply = _post(deployment, _TEXT_QUESTION, brief)
        probe = judged(_TEXT_QUESTION, reply, time.monotonic() - started, None)
        if probe.outcome is Outcome.ANSWERED:
            return Probe(Outcome.TEXT_ONLY, probe.question, probe.answer, probe.seconds)
        return probe


def progress_of(metrics: str) -> Progress | None:
    """Requests in work and tokens so far, over all engines of a server."""
    sums = totals(metrics)
    if not any(name in sums for name in _COUNTERS):
        return None
    running, prompt, written, prefill_s = (sums.get(name, 0.0) for name in _COUNTERS)
    return Progress(int(running), prompt + written, prompt, prefill_s)


def _with_image(question: Question) -> list[dict[str, object]]:
    data = base64.b64encode(question.image).decode()
    picture: dict[str, object] = {"type": "image_url", "image_url": {"url": f"data:{question.mime_type};base64,{data}"}}
    return [picture, {"type": "text", "text": question.text}]


def _post(deployment: Deployment, content: object, brief: bool) -> Reply:
    body: dict[str, object] = {
        "model": deployment.served_model_name,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": _BRIEF_TOKENS if brief else _TOKENS,
        "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": False},  # a template that knows no such switch ignores it
    }
    policy = deployment.policy
    timeout_s = policy.idle_timeout_s if brief else policy.probe_timeout_s
    reply = request(deployment, "/v1/chat/completions", timeout_s, body)
    if reply.status == 400 and "chat_template_kwargs" in reply.text:
        del body["chat_template_kwargs"]
        reply = request(deployment, "/v1/chat/completions", timeout_s, body)
    return reply


def judged(question: str, reply: Reply, seconds: float, is_right: Callable[[str], bool] | None) -> Probe:
    """What came of a question: an answer has to have content and an end before anybody may judge it."""
    answer, finish = _answer(reply)
    if reply.status != 200 or not answer or finish not in {"stop", "length"}:
        detail = _complaint(reply) if reply.status != 200 else f"empty answer, finish_reason={finish or 'none'}"
        return Probe(Outcome.FAILED, question, answer, seconds, detail)
    if is_right is None:
        return Probe(Outcome.ANSWERED, question, answer, seconds)
    return Probe(Outcome.RIGHT if is_right(answer) else Outcome.WRONG, question, answer, seconds)


def _answer(reply: Reply) -> tuple[str, str]:
    """The text (a thinking model's thoughts where it got no further) and why it ended."""
    choices = reply.table().get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    text = next((message[key] for key in ("content", "reasoning_content", "reasoning") if message.get(key)), "")
    return str(text).strip(), str(choice.get("finish_reason") or "")


def refuses_pictures(reply: Reply) -> bool:
    """Whether the engine says that this model, or this deployment, takes no pictures."""
    words = reply.text.lower()
    return any(phrase in words for phrase in _NO_PICTURES)


def _complaint(reply: Reply) -> str:
    """The engine's own words about a request that failed."""
    error = reply.table().get("error")
    message = error.get("message") if isinstance(error, dict) else None
    said = str(message or reply.text).strip().splitlines()
    return (f"HTTP {reply.status}: " if reply.status else "") + (said[0][:400] if said else "")
