"""The owner's tab as a browser meets it: who may look, who may act, what is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.web.owner_case import deployment, failed, plan

from fitserve.chat.endpoint import Endpoint
from fitserve.clock import SystemClock
from fitserve.measure.results import new_results
from fitserve.run.deployment import engine_log
from fitserve.run.live import live_paths, write_live
from fitserve.run.registry import save
from fitserve.web.owner_key import owner_key
from fitserve.web.server import Backend, Place, build

OWN = "http://127.0.0.1:7860"
LOG = (
    "INFO 05-01 12:00:00 [core.py:1] Initializing a V1 LLM engine (v0.33.0) with config: model='/m'\n"
    "ERROR 05-01 12:00:01 [core.py:2] <b>CUDA</b> out of memory \x1b[31mnow\x1b[0m\n"
)
TOO_LONG = (  # vllm/v1/core/kv_cache_utils.py
    "ValueError: To serve at least one request with the models's max seq len (8192), (1.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (0.50 GiB). Based on the available memory, the estimated "
    "maximum model length is 4096. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
    "initializing the engine."
)
Ask = Callable[..., httpx2.Response]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def shop() -> str:
    """A deployment that failed, with its log."""
    save(deployment())
    view = failed()
    assert view.live
    write_live(replace(view.live, serial=1), live_paths("shop"))
    log = engine_log("shop")
    log.parent.mkdir(parents=True)
    log.write_text(LOG)
    return "shop"


def asking(place: Place | None = None) -> Ask:
    """One page for several requests: `ask("GET", "/api/owner", key="…")`."""
    app = build(Backend(Endpoint("http://127.0.0.1:9", "qwen")), place or Place())

    def ask(method: str, path: str, key: str = "", body: object = None, **headers: str) -> httpx2.Response:
        async def once() -> httpx2.Response:
            transport = httpx2.ASGITransport(app)  # type: ignore[arg-type]  # our own types of the same shape
            async with httpx2.AsyncClient(transport=transport, base_url=OWN) as client:
                authorization = {"authorization": f"Bearer {key}"} if key else {}
                sent = {name.replace("_", "-"): value for name, value in headers.items()}
                reply = await client.request(method, path, json=body, headers=authorization | sent)
                await settled(reply)
                return reply

        async def settled(reply: httpx2.Response) -> None:
            """A job's thread has ended before the loop does."""
            while reply.status_code == 202 and len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

        return asyncio.run(once())

    return ask


@pytest.fixture
def ask() -> Ask:
    return asking()


