"""`download` against a hub in every mood: what is fetched, where it lies, and that it is whole or not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hub_model import COMMIT, published
from hub_twin import Blob, Twin
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitserve.clock import SystemClock
from fitserve.errors import FitserveError, NotFound
from fitserve.facts.hub_cache import find_snapshot
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.read import read_model
from fitserve.fetch.download import download, local_copy
from fitserve.fetch.lock import held
from fitserve.fetch.place import PART, place_for
from fitserve.fetch.stream import Patience

HF, MS = HubRef(Hub.HUGGING_FACE, "org/name"), HubRef(Hub.MODELSCOPE, "org/name")
BOTH = pytest.mark.parametrize("ref", [HF, MS], ids=str)
QUICK = Patience(longest_wait_s=0.0)
SERVED = {
    "config.json", "tokenizer.json", "model.safetensors.index.json",
    "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
}  # fmt: skip
SHARD = "model-00001-of-00002.safetensors"


class Hurried(SystemClock):
    """Real time, except that nobody waits between attempts."""

    def sleep(self, seconds: float) -> None:
        pass


class Seen:
    """What a watcher is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.sizes: list[int] = []
        self.total = 0

    def begin(self, folder: Path, files: int, total_bytes: int, here_bytes: int) -> None:
        self.total = total_bytes
        self.sizes.append(here_bytes)

    def moved(self, here_bytes: int, files_left: int) -> None:
        self.sizes.append(here_bytes)

    def note(self, text: str) -> None:
        self.notes.append(text)


def same(folder: Path, twin: Twin) -> bool:
    """Whether what is served is there byte for byte, and nothing else."""
    names = {path.name for path in folder.iterdir()}
    return names == SERVED and all((folder / n).read_bytes() == twin.files[n].cut(0, twin.files[n].size) for n in names)


def left_over() -> list[Path]:
    """Unfinished files in either cache."""
    roots = [Path(os.environ[name]) for name in ("HF_HOME", "MODELSCOPE_CACHE")]
    return [path for root in roots for path in root.rglob(f"*{PART}")]


@BOTH
def test_what_is_served_and_nothing_else(twin: Twin, ref: HubRef) -> None:
    seen = Seen()
    folder = download(ref, seen)
    assert same(folder, twin) and find_snapshot(ref) == folder == local_copy(ref)
    assert read_model(f"hf:{ref}" if ref is HF else str(ref)).source == str(folder)
    assert seen.sizes[0] == 0 and seen.sizes[-1] == seen.total == sum(twin.files[name].size for name in SERVED)
    assert not left_over()


