"""An OpenAI endpoint: where it is, how long it is waited for, and a client that is set up for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport, AsyncClient

_LOCAL = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Patience:
    """Seconds. A first token may wait for a queue and a large picture; a silence in mid-answer may not."""

    connect_s: float = 5.0
    first_token_s: float = 300.0
    silence_s: float = 60.0
    total_s: float = 3600.0


@dataclass(frozen=True)
class Endpoint:
    """`base_url` ends before `/v1`."""

    base_url: str
    model: str = ""  # empty: the first that the endpoint names
    api_key: str = ""
    patience: Patience = Patience()

    def __repr__(self) -> str:
        """Without the key: this may end up in a log."""
        return f"Endpoint({self.base_url!r}, model={self.model!r})"

    def client(self, transport: AsyncBaseTransport | None = None) -> AsyncClient:
        """A client with the key and the time limits. Proxies of the environment are not used for this machine."""
        import httpx2

        timeout = httpx2.Timeout(self.patience.silence_s, connect=self.patience.connect_s, read=None)
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        local = (urlsplit(self.base_url).hostname or "") in _LOCAL
        secure = self.base_url.startswith("https:")  # reading the certificates takes 0.1 s; plain http needs none
        return httpx2.AsyncClient(
            base_url=self.base_url,
            headers=headers,
            timeout=timeout,
            trust_env=not local,
            transport=transport,
            verify=secure,
        )


def parse_base_url(text: str) -> str:
    """`http://host:8000`, with or without `/v1` and slashes, as `http://host:8000`. Raises SettingsError."""
    url = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or parts.query or parts.fragment or parts.username:
        raise SettingsError(tr("chat.bad_url", url=text), hint=tr("chat.bad_url_next"))
    path = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"