def told(reply: httpx2.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_anybody_on_this_machine_may_look(ask: Ask, shop: str) -> None:
    owner = told(ask("GET", "/api/owner"))
    assert owner["may_act"] is False
    assert [(row["name"], row["state"], row["state_text"]) for row in owner["deployments"]] == [
        ("shop", "failed", "failed")
    ]
    one = told(ask("GET", "/api/owner/deployments/shop", accept_language="zh"))
    assert (one["state_text"], one["mode_text"], one["job"]) == ("失败", "已编译，CUDA 图", None)
    assert one["settings"]["--tensor-parallel-size"] == 2
    ledger = {row["item"]: row for row in one["ledger"]}
    assert ledger["weights"]["measured_bytes"] == ledger["weights"]["planned_bytes"] == 11 * 2**30
    assert {row["item"]: row["measured"] for row in one["compared"]}["kv_pool"] == 7 * 2**30


def test_logs(ask: Ask, shop: str) -> None:
    part = told(ask("GET", "/api/owner/deployments/shop/logs"))
    assert len(part["lines"]) == 2
    trouble = told(ask("GET", "/api/owner/deployments/shop/logs?trouble=1&word=cuda&lines=1"))
    assert trouble["lines"] == [
        {"level": "ERROR", "text": "ERROR 05-01 12:00:01 [core.py:2] <b>CUDA</b> out of memory now"}
    ]
    assert told(ask("GET", f"/api/owner/deployments/shop/logs?place={part['place']}"))["lines"] == []
    assert told(ask("GET", "/api/owner/deployments/shop/logs?of=runner&lines=many"))["lines"] == []


@pytest.mark.parametrize("of", ["../deployment", "..%2Fdeployment", "/etc/passwd", "engine.log.1%00"])
def test_no_log_is_named_by_a_path(ask: Ask, shop: str, of: str) -> None:
    lines = told(ask("GET", f"/api/owner/deployments/shop/logs?of={of}"))["lines"]
    assert [line["level"] for line in lines] == ["INFO", "ERROR"]  # the engine's own log


@pytest.mark.parametrize(
    "path",
    [
        "/api/owner/deployments/..",
        "/api/owner/deployments/../../owner.key",
        "/api/owner/deployments/SHOP",
        "/api/owner/deployments/shop/bench/../../owner.key/throughput.svg",
        "/api/owner/deployments/shop/bench/../owner.key.svg",
        "/static/../owner.key",
        "/static/../server.py",
        "/static/vendor/../../server.py",
        "/static//etc/passwd",
        "/static/..\\server.py",
        "/api/pictures/../../owner.key",
        "/api/chats/../../owner.key",
        "/../../../etc/passwd",
        "//etc/passwd",
    ],
)
def test_no_path_leads_out(shop: str, path: str) -> None:
    """Sent as it stands: a browser would straighten it first."""
    status, body = raw("GET", path)
    assert status in (403, 404, 405)
    assert owner_key() not in body
    assert "import" not in body
    assert "root:" not in body


def raw(method: str, path: str) -> tuple[int, str]:
    """A request whose path nobody has straightened."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
    }
    scope |= {"headers": [(b"host", b"127.0.0.1:7860")], "client": ("127.0.0.1", 40000), "http_version": "1.1"}
    scope |= {"scheme": "http", "server": ("127.0.0.1", 7860)}
    asyncio.run(build(Backend(Endpoint("http://127.0.0.1:9", "qwen")), Place())(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_a_deployment_that_is_not_there(ask: Ask) -> None:
    reply = ask("GET", "/api/owner/deployments/<script>", accept_language="en")
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["next"]) == (404, "not_found", "fitserve status")
    assert reply.headers["content-type"] == "application/json"


def test_a_broken_file_is_told(ask: Ask, shop: str) -> None:
    (engine_log("shop").parents[1] / "deployment.json").write_text("{")
    rows = told(ask("GET", "/api/owner"))["deployments"]
    assert (rows[0]["state"], rows[0]["reason"]) == ("failed", "broken_file")
    assert ask("GET", "/api/owner/deployments/shop").status_code == 404


@pytest.mark.parametrize("verb", ["restart", "apply", "preview"])
def test_to_act_needs_the_key(ask: Ask, shop: str, verb: str) -> None:
    reply = ask("POST", f"/api/owner/deployments/shop/{verb}", body={"number": 0, "change": ""})
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "owner_key")
    assert reply.json()["error"]["next"] == "fitserve page --owner-key"
    assert ask("POST", f"/api/owner/deployments/shop/{verb}", key="wrong").status_code == 401
    assert ask("GET", f"/api/owner/deployments/shop/{verb}", key=owner_key()).status_code == 405


def test_the_key_opens(ask: Ask, shop: str) -> None:
    assert ask("POST", "/api/owner/key", key=owner_key()).status_code == 204
    assert told(ask("GET", "/api/owner", key=owner_key()))["may_act"] is True
    assert ask("POST", "/api/owner/key", authorization=f"Basic {owner_key()}").status_code == 401
    assert ask("POST", "/api/owner/key", cookie=f"owner={owner_key()}").status_code == 401


def test_who_guesses_has_to_wait(ask: Ask) -> None:
    assert [ask("POST", "/api/owner/key", key=f"guess-{number}").status_code for number in range(6)] == [401] * 5 + [
        429
    ]
    assert ask("POST", "/api/owner/key", key=owner_key()).status_code == 429


def test_another_page_can_do_nothing_even_with_the_key(ask: Ask, shop: str) -> None:
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9000"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"},
        {"host": "evil.example"},
    ):
        assert ask("POST", "/api/owner/deployments/shop/restart", key=owner_key(), **headers).status_code == 403
    preflight = ask("OPTIONS", "/api/owner/key", origin="http://evil.example", access_control_request_method="POST")
    assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_a_page_that_others_reach_shows_nothing_without_the_key(shop: str) -> None:
    ask = asking(Place(host="0.0.0.0"))
    for path in (
        "",
        "/deployments/shop",
        "/deployments/shop/logs",
        "/deployments/shop/bench",
        "/deployments/shop/diagnosis",
    ):
        assert ask("GET", f"/api/owner{path}").status_code == 401
        assert ask("GET", f"/api/owner{path}", key=owner_key()).status_code == 200


def test_the_diagnosis_and_its_fix(ask: Ask, shop: str) -> None:
    engine_log("shop").write_text(f"{LOG.splitlines()[0]}\n(EngineCore pid=1) {TOO_LONG}\n")
    diagnosis = told(ask("GET", "/api/owner/deployments/shop/diagnosis", accept_language="zh"))
    finding = diagnosis["finding"]
    assert (finding["cause"], finding["severity_text"]) == ("kv_below_max_len", "致命")
    assert finding["evidence"][0]["line"] == 2
    fix = next(fix for fix in finding["fixes"] if fix["change"] == "--max-model-len 4096")
    moved = {"number": fix["number"] + 1, "change": fix["change"]}
    reply = ask("POST", "/api/owner/deployments/shop/apply", key=owner_key(), body=moved)
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "fix_changed")
    reply = ask("POST", "/api/owner/deployments/shop/preview", key=owner_key(), body={"number": "0"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "wrong_field")
    asked = {"number": fix["number"], "change": fix["change"]}
    reply = ask("POST", "/api/owner/deployments/shop/preview", key=owner_key(), body=asked)
    assert reply.status_code in (404, 502)  # there is no model at /m: the plan says so, and nothing was touched
    assert reply.json()["error"]["message"]


def test_measurements(ask: Ask, shop: str) -> None:
    with kept("shop") as path:
        rows = told(ask("GET", "/api/owner/deployments/shop/bench"))["measured"]
        assert [(row["file"], row["kind"]) for row in rows] == [(path.name, "bench")]
        name = rows[0]["charts"][0]["name"]
        reply = ask("GET", f"/api/owner/deployments/shop/bench/{path.name}/{name}.svg")
        assert (reply.status_code, reply.headers["content-type"]) == (200, "image/svg+xml")
        assert "<svg" in reply.text
        assert ask("GET", f"/api/owner/deployments/shop/bench/{path.name}/none.svg").status_code == 404


@contextmanager
def kept(name: str) -> Iterator[Path]:
    """A measurement file: only its head, with the ledger of the deployment."""
    record = new_results("bench", name, SystemClock())
    table = {"name": name, "plan": plan(), "measured": {"weights_bytes": 11 * 2**30}, "stages": []}
    record.write("bench", target={"name": name, "url": "http://127.0.0.1:8000"}, host={}, deployment=table)
    record.close()
    yield record.path