@BOTH
def test_a_second_time_nobody_is_asked(twin: Twin, ref: HubRef, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = download(ref)
    twin.asked.clear()
    assert download(ref) == folder and not twin.asked
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert download(ref) == folder and not twin.asked


def test_the_layout_of_hugging_face(twin: Twin) -> None:
    folder = download(HF)
    root = folder.parents[1]
    assert folder.name == COMMIT and (root / "refs/main").read_text() == COMMIT
    link = folder / SHARD
    assert link.is_symlink() and len(link.readlink().name) == 64 and not link.readlink().is_absolute()
    assert len((folder / "config.json").readlink().name) == 40


def test_a_mirror_that_tells_no_commit(twin: Twin) -> None:
    twin.commit = ""
    assert same(download(HF), twin) and find_snapshot(HF)


def test_the_folder_of_an_older_modelscope_is_gone_on_with(twin: Twin) -> None:
    old = Path(os.environ["MODELSCOPE_CACHE"]) / "models/org/name"
    old.mkdir(parents=True)
    (old / "config.json").write_bytes(twin.files["config.json"].head)
    assert download(MS) == old and same(old, twin)
    assert not any("config.json" in line for line in twin.asked)


@BOTH
@pytest.mark.parametrize("mood", ["half", "500", "429", "no_range", "no_range_half"])
def test_breaks_are_mended(twin: Twin, ref: HubRef, mood: str) -> None:
    twin.moods = [""] * 4 + [mood] * 4
    assert same(download(ref, patience=QUICK), twin)


def test_a_break_does_not_begin_anew(twin: Twin) -> None:
    twin.files[SHARD] = Blob(twin.files[SHARD].head + bytes(3 * 1024**2))
    twin.moods = [""] * 4 + ["half"] * 6  # the index (twice), the two others, then the shards
    download(HF, patience=QUICK)
    assert twin.sent_bytes < 1.05 * sum(twin.files[name].size for name in SERVED) + 10_000


@BOTH
def test_what_came_before_a_failure_is_not_asked_for_again(twin: Twin, ref: HubRef) -> None:
    twin.moods = [""] * 4 + ["half", "half"] + ["404"] * 9
    with pytest.raises(NotFound):
        download(ref, patience=QUICK)
    assert find_snapshot(ref) is None and left_over()
    seen, before = Seen(), twin.sent_bytes
    twin.moods.clear()
    assert same(download(ref, seen), twin)
    assert seen.sizes[0] > 0 and twin.sent_bytes - before < seen.total - seen.sizes[0] + 20_000


@BOTH
def test_a_damaged_file_is_fetched_once_more(twin: Twin, ref: HubRef) -> None:
    seen = Seen()
    twin.moods = [""] * 4 + ["damaged"]
    assert same(download(ref, seen, patience=QUICK), twin)
    assert [("damaged" in note, "Every file" in note) for note in seen.notes] == [(True, False), (False, True)]


@BOTH
def test_damaged_twice_is_told_and_never_served(twin: Twin, ref: HubRef) -> None:
    twin.moods = [""] * 4 + ["damaged"] * 9
    with pytest.raises(FitserveError, match="damaged") as caught:
        download(ref, patience=QUICK)
    assert caught.value.code == "checksum" and "≠" in caught.value.evidence
    assert caught.value.hint == ("fitserve up modelscope:org/name" if ref is HF else "fitserve up hf:org/name")
    broken = caught.value.evidence.partition(":")[0]
    assert find_snapshot(ref) is None and not any(broken in str(path) for path in left_over())
    assert not list(Path(os.environ["MODELSCOPE_CACHE"]).rglob("*.safetensors"))


def test_a_part_of_something_else_does_no_harm(twin: Twin) -> None:
    place = place_for(MS, "")
    for name, content in ((SHARD, b"rubbish"), ("model-00002-of-00002.safetensors", bytes(10**7))):
        part = place.root / f"{name}{PART}"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
    assert same(download(MS, patience=QUICK), twin)


@pytest.mark.parametrize(
    ("mood", "code", "hint"),
    [
        ("401", "hub_denied", "HF_TOKEN=… fitserve up org/name"),
        ("404", "hub_not_found", "fitserve up modelscope:org/name"),
        ("429", "hub_rate_limited", "fitserve up org/name"),
        ("html", "hub_html", "fitserve up org/name"),
        ("503", "hub_failed", "fitserve up org/name"),
        ("hidden_html", "hub_unreachable", "fitserve up org/name"),
    ],
)
def test_bad_answers(twin: Twin, mood: str, code: str, hint: str) -> None:
    twin.moods, twin.always = ["", "", "", ""], mood
    with pytest.raises(FitserveError) as caught:
        download(HF, patience=QUICK)
    assert (caught.value.code, caught.value.hint) == (code, hint)
    assert find_snapshot(HF) is None


def test_a_drip_is_not_waited_for(twin: Twin) -> None:
    twin.moods, twin.always = [""] * 4, "drip"
    with pytest.raises(FitserveError) as caught:
        download(HF, patience=Patience(attempts=2, longest_wait_s=0.0, window_s=0.2))
    assert caught.value.code == "hub_slow"


def test_no_room(twin: Twin) -> None:
    with pytest.raises(FitserveError, match=r"1\.0 MiB free") as caught:
        download(HF, free=lambda _: 1024**2)
    assert caught.value.code == "disk_full" and caught.value.hint.startswith("df -h /")
    assert not any(".safetensors" in line and "index" not in line for line in twin.asked)


def test_a_cache_that_cannot_be_written(twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file"))
    with pytest.raises(FitserveError, match="HF_HUB_CACHE") as caught:
        download(HF)
    assert caught.value.code == "cache_unwritable"


def test_an_index_that_names_a_shard_which_is_not_there(twin: Twin) -> None:
    del twin.files[SHARD]
    with pytest.raises(FitserveError, match=SHARD) as caught:
        download(HF)
    assert caught.value.code == "broken_model" and not Path(os.environ["HF_HOME"]).exists()


def test_offline_without_a_copy(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotFound):
        download(HF)
    assert not twin.asked


def test_the_token_goes_to_the_hub_alone(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    twin.token, twin.redirect = "hf_secret", True
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert same(download(HF), twin)
    assert twin.cdn_auth and not any(twin.cdn_auth)


def test_a_tokenizer_that_a_copy_lacks_is_fetched(twin: Twin) -> None:
    (download(HF) / "tokenizer.json").unlink()
    twin.asked.clear()
    assert local_copy(HF) is None and same(download(HF), twin)
    assert not any(".safetensors " in line for line in twin.asked)


def test_names_and_digests_that_would_leave_the_cache(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    twin.files["../../evil.json"] = Blob(b"{}")
    twin.sums = False  # oids that are no digests
    seen = Seen()
    assert same(download(HF, seen), twin) and not list(Path(os.environ["HF_HOME"]).rglob("evil*"))
    assert "no checksum for 5" in seen.notes[-1]


def test_two_at_once(twin: Twin) -> None:
    twin.always = "slow"
    got: list[Path] = []
    both = [threading.Thread(target=lambda: got.append(download(HF, patience=QUICK))) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(set(got)) == 1 and len(got) == 2 and same(got[0], twin)
    assert sum(f"/{SHARD}" in line for line in twin.asked) == 1


def test_a_stuck_neighbour_is_not_waited_for_endlessly(twin: Twin) -> None:
    seen = Seen()
    place = place_for(MS, "")
    lock = place.lock(next(_file(name) for name in twin.files if name == SHARD))
    with held(lock, lambda: None), pytest.raises(FitserveError, match="Another process"):
        download(MS, seen, patience=Patience(busy_s=0.1))
    assert any("waiting" in note for note in seen.notes)


def _file(name: str):
    from fitserve.facts.hub_site import HubFile

    return HubFile(name, 0, "")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moods=st.lists(st.sampled_from(["", "half", "500", "no_range", "no_range_half", "damaged"]), max_size=12))
def test_whole_or_not_there(
    twin: Twin, moods: list[str], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the hub does: the copy is right, or there is none, and then a good hub completes it."""
    monkeypatch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hub")))
    twin.moods = list(moods)
    try:
        folder = download(HF, web=HubWeb(twin.url, clock=Hurried()), patience=QUICK)
    except FitserveError:
        assert find_snapshot(HF) is None
        twin.moods.clear()
        folder = download(HF)
    assert same(folder, twin)


def test_the_published_model_is_whole() -> None:
    assert published().keys() >= SERVED
