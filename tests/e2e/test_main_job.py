"""The main job on the real engine, in this order: up, status, fresh pictures, chat, logs, closed doors, restart."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from e2e.asking import ask, fresh
from e2e.conftest import Fitserve
from fitserve.demo import sample

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def test_up_ends_with_a_right_answer(demo: dict[str, Any]) -> None:
    assert demo["state"] == "answering"
    assert demo["probe"]["outcome"] == "right"
    assert [stage["stage"] for stage in demo["stages"]][-1] == "answering"
    assert demo["page_url"].startswith("http://127.0.0.1:")


def test_the_planned_cache_is_the_measured_one(demo: dict[str, Any]) -> None:
    rows = {row["item"]: row for row in demo["ledger"]}
    for item in ("kv_blocks", "kv_tokens"):
        assert rows[item]["planned"] == rows[item]["measured"], item
    assert rows["concurrency"]["planned"] == pytest.approx(rows["concurrency"]["measured"], abs=0.01)


def test_status_names_it(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    (one,) = fitserve.json("status")["deployments"]
    assert (one["name"], one["state"], one["url"]) == ("demo", "answering", demo["url"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fresh_pictures_are_answered_rightly(demo: dict[str, Any], language: Any) -> None:
    with httpx2.Client(timeout=60) as client:
        right = sum(one.is_right(ask(client, demo["url"], "demo", one).text) for one in fresh(40, language, 7_100_000))
    assert right >= 36


def test_a_picture_on_the_terminal(fitserve: Fitserve, demo: dict[str, Any], tmp_path: Path) -> None:
    one = sample(7_200_001)
    file = tmp_path / f"picture.{one.image_format.lower()}"
    file.write_bytes(one.image_bytes)
    said = fitserve("chat", "demo", "--image", str(file), one.question.text).stdout
    assert one.is_right(said), said


def test_the_log_is_the_engines_own(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    said = fitserve("logs", "demo", "-n", "2000").stdout
    assert "CPUWNA16LinearKernel" in said
    assert "Maximum concurrency for" in said


def test_it_is_verified_line_by_line(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    told = fitserve.json("verify", "demo")
    assert {line["name"]: line["detail"] for line in told["checks"] if line["state"] != "ok"} == {}
    assert [line["name"] for line in told["checks"]][-1] == "demo_set"
    assert told["url"] == demo["url"]


def test_the_checklist_knows_that_it_runs(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    lines = {line["name"]: line for line in fitserve.json("check", "demo", "--quick")["checks"]}
    assert lines["port_api"]["detail"].startswith(f"{urlsplit(demo['url']).port} is this deployment's own")
    assert {line["state"] for line in lines.values()} <= {"ok", "unknown"}


def test_the_doctor_asks_ever_larger_pictures_and_finds_nothing(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    told = fitserve.json("doctor", "demo", "--probe")
    checks = {check["name"]: check for check in told["checks"]}
    assert told["findings"] == []
    assert {name for name, check in checks.items() if check["state"] in ("warn", "fail")} == set()
    asked = [name for name in checks if name.startswith("probe_")]
    assert asked[:4] == ["probe_text", "probe_64", "probe_448", "probe_1024"]
    assert "tokens" in checks[asked[-1]]["detail"]


def test_a_second_up_joins(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    again = fitserve.json("up", "demo", timeout_s=20)
    assert again["already_running"] is True
    assert again["url"] == demo["url"]


def test_it_was_started_closed(demo: dict[str, Any]) -> None:
    address = urlsplit(demo["url"])
    assert address.hostname == "127.0.0.1"
    fresh_each_time = httpx2.Limits(max_keepalive_connections=0)  # the server hangs up after an error of its own
    with httpx2.Client(base_url=demo["url"], timeout=20, limits=fresh_each_time) as client:
        for address in (f"{demo['url']}/health", "file:///etc/hostname"):
            content = [{"type": "image_url", "image_url": {"url": address}}]
            body = {"model": "demo", "messages": [{"role": "user", "content": content}]}
            reply = client.post("/v1/chat/completions", json=body)
            assert reply.status_code in (400, 500), address  # vLLM refuses a file with an error of its own
            assert "choices" not in reply.json()
        for path in ("/sleep", "/collective_rpc", "/v1/load_lora_adapter"):
            assert client.post(path).status_code == 404, path
        assert (
            "access-control-allow-origin"
            not in client.get("/v1/models", headers={"Origin": "http://evil.test"}).headers
        )


def test_another_deployment_beside_it_takes_the_next_port(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    text = fitserve("up", "demo", "--name", "second", "--no-page", timeout_s=600)
    port = urlsplit(demo["url"]).port
    assert f"port {port} " in text.stderr
    names = {one["name"]: one for one in fitserve.json("status")["deployments"]}
    assert names["second"]["state"] == names["demo"]["state"] == "answering"
    assert names["second"]["url"] != demo["url"]
    fitserve("down", "second")
    assert {one["name"]: one["state"] for one in fitserve.json("status")["deployments"]}["demo"] == "answering"


def test_restart_answers_again(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    fitserve("restart", "demo", timeout_s=600)
    (one,) = [one for one in fitserve.json("status")["deployments"] if one["name"] == "demo"]
    assert one["state"] == "answering"


def test_ports_are_the_ones_that_were_said(demo: dict[str, Any]) -> None:
    for url in (demo["url"], demo["page_url"]):
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=5):
            pass
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", demo["url"])
