"""Are the model's files whole: every header against its file's size, the index against the headers?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.folder import named_shards
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.subject import Subject
from fitserve.text import tr
from fitserve.units import format_bytes

NAME = "files_whole"


def check(subject: Subject) -> Iterator[Check]:
    """One line for each thing that is damaged, or one that says what was found."""
    if problem := subject.problems.get("model"):
        damaged = problem.code == "broken_model"
        state = CheckState.FAIL if damaged else CheckState.UNKNOWN
        yield Check(NAME, state, problem.message, problem.evidence, problem.hint)
        return
    if subject.facts is None:
        return
    again = f"fitserve up {subject.ref}" if subject.ref else f"fitserve inspect {subject.model}"
    for sentence in subject.facts.problems:
        yield Check(NAME, CheckState.FAIL, sentence, str(subject.folder or subject.ref), again)
    if not subject.facts.problems:
        yield _whole(subject)


def _whole(subject: Subject) -> Check:
    facts, folder = subject.facts, subject.folder
    assert facts is not None
    size = format_bytes(facts.checkpoint_bytes)
    if folder is not None:
        count = len(named_shards(folder))
        said = tr("check.files_whole", files=count, tensors=f"{len(facts.tensors):,}", size=size)
        return Check(NAME, CheckState.OK, said, str(folder))
    if facts.source == "known":
        return Check(NAME, CheckState.UNKNOWN, tr("check.files_known"), hint=f"fitserve up {subject.model}")
    return Check(NAME, CheckState.OK, tr("check.files_on_hub", size=size), str(subject.ref))
