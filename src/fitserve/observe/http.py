"""One request to the engine, with the standard library: the runner stays small for months."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from fitserve.run.deployment import Deployment

_LONGEST = 4 * 1024 * 1024  # bytes of a reply that are read


@dataclass(frozen=True)
class Reply:
    """Status and body of an answer. Status 0: there was none, and `text` says why."""

    status: int
    text: str

    def table(self) -> dict[str, object]:
        """The body as a JSON object; empty where it is none."""
        try:
            found = json.loads(self.text)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def request(deployment: Deployment, path: str, timeout_s: float, body: object = None) -> Reply:
    """GET, or POST with a JSON body. Never raises for the network's sake."""
    address = urlsplit(deployment.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if key := deployment.env.get("VLLM_API_KEY", ""):
        headers["Authorization"] = f"Bearer {key}"
    try:
        content = None if body is None else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", path, content, headers)
        response = connection.getresponse()
        return Reply(response.status, response.read(_LONGEST).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        return Reply(0, f"{type(error).__name__}: {error}".rstrip(": "))
    finally:
        connection.close()
