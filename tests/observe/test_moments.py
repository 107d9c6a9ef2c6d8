"""Moments come back from their lines as they were; a file of them stays small and survives any end."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample, ProcessSample
from fitserve.observe.metrics import Metrics
from fitserve.observe.moments import Moment, RecordedSampler, SampleLog, Service, parse_moments, read_moments, to_row

whole = st.none() | st.integers(0, 2**50)
watts = st.none() | st.floats(0, 1e4)
names = st.text(max_size=8)
processes = st.builds(GpuProcess, st.integers(0, 2**22), whole, st.none() | names)
cards = st.builds(
    CardSample,
    st.integers(0, 15),
    names,
    names,
    whole,
    whole,
    whole,
    whole,
    temperature_c=whole,
    power_w=watts,
    slow_reasons=st.none() | st.lists(names, max_size=2).map(tuple),
    processes=st.none() | st.lists(processes, max_size=2).map(tuple),
)
engine = st.builds(ProcessSample, st.integers(0), names, st.integers(0), st.floats(0, 1e9))
hosts = st.builds(HostSample, whole, whole, st.lists(engine, max_size=2).map(tuple))
buckets = st.lists(st.tuples(st.floats(0, 100) | st.just(None), st.floats(0, 1e6)), max_size=3).map(tuple)
figures = st.builds(
    Metrics,
    st.dictionaries(names, st.floats(0, 1e12), max_size=2),
    st.dictionaries(names, buckets, max_size=2),
    st.dictionaries(names, names, max_size=2),
)
sizes = st.dictionaries(names, st.integers(0), max_size=2)
numbers = st.lists(st.integers(0), max_size=2).map(tuple)
services = st.builds(
    Service, names, names, names, st.none() | figures, names, numbers, st.none() | numbers, sizes, sizes
)
moments = st.builds(
    Moment,
    st.builds(Sample, st.floats(0, 2e9), st.none() | st.lists(cards, max_size=2).map(tuple), hosts),
    st.lists(services, max_size=2).map(tuple),
)


@settings(max_examples=40)
@given(moments)
def test_a_line_gives_the_moment_back(moment: Moment) -> None:
    assert list(parse_moments([json.dumps(to_row(moment), allow_nan=False).encode()])) == [moment]


@given(st.binary(max_size=60) | st.text('{}[]":,cardsthost0123456789eE+.-null ').map(str.encode))
def test_no_line_is_too_broken(line: bytes) -> None:
    list(parse_moments([line]))


def test_figures_of_a_wrong_kind_are_passed_over() -> None:
    good = to_row(moment(1))
    wrong = [{**good, "at": "x"}, {**good, "cards": [{"index": 0, "used_bytes": "much"}]}, {**good, "host": 3}]
    lines = [json.dumps(row).encode() for row in (*wrong, good)]
    assert list(parse_moments([b'{"at": NaN, "cards": null}', b'{"at": 1e999, "cards": null}', *lines])) == [moment(1)]


def moment(at: float, used: int = 0) -> Moment:
    return Moment(Sample(at, (CardSample(0, "card", used_bytes=used),), HostSample(1, 1)))


def test_a_recording_is_its_own_sampler(tmp_path: Path) -> None:
    log = SampleLog(tmp_path / "new" / "samples.jsonl")
    for second in range(3):
        log.add(moment(second, second * 10))
    with log.path.open("a") as file:
        file.write('{"at": 3, "event": "stage"}\n{"at": 4, "cards": [{"index"')
    log.add(moment(5))
    assert [one.at for one in read_moments(log.path)] == [0, 1, 2, 5]
    sampler = RecordedSampler(log.path)
    seen = [sampler.sample() for _ in range(5)]
    assert [one.at if one else None for one in seen] == [0, 1, 2, 5, None]


def test_a_recording_stays_small_and_reaches_back_to_its_beginning(tmp_path: Path) -> None:
    log = SampleLog(tmp_path / "samples.jsonl", limit_bytes=20_000)
    for second in range(2000):
        log.add(moment(second))
    assert log.path.stat().st_size <= 20_000
    assert log.path.stat().st_mode & 0o777 == 0o600
    times = [one.at for one in read_moments(log.path)]
    assert times[0] == 0
    assert times[-1] >= 1990
    assert times == sorted(times)
    assert times[1] - times[0] > times[-1] - times[-2]


def test_a_full_disk_is_told_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.symlink_to("/dev/full")
    log = SampleLog(path)
    log.add(moment(1))
    assert log.problem == "samples.jsonl: No space left on device"
    path.unlink()
    log.add(moment(2))
    assert log.problem == ""
    assert [one.at for one in read_moments(path)] == [2]
