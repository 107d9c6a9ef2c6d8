"""Cards: from the driver, by name, by size, from a record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nvml_twin import NvmlTwin, Process

from fitserve.errors import FitserveError
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.gpu_kinds import KINDS, find_kind, near_names
from fitserve.facts.gpu_record import MARK, gpus_document, load_gpus
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.nvml import Nvml, read_cards, select_visible
from fitserve.facts.read_gpus import read_gpus
from fitserve.units import GIB


def cards(twin: NvmlTwin, visible: str | None = None) -> tuple[Gpu, ...]:
    found = read_cards(cast(Nvml, twin), visible)
    assert isinstance(found, tuple) and twin.open == 0
    return found


def test_a_pair_of_3090s() -> None:
    twin = NvmlTwin(processes={1: [Process(os.getpid(), 3 * GIB), Process(2**22 + 1, None)]})
    first, second = cards(twin)
    assert first.total_bytes == 25295323136 and first.free_bytes == 23 * GIB
    assert first.compute_capability == (8, 6) and first.bandwidth_bytes_s == 936 * 10**9
    assert (first.driver, first.p2p_peers, first.nvlink, first.mig) == ("580.142", (1,), True, False)
    assert second.processes[0].name and second.processes[0].used_bytes == 3 * GIB
    assert second.processes[1].name is None and second.processes[1].used_bytes is None


def test_what_a_driver_does_not_say_is_unknown() -> None:
    silent = {"capability", "processes", "p2p", "nvlink", "display", "mig", "memory_v2"}
    (card, _) = cards(NvmlTwin(silent=silent))
    assert (card.compute_capability, card.p2p_peers, card.display) == (None, None, None)
    assert card.processes == () and card.total_bytes == 24576 * 1024**2 and card.mig is False


def test_cards_that_share_the_hosts_memory() -> None:
    (card,) = cards(NvmlTwin(names=["NVIDIA GB10"], silent={"memory", "memory_v2"}))
    assert card.unified and card.total_bytes > 0


def test_no_peers() -> None:
    assert cards(NvmlTwin(p2p_status=3, links=False))[0].p2p_peers == ()


@pytest.mark.parametrize(
    ("visible", "wanted"),
    [
        (None, [0, 1]),
        ("", []),
        ("1", [1]),
        ("1,0", [1, 0]),
        ("GPU-0001", [1]),
        ("0,7,1", [0]),
        ("-1", []),
        ("0,0", [0]),
    ],
)
def test_cuda_visible_devices(visible: str | None, wanted: list[int]) -> None:
    assert [card.index for card in cards(NvmlTwin(), visible)] == wanted
    if visible is not None:
        assert [card.index for card in select_visible(cards(NvmlTwin()), visible)] == wanted


def pci(root: Path, vendor: str, kind: str) -> None:
    device = root / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")


def test_no_driver_and_no_card_is_none(tmp_path: Path) -> None:
    pci(tmp_path, "0x8086", "0x030000")
    assert read_gpus(tmp_path, cast(Nvml, NvmlTwin(driver_away=True))) == ()


def test_a_card_without_a_driver_is_unknown(tmp_path: Path) -> None:
    pci(tmp_path, "0x10de", "0x030200")
    found = read_gpus(tmp_path, cast(Nvml, NvmlTwin(driver_away=True)))
    assert isinstance(found, GpusUnknown) and found.evidence == "Driver Not Loaded"


def test_amd_is_unknown_not_none(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").write_text("")
    assert isinstance(read_gpus(tmp_path, cast(Nvml, NvmlTwin(driver_away=True))), GpusUnknown)


def test_a_driver_that_fails_is_unknown(tmp_path: Path) -> None:
    pci(tmp_path, "0x10de", "0x030000")
    assert isinstance(read_gpus(tmp_path, cast(Nvml, NvmlTwin(silent={"count"}))), GpusUnknown)


def names(request: str) -> list[tuple[str, float]]:
    found = parse_gpus(request)
    assert isinstance(found, tuple) and [card.index for card in found] == list(range(len(found)))
    return [(card.name, round(card.total_bytes / GIB, 2)) for card in found]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("2xRTX3090", [("RTX 3090", 23.56)] * 2),
        ("2 x rtx 3090", [("RTX 3090", 23.56)] * 2),
        ("3090", [("RTX 3090", 23.56)]),
        ("NVIDIA GeForce RTX 3090", [("RTX 3090", 23.56)]),
        ("1xRTX4090+1xRTX3090", [("RTX 4090", 23.52), ("RTX 3090", 23.56)]),
        ("RTX 4090, L4", [("RTX 4090", 23.52), ("L4", 22.03)]),
        ("2x24GiB", [("24.00 GiB", 24.0)] * 2),
        ("1x23.5GiB", [("23.50 GiB", 23.5)]),
        ("A100-80GB", [("A100 80GB", 79.15)]),
        ("3090ti", [("RTX 3090 Ti", 23.57)]),
        ("none", []),
    ],
)
def test_requests(request_: str, wanted: list[tuple[str, float]]) -> None:
    assert names(request_) == wanted


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ("RTX3900", "RTX 3090"),
        ("A100", "A100 80GB"),
        ("2x24GB", "24GiB"),
        ("0xL4", "64"),
        ("65xL4", "64"),
        ("40xL4+40xL4", "64"),
        ("2x", "2x"),
        (",", "COUNTxNAME"),
        ("1x1MiB", "too small"),
    ],
)
def test_requests_that_are_refused(request_: str, word: str) -> None:
    with pytest.raises(FitserveError) as caught:
        parse_gpus(request_)
    assert caught.value.exit_code == 2 and word in caught.value.message and "inspect gpus --" in caught.value.hint


@given(st.text(max_size=20))
def test_any_text_gives_cards_or_a_sentence(text: str) -> None:
    try:
        found = parse_gpus(text, lambda: ())
    except FitserveError as error:
        assert error.message
    else:
        assert isinstance(found, tuple)


def test_auto_asks_the_driver() -> None:
    assert parse_gpus("auto", lambda: GpusUnknown("why")) == GpusUnknown("why")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kinds_are_found_by_their_own_name_and_are_plausible(kind: object) -> None:
    from fitserve.facts.gpu_kinds import GpuKind

    assert isinstance(kind, GpuKind)
    assert find_kind(kind.name) == kind and find_kind(kind.name, kind.visible_bytes) == kind
    assert 0.9 * kind.box_gib < kind.visible_bytes / GIB < kind.box_gib
    assert 2 * 10**11 < kind.bandwidth_bytes_s < 10**13 and kind.capability >= (7, 0)


@pytest.mark.parametrize(
    ("name", "gib", "wanted"),
    [
        ("NVIDIA A100-SXM4-80GB", 79.2, "A100 80GB"),
        ("NVIDIA A100-SXM4-40GB", 39.4, "A100 40GB"),
        ("NVIDIA H100 80GB HBM3", 79.2, "H100"),
        ("NVIDIA H100 PCIe", 79.2, "H100 PCIe"),
        ("Tesla V100-SXM2-32GB", 31.7, "V100 32GB"),
        ("NVIDIA GeForce RTX 4060 Ti", 15.6, "RTX 4060 Ti 16GB"),
        ("NVIDIA RTX 6000 Ada Generation", 47.4, "RTX 6000 Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 94.97, "RTX PRO 6000"),
        ("NVIDIA GeForce RTX 4090", 47.4, "RTX 4090 48GB"),
        ("NVIDIA GeForce RTX 4090", 23.5, "RTX 4090"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", 23.4, None),
        ("Quadro K2000", 2.0, None),
    ],
)
def test_drivers_names(name: str, gib: float, wanted: str | None) -> None:
    kind = find_kind(name, int(gib * GIB))
    assert (kind.name if kind else None) == wanted


def test_neighbours() -> None:
    assert near_names("RTX 4060 Ti") == ["RTX 4060 Ti 16GB", "RTX 4060 Ti 8GB"] and near_names("zzzzzz") == []


@pytest.mark.parametrize("dressed", [False, True])
def test_a_record_comes_back_as_it_was(tmp_path: Path, dressed: bool) -> None:
    found = cards(NvmlTwin(processes={0: [Process(1, GIB)]}))
    text = json.dumps(gpus_document(found))
    path = tmp_path / "gpus.txt"
    path.write_text(f"a table for people\n{MARK}{text}\n" if dressed else text)
    assert parse_gpus(f"recorded:{path}") == found


def test_what_was_unknown_stays_unknown(tmp_path: Path) -> None:
    path = tmp_path / "gpus.json"
    path.write_text(json.dumps(gpus_document(GpusUnknown("why", "proof"))))
    assert load_gpus(path) == GpusUnknown("why", "proof")


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"3", b"hello", b"\xff", b'{"gpus": [{"index": 0}]}', b"[" * 100_000,
     b'{"gpus": [{"index": 0, "name": "x", "total_bytes": -1, "free_bytes": null, "compute_capability": null}]}'],
)  # fmt: skip
def test_files_that_are_no_record(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "gpus.json"
    path.write_bytes(content)
    with pytest.raises(FitserveError) as caught:
        load_gpus(path)
    assert caught.value.exit_code == 2


def test_no_record_there(tmp_path: Path) -> None:
    with pytest.raises(FitserveError) as caught:
        load_gpus(tmp_path / "no")
    assert caught.value.exit_code == 3


def test_a_real_recorded_card_is_read() -> None:
    """CUDA said 150,109,880,320 bytes on that host: NVML's total less what its driver reserves."""
    (card,) = parse_gpus(f"recorded:{Path(__file__).parent.parent / 'data' / 'gpus' / 'h200.json'}")
    assert (card.name, card.total_bytes, card.compute_capability) == ("NVIDIA H200", 150_109_880_320, (9, 0))
