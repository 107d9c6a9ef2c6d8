"""A comparison as a person reads it: a row a setting, then sentences, each only as strong as its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fitserve.chat.clean import strip_control
from fitserve.cli.up_result import padded, width
from fitserve.measure.words import estimate_text, invalid_text, listed, verdict_text
from fitserve.text import tr
from fitserve.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fitserve.measure.compare import AnswersCompared, Plan, Trial
    from fitserve.measure.verdict import Round, Verdict

_COLOURS = {"better": "green", "worse": "yellow", "alike": None, "undecided": None}
_COLUMNS = ("setting", "rounds", "first_start", "start", "cold", "first", "token", "output", "right")


def table(plan: Plan, rounds: Sequence[Round], trials: Sequence[Trial], judge: bool) -> list[str]:
    """Settings as rows. `judge`: the model knows the drawn world, so its answers can be right or wrong."""
    rows = [tuple(tr(f"measure.col_{column}") for column in _COLUMNS)]
    rows += [_cells(setting, rounds, trials) for setting in plan.settings]
    rows = rows if judge else [row[:-1] for row in rows]
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            padded(cell, size, right=place > 0) for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _cells(setting: str, rounds: Sequence[Round], trials: Sequence[Trial]) -> tuple[str, ...]:
    from fitserve.measure.verdict import summary

    found = summary(rounds, setting)
    mine = [trial for trial in trials if trial.setting == setting and trial.running]
    right, judged = sum(trial.right for trial in mine), sum(trial.judged for trial in mine)
    return (
        setting,
        str(len(mine)),
        estimate_text(found["first_start_s"]),
        estimate_text(found["start_s"]),
        estimate_text(found["cold_first_token_s"]),
        estimate_text(found["first_token_s"], 1000),
        estimate_text(found["time_per_token_s"], 1000),
        estimate_text(found["output_tokens_s"]),
        f"{right}/{judged}" if judged else tr("measure.unknown"),
    )


def verdict_lines(found: Sequence[Verdict]) -> list[str]:
    """One sentence a figure, and how to read them."""
    lines = [click.style(verdict_text(verdict), fg=_COLOURS[verdict.call]) for verdict in found]
    if any(verdict.ratio for verdict in found):
        lines.append(tr("measure.verdict_note", setting=found[0].setting, base=found[0].base))
    return lines


def answer_lines(found: Sequence[AnswersCompared], base: str) -> list[str]:
    """How answers agree, and the first that do not."""
    lines = []
    for row in found:
        if not row.count:
            continue
        lines.append(tr("measure.answers_same", setting=row.setting, base=base, same=row.same, count=row.count))
        if row.differs:
            question, before, after = (strip_control(text)[:200].replace("\n", " ") for text in row.differs)
            names = {"question": question, "base": base, "before": before, "setting": row.setting, "after": after}
            lines.append(tr("measure.answers_differ", **names))
    return lines


def trial_lines(plan: Plan, trials: Sequence[Trial]) -> list[str]:
    """What each setting took, what failed, what is left out."""
    lines = []
    for setting in plan.settings:
        mine = [trial for trial in trials if trial.setting == setting]
        lines += [failure_line(trial) for trial in mine if trial.failure]
        invalid = [reason for trial in mine if trial.load for reason in trial.load.invalid]
        if invalid:
            why = invalid_text(invalid[0], max(trial.load.lag_s for trial in mine if trial.load), None)
            lines.append(tr("measure.invalid_rounds", count=len(invalid), setting=setting, why=why))
        if last := next((trial for trial in reversed(mine) if trial.running), None):
            lines += memory_lines(last)
    return lines


def failure_line(trial: Trial) -> str:
    """Why a setting did not start."""
    assert trial.failure is not None
    line = tr("measure.trial_failed", setting=trial.setting, reason=trial.failure.message)
    return f"{line}\n  {tr('failure.evidence')}{trial.failure.evidence}" if trial.failure.evidence else line


def memory_lines(trial: Trial) -> list[str]:
    """The engine's own figures, and the peaks that the driver showed."""
    assert trial.running is not None
    took = trial.running.deployment.get("measured")
    took = took if isinstance(took, dict) else {}
    peak = trial.load.memory_peak_bytes if trial.load else None
    values = {"weights": _bytes(took.get("weights_bytes")), "kv": _bytes(took.get("kv_bytes")), "peak": _cards(peak)}
    lines = [tr("measure.took_memory", setting=trial.setting, **values)]
    if trial.stage_memory:
        stages = listed(f"{tr(f'run.stage_{name}')} {_cards(peak)}" for name, peak in trial.stage_memory.items())
        lines.append(tr("measure.stage_memory", setting=trial.setting, stages=stages))
    return lines


def _bytes(value: object) -> str:
    return format_bytes(value) if isinstance(value, int) else tr("measure.unknown")


def _cards(peak: tuple[int, ...] | None) -> str:
    return " + ".join(format_bytes(card) for card in peak) if peak else tr("measure.unknown")
