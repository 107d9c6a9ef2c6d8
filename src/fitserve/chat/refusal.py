"""What an endpoint's refusal means: its status and its English line become a sentence and a next step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fitserve.chat.clean import strip_control
from fitserve.chat.said import NoAnswer, NoAnswerInTime, said

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint

_LINE_LIMIT = 400
_BY_LINE = (  # first match wins: vLLM's own lines, 0.17 to 0.33, and those of other servers that people point it at
    (r"max_(completion_)?tokens=\d+ cannot be greater than|max_tokens.{0,40} too large", "answer_too_long"),
    (r"maximum context length|longer than the maximum model length|max_model_len", "too_long"),
    (r"context_length_exceeded|available context size|longer than the model's context length", "too_long"),
    (r"[Aa]t most 0 image", "text_only"),
    (r"[Aa]t most \d+ \w+\(s\) may be provided", "too_many_pictures"),
    (r"is not a multimodal model|language[- ]model[- ]only|does not support (image|multimodal)", "text_only"),
    (r"image input is not supported|missing data required for image input", "text_only"),
    (r"exceed the maximum of \d+ pixels|exceeds limit of \d+ pixels|encoder cache size", "picture_pixels"),
    (r"must be from one of the allowed domains", "picture_address"),
    (r"Failed to load image|cannot identify image|Non-base64 digit|Failed to apply \w+Processor on", "picture_unread"),
    (r"The model `[^`]*` does not exist", "no_model"),
    (r"EngineCore encountered an issue|EngineDeadError|Engine (loop|core) is (dead|not running)", "engine_died"),
)
_BY_STATUS = {401: "key", 403: "key", 404: "no_api", 405: "no_api", 413: "too_large", 429: "busy", 502: "not_ready",
              503: "not_ready", 504: "not_ready"}  # fmt: skip


def from_status(status: int, text: str, endpoint: Endpoint) -> NoAnswer:
    """For an answer that is not 200."""
    line = error_line(text)
    kind = _by_line(line) or _BY_STATUS.get(status) or ("engine_failed" if status >= 500 else "refused")
    return _no_answer(kind, endpoint, f"HTTP {status}: {line}" if line else f"HTTP {status}")


def in_stream(error: object, endpoint: Endpoint) -> NoAnswer:
    """For an `error` in the middle of a stream."""
    line = error_line(json.dumps({"error": error}))
    return _no_answer(_by_line(line) or "engine_failed", endpoint, line)


def not_a_stream(endpoint: Endpoint, text: str) -> NoAnswer:
    """For a 200 that is not a chat stream."""
    return _no_answer("no_api", endpoint, _short(text))


def broken_off(endpoint: Endpoint, evidence: str = "") -> NoAnswer:
    """For a stream that ended without its finish."""
    return _no_answer("broken_off", endpoint, evidence)


def too_slow(kind: str, seconds: float) -> NoAnswerInTime:
    """`first`: no token came; `silence`: none followed; `total`: it went on for too long."""
    what = said(f"chat.slow_{kind}", seconds=round(seconds))
    return NoAnswerInTime(what, code=f"slow_{kind}", next_step=said("chat.slow_next"))


@contextmanager
def mapped(endpoint: Endpoint) -> Iterator[None]:
    """The HTTP library's errors as ours."""
    import httpx2

    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise _no_answer("unreachable", endpoint, _named(error)) from error
    except httpx2.TimeoutException as error:
        raise too_slow("silence", endpoint.patience.silence_s) from error
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError) as error:
        raise _no_answer("no_api", endpoint, _named(error)) from error
    except (httpx2.RequestError, httpx2.StreamError) as error:
        raise broken_off(endpoint, _named(error)) from error


def error_line(text: str) -> str:
    """The message in an OpenAI error body (`{"error": {"message": …}}`, or a bare string), else the text's start."""
    try:
        value = json.loads(text)
    except ValueError:
        return _short(text)
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return _short(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _by_line(line: str) -> str:
    return next((kind for pattern, kind in _BY_LINE if re.search(pattern, line)), "")


def _no_answer(kind: str, endpoint: Endpoint, evidence: str) -> NoAnswer:
    values = {"url": endpoint.base_url, "model": endpoint.model}
    what, step = said(f"chat.endpoint_{kind}", **values), said(f"chat.endpoint_{kind}_next", **values)
    return NoAnswer(what, code=f"endpoint_{kind}", evidence=evidence, next_step=step)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {_short(str(error))}" if str(error) else type(error).__name__


def _short(text: str) -> str:
    line = " ".join(strip_control(text[: 10 * _LINE_LIMIT]).split())
    return line if len(line) <= _LINE_LIMIT else line[:_LINE_LIMIT] + "…"
