"""The run record: whole after any crash, silent about the disk but not about the loss."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fitserve.clock import ManualClock
from fitserve.observe.record import RunRecord, latest_record, new_record, read_record


def test_events_come_back_in_order(tmp_path: Path) -> None:
    record = RunRecord(tmp_path / "runs" / "a.jsonl", ManualClock(5.0))
    record.write("stage", stage="load", text="权重")
    record.write("ended", state="stopped")
    record.close()
    assert list(read_record(record.path)) == [
        {"at": 5.0, "event": "stage", "stage": "load", "text": "权重"},
        {"at": 5.0, "event": "ended", "state": "stopped"},
    ]


@given(cut=st.integers(1, 30))
def test_a_crash_in_the_middle_of_a_line_costs_that_line(tmp_path_factory: object, cut: int) -> None:
    path = Path(str(tmp_path_factory.mktemp("runs"))) / "a.jsonl"  # type: ignore[attr-defined]  # pytest's own fixture
    for event in ("one", "two"):
        record = RunRecord(path, ManualClock())
        record.write(event)
        record.close()
        if event == "one":
            whole = path.read_bytes()
            path.write_bytes(whole + whole[:cut])
    found = [row["event"] for row in read_record(path)]
    assert found[0] == "one"
    assert found[-1] == "two"
    assert len(found) <= 3


def test_a_full_disk_is_told_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.symlink_to("/dev/full")
    record = RunRecord(path, ManualClock())
    record.write("one")
    assert record.problem == "a.jsonl: No space left on device"
    path.unlink()
    record.write("two")
    record.close()
    assert record.problem == ""
    assert [row["event"] for row in read_record(path)] == ["two"]


def test_old_records_go(tmp_path: Path, monkeypatch: object) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # type: ignore[attr-defined]
    clock = ManualClock(1e9)
    for _ in range(53):
        clock.sleep(1)
        record = new_record("one", clock)
        record.write("x")
        record.close()
    assert len(list(record.path.parent.iterdir())) == 50
    assert latest_record("one") == record.path
    assert latest_record("two") is None
