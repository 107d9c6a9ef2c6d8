"""torch is asked for by its CPU name, place after place, and its CUDA build only with consent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fitserve.engines.torch_source import CUDA_SIZE, install_torch
from fitserve.errors import OperationFailed, ToolMissing

CPU, CUDA_LOCK, INDEX = Path("cpu.txt"), Path("cuda.txt"), "http://index.test/cpu"
MISSING = ToolMissing("none", code="package_missing", evidence="ERROR: No matching distribution")
OTHER_FILE = OperationFailed("changed", code="hash_mismatch", evidence="Expected sha256 …")


@dataclass
class Sources:
    """In pip's place: what each source answers, in order."""

    answers: list[Exception | None]
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def install(self, *arguments, detail) -> None:
        self.calls.append(arguments)
        answer = self.answers[len(self.calls) - 1]
        if answer:
            raise answer


def run(answers, heard, consent=True):
    sources = Sources(answers)
    asked = []
    source = install_torch(sources, CPU, CUDA_LOCK, lambda: asked.append(1) or consent, heard, INDEX)
    return source, sources.calls, asked


@pytest.mark.parametrize(
    ("answers", "source"),
    [
        ([None], "machine"),
        ([MISSING, None], "pytorch-cpu"),
        ([OTHER_FILE, None], "pytorch-cpu"),
        ([MISSING, MISSING, None], "pypi-cuda"),
        ([OTHER_FILE, MISSING, None], "pypi-cuda"),
    ],
)
def test_the_first_source_that_has_it(answers, source, heard) -> None:
    found, calls, asked = run(answers, heard)
    assert found == source
    assert len(calls) == len(answers)
    assert all("--require-hashes" in call for call in calls)
    assert bool(asked) == (source == "pypi-cuda")
    assert all(INDEX in call for call in calls[1:2])


def test_the_size_of_the_last_resort_is_said_and_it_can_be_refused(heard) -> None:
    with pytest.raises(ToolMissing) as caught:
        run([MISSING, MISSING, None], heard, consent=False)
    assert CUDA_SIZE in heard.text
    assert caught.value.evidence == MISSING.evidence


def test_another_trouble_is_not_taken_for_a_missing_wheel(heard) -> None:
    full = OperationFailed("full", code="disk_full")
    with pytest.raises(OperationFailed) as caught:
        run([full, None], heard)
    assert caught.value is full
