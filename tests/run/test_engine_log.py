"""The engine's log: rotated, and surviving a disk that does not take it."""

from __future__ import annotations

import os
from pathlib import Path

from fitserve.clock import ManualClock
from fitserve.run.drain import Drain
from fitserve.run.engine_log import EngineLog


def log_at(path: Path, max_bytes: int = 100, keep: int = 2) -> tuple[EngineLog, ManualClock]:
    clock = ManualClock()
    log = EngineLog(path, max_bytes, keep, clock)
    log.start()
    return log, clock


def test_rotation_keeps_the_newest(tmp_path: Path) -> None:
    log, _ = log_at(tmp_path / "engine.log", max_bytes=10)
    for number in range(5):
        log.write(b"%d" % number * 6)
    log.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "engine.log": b"444444",
        "engine.log.1": b"333333",
        "engine.log.2": b"222222",
    }


def test_a_new_run_begins_a_new_file(tmp_path: Path) -> None:
    for run in (b"first", b"second"):
        log, _ = log_at(tmp_path / "engine.log")
        log.write(run)
        log.close()
    assert (tmp_path / "engine.log").read_bytes() == b"second"
    assert (tmp_path / "engine.log.1").read_bytes() == b"first"


def test_a_full_disk_is_counted_and_told_when_it_is_over(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    path.symlink_to("/dev/full")
    log, clock = log_at(path)
    log.write(b"lost")
    assert (log.problem, log.lost_bytes) == ("engine.log: No space left on device", 4)
    path.unlink()
    log.write(b"lost too")
    assert log.lost_bytes == 12
    clock.sleep(6)
    log.write(b"kept")
    log.close()
    assert path.read_text() == "\n[fitserve] 12 bytes are missing here: engine.log: No space left on device\nkept"
    assert (log.problem, log.lost_bytes) == ("", 0)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("")
    log, _ = log_at(tmp_path / "logs" / "engine.log")
    log.write(b"lost")
    assert log.lost_bytes == 4
    assert log.problem


def drained(tmp_path: Path, *chunks: bytes, on_line: object = None) -> tuple[list[str], Drain]:
    lines: list[str] = []
    log, _ = log_at(tmp_path / "engine.log", max_bytes=1 << 20)
    source, sink = os.pipe()
    drain = Drain(source, log, on_line or lines.append)  # type: ignore[arg-type]  # a test's own callable
    drain.start()
    for chunk in chunks:
        os.write(sink, chunk)
    os.close(sink)
    drain.join(5)
    return lines, drain


def test_lines_are_put_together_and_the_last_needs_no_end(tmp_path: Path) -> None:
    lines, _ = drained(tmp_path, b"one\ntw", b"o\r\n\xff\nthree")
    assert lines == ["one", "two", "�", "three"]
    assert (tmp_path / "engine.log").read_bytes() == b"one\ntwo\r\n\xff\nthree"


def test_a_reader_that_fails_stops_nothing(tmp_path: Path) -> None:
    def fail(line: str) -> None:
        raise RuntimeError(line)

    _, drain = drained(tmp_path, b"one\ntwo\n", on_line=fail)
    assert drain.problem == "RuntimeError: two"
    assert (tmp_path / "engine.log").read_bytes() == b"one\ntwo\n"


def test_a_line_without_an_end_is_not_kept_whole(tmp_path: Path) -> None:
    lines, _ = drained(tmp_path, *[b"x" * 60_000] * 5)
    assert len(lines) == 1
    assert len(lines[0]) < 70_000
