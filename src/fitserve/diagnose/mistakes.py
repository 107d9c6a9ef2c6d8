"""Wrong settings, what is seen then, and the right ones: one row for each rule that a setting can set off."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.diagnose.engine import rules
from fitserve.text import tr


@dataclass(frozen=True)
class Mistake:
    """A row in the reader's language. `cause` is the doctor's label, for `doctor --json` and the docs."""

    cause: str
    setting: str
    symptom: str
    right: str


def mistakes() -> tuple[Mistake, ...]:
    """All rows, in the order of the rules."""
    found = []
    for rule in rules():
        try:
            setting, right = tr(f"mistakes.{rule.cause}_setting"), tr(f"mistakes.{rule.cause}_right")
        except KeyError:  # a cause that no setting is to blame for
            continue
        found.append(Mistake(rule.cause, setting, symptom(rule.cause), right))
    return tuple(found)


def symptom(cause: str) -> str:
    """What is seen, without the numbers of a single case."""
    sentence = tr(f"causes.{cause}")
    return tr(f"causes.{cause}_why") if "{" in sentence else sentence


def table() -> str:
    """The rows as Markdown."""
    head = [tr("mistakes.head_setting"), tr("mistakes.head_symptom"), tr("mistakes.head_right")]
    rows = [f"| {' | '.join(head)} |", "|---|---|---|"]
    rows += [f"| {row.setting} | {row.symptom} | {row.right} |" for row in mistakes()]
    return "\n".join(rows) + "\n"
