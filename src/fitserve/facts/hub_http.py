"""HTTP to a hub: byte ranges, retries that resume, a deadline, and each failure as a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fitserve.clock import Clock, SystemClock
from fitserve.errors import FitserveError, NotFound, OperationFailed, SettingsError, TimedOut
from fitserve.text import tr

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 4
STALL_S = 15.0  # without a byte
ALLOWED_S = 60.0  # for everything that is small
SLOWEST_BYTES_S = 32 * 1024  # what a header is allowed to take on top
LONGEST_WAIT_S = 10.0  # between attempts, whatever Retry-After says


class TryAgainError(Exception):
    """A failure that another attempt may mend, after `wait_s`; `failure` is told when none does."""

    def __init__(self, failure: FitserveError, wait_s: float, attempts: int = ATTEMPTS) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.wait_s = wait_s
        self.attempts = attempts


@dataclass
class HubWeb:
    """One conversation with one hub. Safe to use from several threads; `close` ends what is under way."""

    base_url: str
    token: str = ""
    clock: Clock = field(default_factory=SystemClock)
    allowed_s: float = ALLOWED_S
    stall_s: float = STALL_S
    received_bytes: int = 0
    host: str = field(init=False, default="")  # for sentences: an address may carry a password

    def __post_init__(self) -> None:
        import httpx2

        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                tr("hub.bad_endpoint", url=self.base_url[:80]), hint="HF_ENDPOINT=https://huggingface.co"
            )
        self.base_url = self.base_url.rstrip("/")
        self.host = parts.hostname
        self._deadline = self.clock.monotonic() + self.allowed_s
        self._lock = threading.Lock()
        headers = {"User-Agent": "fitserve", "Accept-Encoding": "identity"}
        if self.token and (parts.scheme == "https" or parts.hostname in ("127.0.0.1", "localhost", "::1")):
            headers["Authorization"] = f"Bearer {self.token}"  # never over plain HTTP; httpx drops it on another host
        try:
            self._client = httpx2.Client(headers=headers, follow_redirects=True, timeout=self.stall_s)
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:  # proxies and certificates from outside
            raise SettingsError(tr("hub.bad_environment", host=self.host), evidence=_what(error)) from error

    def close(self) -> None:
        """End the connections; a thread that reads one fails at once."""
        self._client.close()

    def allow(self, size_bytes: int) -> None:
        """Put the deadline off by what this many bytes may take on the slowest line that is worth waiting for."""
        with self._lock:
            self._deadline += size_bytes / SLOWEST_BYTES_S

    def get(self, path: str, *, limit: int) -> bytes:
        """A whole small file, at most `limit` bytes."""
        return self._insist(path, 0, None, limit)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Exactly `length` bytes from `start`. What was received before a break is not asked for again."""
        return self._insist(path, start, length, length)

    def _insist(self, path: str, start: int, length: int | None, limit: int) -> bytes:
        got = bytearray()
        failure: FitserveError | None = None
        for attempt in range(ATTEMPTS):
            try:
                self._read(path, got, start, length, limit)
            except TryAgainError as problem:
                failure = problem.failure
                if attempt + 1 >= problem.attempts:
                    break
                if attempt + 1 < ATTEMPTS:
                    self._wait(min(problem.wait_s * 2**attempt, LONGEST_WAIT_S))
            else:
                return bytes(got)
        assert failure is not None
        raise failure

    @contextmanager
    def answer(self, path: str, span: str = "") -> Iterator[httpx2.Response]:
        """One attempt at a file, or at `span` ("100-199", "100-") of it, for whoever reads the body as it comes.

        Raises TryAgainError for what another attempt may mend, and FitserveError for what none will.
        """
        import httpx2

        headers = {"Range": f"bytes={span}"} if span else {}
        try:
            with self._client.stream("GET", self.base_url + path, headers=headers) as response:
                self._judge(response, path)
                yield response
        except httpx2.TimeoutException as error:
            raise TryAgainError(TimedOut(tr("hub.silent", host=self.host), evidence=_what(error)), 0.5) from error
        except httpx2.ConnectError as error:  # no such name, nobody listens: once more is enough
            raise TryAgainError(self._unreachable(error), 0.5, attempts=2) from error
        except httpx2.TransportError as error:
            raise TryAgainError(self._unreachable(error), 0.5) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, RuntimeError) as error:  # RuntimeError: closed by another thread
            raise self._unreachable(error) from error

    def cut_off(self, path: str) -> TryAgainError:
        """An answer that ended before its file did."""
        message = tr("hub.cut_off", host=self.host, path=path)
        return TryAgainError(OperationFailed(message, code="hub_unreachable"), 0.5)

    def _read(self, path: str, got: bytearray, start: int, length: int | None, limit: int) -> None:
        if length is None:
            got.clear()
        span = "" if length is None else f"{start + len(got)}-{start + length - 1}"
        with self.answer(path, span) as response:
            skip = 0 if response.status_code == 206 else start + len(got)
            self._collect(response, got, skip if length is not None else 0, limit, whole=length is None)
        if length is not None and len(got) < length:
            raise self.cut_off(path)

    def _collect(self, response: httpx2.Response, got: bytearray, skip: int, limit: int, *, whole: bool) -> None:
        for chunk in response.iter_raw():  # as it comes: a chunk size would wait until it is full
            with self._lock:
                self.received_bytes += len(chunk)
            self._hurry()
            got += chunk[min(skip, len(chunk)) :]
            skip = max(0, skip - len(chunk))
            if len(got) >= limit:
                break
        if whole and len(got) > limit:
            raise OperationFailed(tr("hub.too_large", host=self.host, limit=limit), code="hub_failed")
        del got[limit:]

    def _judge(self, response: httpx2.Response, path: str) -> None:
        """The status as a failure, where it is one."""
        status = response.status_code
        evidence = " ".join(filter(None, (f"HTTP {status}", response.headers.get("x-error-code", ""), path)))
        if status in (429, 500, 502, 503, 504):
            key, code = ("hub.busy", "hub_rate_limited") if status == 429 else ("hub.failed", "hub_failed")
            failure = OperationFailed(tr(key, host=self.host, status=status), code=code, evidence=evidence)
            raise TryAgainError(failure, _retry_after(response.headers.get("retry-after", "")))
        if status in (401, 403):
            denied = tr("hub.denied", host=self.host)
            raise OperationFailed(denied, code="hub_denied", evidence=evidence)
        if status == 404:
            raise NotFound(tr("hub.not_found", host=self.host), code="hub_not_found", evidence=evidence)
        if status not in (200, 206):
            failed = tr("hub.failed", host=self.host, status=status)
            raise OperationFailed(failed, code="hub_failed", evidence=evidence)
        if response.headers.get("content-type", "").startswith("text/html"):
            raise OperationFailed(tr("hub.html", host=self.host), code="hub_html", evidence=evidence)

    def _hurry(self) -> None:
        if self.clock.monotonic() > self._deadline:
            raise TimedOut(tr("hub.slow", host=self.host, seconds=int(self.allowed_s)), code="hub_slow")

    def _wait(self, seconds: float) -> None:
        if self.clock.monotonic() + seconds > self._deadline:
            raise TimedOut(tr("hub.slow", host=self.host, seconds=int(self.allowed_s)), code="hub_slow")
        self.clock.sleep(seconds)

    def _unreachable(self, error: Exception) -> FitserveError:
        message = tr("hub.unreachable", host=self.host)
        return OperationFailed(message, code="hub_unreachable", evidence=_what(error))


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _retry_after(value: str) -> float:
    return float(value) if value.isascii() and value.isdecimal() and len(value) < 6 else 1.0
