"""All lines in the order in which a start would meet them, each as soon as it is known."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.plan import Check
from fitserve.preflight import cards, engine, files, machine, planned, quantization, sums
from fitserve.preflight.subject import Subject

SUBJECTS = (files, sums, quantization, planned, cards, machine, engine)


def checklist(subject: Subject) -> Iterator[Check]:
    """Every line."""
    for module in SUBJECTS:
        yield from module.check(subject)
