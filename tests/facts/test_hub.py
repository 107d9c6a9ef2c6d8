"""Models on a hub, read from a look-alike on loopback."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkpoints import TINY, entries_of, header_bytes
from hub_twin import Blob, Twin, running

from fitserve.clock import SystemClock
from fitserve.errors import FitserveError
from fitserve.facts.headers_range import fetch_headers
from fitserve.facts.hub import read_hub
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef, parse_ref
from fitserve.facts.hub_site import list_files
from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read import read_model, survey_model
from fitserve.facts.read_config import describe

REF = HubRef(Hub.HUGGING_FACE, "org/name")


class Hurried(SystemClock):
    """Real time, except that nobody waits between attempts."""

    def sleep(self, seconds: float) -> None:
        pass


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, no token and no cache of this machine."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "MODELSCOPE", "TRANSFORMERS_"))]:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "HF_HOME", "MODELSCOPE_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))


def published() -> dict[str, Blob]:
    """A small model in two shards of many gigabytes, with an index that nobody should ask for."""
    model = with_inferred_tensors(describe(TINY, (), read_quantization(TINY), name="x", source="x"))
    entries = list(entries_of(model.tensors).items())
    files = {"config.json": Blob(json.dumps(TINY).encode()), "README.md": Blob(b"# hello")}
    for number, part in enumerate((entries[:40], entries[40:]), 1):
        head = header_bytes(dict(part))
        data = sum(t.size_bytes for t in model.tensors if t.name in dict(part))
        files[f"model-{number:05}-of-00002.safetensors"] = Blob(head, len(head) + data)
    files["preprocessor_config.json"] = Blob(b'{"size": {"shortest_edge": 1024, "longest_edge": 65536}}')
    files["model.safetensors.index.json"] = Blob(b"x" * 10**6)
    return files


@pytest.fixture
def twin() -> Iterator[Twin]:
    with running(Twin(files=published())) as hub:
        yield hub


def web(twin: Twin, **settings: float) -> HubWeb:
    return HubWeb(twin.url, twin.token, clock=Hurried(), **settings)


def test_reads_config_limits_and_headers_only(twin: Twin) -> None:
    told: list[tuple[int, int]] = []
    facts = read_hub(REF, lambda done, total: told.append((done, total)), web(twin))
    assert len(facts.tensors) == 104 and facts.problems == () and facts.serving_problem == ""
    assert facts.vision is not None and facts.vision.max_pixels == 65536
    assert told[-1][0] == told[-1][1] > 0
    assert not any("index.json" in line for line in twin.asked)


def settled(twin: Twin) -> int:
    """Bytes sent, once the count stands still: the twin counts after it sent, and the reader may be quicker."""
    count = -1
    while count != (count := twin.sent_bytes):
        time.sleep(0.1)
    return count


def test_headers_cost_no_more_than_themselves(twin: Twin) -> None:
    connection = web(twin)
    shards = [file for file in list_files(connection, REF) if file.path.endswith(".safetensors")]
    before = settled(twin)
    headers = fetch_headers(connection, REF, shards)
    connection.close()
    assert settled(twin) - before == sum(header.header_bytes for header in headers)


def test_second_run_asks_for_no_header(twin: Twin) -> None:
    first = read_hub(REF, web=web(twin))
    twin.asked.clear()
    assert read_hub(REF, web=web(twin)).tensors == first.tensors
    assert not any(".safetensors" in line for line in twin.asked)


@pytest.mark.parametrize("mood", ["half", "503", "429"])
def test_goes_on_after_a_break(twin: Twin, mood: str) -> None:
    twin.moods = ["", "", mood, "", mood]
    assert len(read_hub(REF, web=web(twin)).tensors) == 104


def test_a_broken_range_goes_on_where_it_stopped(twin: Twin) -> None:
    shard = "model-00001-of-00002.safetensors"
    twin.moods = ["half"]
    connection = web(twin)
    assert connection.get_range(f"/org/name/resolve/main/{shard}", 8, 1000) == twin.files[shard].cut(8, 1008)
    connection.close()
    assert [line.rpartition("=")[2] for line in twin.asked] == ["8-1007", "508-1007"]


def test_the_next_run_goes_on_where_this_one_stopped(twin: Twin) -> None:
    second = "model-00002-of-00002.safetensors"
    whole = twin.files.pop(second)
    twin.files[second] = Blob(whole.head[:8] + b"spoilt", whole.size)
    with pytest.raises(FitserveError):
        read_hub(REF, web=web(twin))
    twin.files[second] = whole
    twin.asked.clear()
    assert len(read_hub(REF, web=web(twin)).tensors) == 104
    assert not any("model-00001" in line for line in twin.asked)


def test_a_server_without_ranges_still_works(twin: Twin) -> None:
    twin.moods = ["", "", "no_range", "no_range", "no_range", "no_range"]
    assert len(read_hub(REF, web=web(twin)).tensors) == 104


@pytest.mark.parametrize(
    ("mood", "code", "exit_code"),
    [
        ("404", "hub_not_found", 3),
        ("401", "hub_denied", 1),
        ("403", "hub_denied", 1),
        ("429", "hub_rate_limited", 1),
        ("500", "hub_failed", 1),
        ("418", "hub_failed", 1),
        ("html", "hub_html", 1),
        ("hidden_html", "hub_html", 1),
        ("half", "hub_unreachable", 1),
    ],
)
def test_each_bad_answer_is_told(twin: Twin, mood: str, code: str, exit_code: int) -> None:
    twin.list_mood = mood
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=web(twin))
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert "127.0.0.1" in caught.value.message and "fitserve inspect" in caught.value.hint


def test_a_silent_hub_is_given_up(twin: Twin) -> None:
    twin.list_mood = "silent"
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=web(twin, stall_s=0.1))
    assert caught.value.exit_code == 6


def test_a_dripping_hub_is_given_up(twin: Twin) -> None:
    twin.moods = ["drip"]
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=web(twin, allowed_s=0.3))
    assert (caught.value.code, caught.value.exit_code) == ("hub_slow", 6)


def test_nobody_there() -> None:
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=HubWeb("http://127.0.0.1:9", clock=Hurried()))
    assert caught.value.code == "hub_unreachable" and caught.value.hint


@pytest.mark.parametrize("url", ["", "huggingface.co", "ftp://x", "http://"])
def test_no_address(url: str) -> None:
    with pytest.raises(FitserveError) as caught:
        HubWeb(url)
    assert caught.value.exit_code == 2


def test_a_proxy_that_can_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks9://127.0.0.1:1")
    with pytest.raises(FitserveError) as caught:
        HubWeb("http://example.org")
    assert caught.value.exit_code == 2


def test_a_password_in_the_address_is_not_shown() -> None:
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=HubWeb("http://user:hunter2@127.0.0.1:9", clock=Hurried()))
    assert "hunter2" not in f"{caught.value.message} {caught.value.evidence} {caught.value.hint}"


def test_a_header_of_2_to_the_60_bytes(twin: Twin) -> None:
    twin.files["model-00001-of-00002.safetensors"] = Blob((2**60).to_bytes(8, "little"), 10**9)
    with pytest.raises(FitserveError) as caught:
        read_hub(REF, web=web(twin))
    assert caught.value.code == "broken_model"


def test_a_short_upload_is_a_problem(twin: Twin) -> None:
    twin.files["model-00002-of-00002.safetensors"].size -= 1
    facts = read_hub(REF, web=web(twin))
    assert len(facts.problems) == 1 and "model-00002" in facts.problems[0]


def test_the_token_goes_to_the_hub(twin: Twin) -> None:
    twin.token = "hf_secret"
    assert len(read_hub(REF, web=web(twin)).tensors) == 104


def test_the_token_does_not_follow_to_another_host(twin: Twin) -> None:
    twin.token, twin.redirect = "hf_secret", True
    assert len(read_hub(REF, web=web(twin)).tensors) == 104
    assert set(twin.cdn_auth) == {""}


def test_endpoint_and_token_come_from_the_environment(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    twin.token = "hf_secret"
    monkeypatch.setenv("HF_ENDPOINT", twin.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert read_model("org/name").name == "org/name"


def test_no_token_over_plain_http() -> None:
    assert "authorization" not in HubWeb("http://example.org", "hf_secret")._client.headers
    assert "authorization" in HubWeb("https://example.org", "hf_secret")._client.headers


def test_modelscope(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", twin.url)
    assert len(read_model("modelscope:org/name").tensors) == 104


def test_offline_and_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FitserveError) as caught:
        read_model("org/name")
    assert (caught.value.code, caught.value.exit_code) == ("hub_offline", 3)


def test_a_local_copy_needs_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkpoints import write_folder

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repository = tmp_path / "HF_HOME" / "hub" / "models--org--name"
    write_folder(repository / "snapshots" / "abc", TINY, {"model.safetensors": {"lm_head.weight": ("BF16", (320, 64))}})
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    facts = read_model("org/name")
    assert facts.name == "org/name" and len(facts.tensors) == 1


def test_known_models_stand_in_for_a_hub_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("fitserve.facts.hub_http.ATTEMPTS", 1)
    facts = survey_model("cyankiwi/Qwen3.5-35B-A3B-AWQ-4bit")
    assert facts.layout_inferred and "127.0.0.1" in facts.notes[-1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Qwen/Qwen3.5-9B", HubRef(Hub.HUGGING_FACE, "Qwen/Qwen3.5-9B")),
        ("hf:Qwen/Qwen3.5-9B@v1", HubRef(Hub.HUGGING_FACE, "Qwen/Qwen3.5-9B", "v1")),
        ("modelscope:Qwen/Qwen3.5-9B", HubRef(Hub.MODELSCOPE, "Qwen/Qwen3.5-9B")),
        ("https://huggingface.co/Qwen/Qwen3.5-9B/", HubRef(Hub.HUGGING_FACE, "Qwen/Qwen3.5-9B")),
        ("https://modelscope.cn/models/Qwen/Qwen3.5-9B", HubRef(Hub.MODELSCOPE, "Qwen/Qwen3.5-9B")),
        ("qwen3.5-9b", None),
        ("./models/qwen", None),
        ("a/b/c", None),
        ("../x", None),
        ("a/..", None),
        ("", None),
    ],
)
def test_ids(text: str, wanted: HubRef | None) -> None:
    assert parse_ref(text) == wanted
