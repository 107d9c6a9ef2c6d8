"""A diagnosis for people: what happened, the evidence, what to change. The engine's own lines are shown as they are."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping

import click

from fitserve.diagnose.finding import Diagnosis, Finding, Fix, Severity
from fitserve.plan.flags import as_flag
from fitserve.plan.plan import Check, CheckState
from fitserve.stage import Stage
from fitserve.text import tr

_MARK = {CheckState.OK: "green", CheckState.WARN: "yellow", CheckState.FAIL: "red", CheckState.UNKNOWN: "white"}
_COLOUR = {Severity.FATAL: "red", Severity.WARN: "yellow", Severity.INFO: "cyan"}


def show(diagnosis: Diagnosis) -> None:
    """Print the whole diagnosis to stdout."""
    version = diagnosis.engine_version
    head = (
        tr("doctor.read", lines=diagnosis.lines, version=version)
        if version
        else tr("doctor.read_unknown", lines=diagnosis.lines)
    )
    click.echo(head)
    for note in diagnosis.notes:
        click.echo(note)
    _starts(diagnosis)
    for finding in diagnosis.findings:
        click.echo()
        _finding(finding)
    bad = next((check for check in diagnosis.checks if check.state is CheckState.FAIL), None)
    if not diagnosis.findings:
        click.echo("\n".join(_not_answering(bad)) if bad else _nothing(diagnosis.stage))
    _ledger(diagnosis)
    _checks(diagnosis)


def _not_answering(check: Check) -> Iterator[str]:
    """No cause is known: what there is to go by, and where to look on."""
    yield tr("doctor.not_answering", detail=check.detail)
    if check.evidence:
        yield f"  {tr('failure.evidence')}{check.evidence}"
    if check.hint:
        yield f"  {tr('failure.next')}{check.hint}"


def _ledger(diagnosis: Diagnosis) -> None:
    """Measured beside planned."""
    rows = [row for row in diagnosis.ledger if row["planned"] is not None and known(f"doctor.figure_{row['item']}")]
    if not rows:
        return
    click.echo()
    _part(tr("doctor.ledger"))
    for row in rows:
        measured = tr(f"doctor.figure_{row['item']}", value=_value(row["measured"], None))
        click.echo(f"  {measured} ({tr('doctor.planned', value=_value(row['planned'], None))})")


def _checks(diagnosis: Diagnosis) -> None:
    if not diagnosis.checks:
        return
    click.echo()
    _part(tr("doctor.service"))
    figures = [check for check in diagnosis.checks if check.name not in ("answering", "log")]
    blank = all(check.state is CheckState.UNKNOWN for check in figures)  # a table of nothing
    rows = [check for check in diagnosis.checks if not (blank and check in figures)]
    width = max((cell_len(_name(check)) for check in rows), default=0)
    for check in rows:
        mark = click.style(tr(f"doctor.check_state_{check.state}"), fg=_MARK[check.state])
        click.echo(f"  {_name(check)}{' ' * (width - cell_len(_name(check)))}  {mark}  {check.detail}")
    if blank:
        click.echo(f"  {tr('doctor.no_figures')}")


def _name(check: Check) -> str:
    side = check.name.removeprefix("probe_")
    return tr("doctor.name_picture", side=side) if side.isdigit() else tr(f"doctor.name_{check.name}")


def _nothing(stage: Stage | None) -> str:
    if stage is Stage.SERVE:
        return tr("doctor.healthy_serving")
    return tr("doctor.incomplete", stage=stage_name(stage)) if stage else tr("doctor.healthy")


def cell_len(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def stage_name(stage: object) -> str:
    """The stage in the reader's language."""
    return tr(f"doctor.at_{stage}") if stage else "?"


def _starts(diagnosis: Diagnosis) -> None:
    if not diagnosis.starts:
        return
    click.echo(tr("doctor.earlier", count=len(diagnosis.starts)))
    for start in diagnosis.starts:
        key = "doctor.earlier_failed" if start["failed"] else "doctor.earlier_ended"
        outcome = tr(key, stage=stage_name(start["stage"]))
        click.echo(
            "  " + tr("doctor.earlier_line", first=start["first_line"], last=start["last_line"], outcome=outcome)
        )


def _finding(finding: Finding) -> None:
    label = click.style(tr(f"doctor.severity_{finding.severity}"), fg=_COLOUR[finding.severity], bold=True)
    sure = tr(f"doctor.confidence_{finding.confidence}")
    click.echo(f"{label}  {finding.cause} · {tr('doctor.stage', stage=stage_name(finding.stage))} · {sure}")
    _part(tr("doctor.what"))
    _paragraph(finding.summary)
    why = finding.why or why_text(finding.cause)
    if why:
        _paragraph(why)
    if finding.evidence:
        _part(tr("doctor.evidence"))
        for item in finding.evidence:
            place = f"{click.style(tr('doctor.line', number=item.line), dim=True)}  " if item.line else ""
            click.echo(f"  {place}{item.text[:600]}")
    if finding.fixes:
        _part(tr("doctor.next"))
        for number, fix in enumerate(finding.fixes, 1):
            _fix(number, fix)


def why_text(cause: str) -> str:
    """Why this happens, in general; empty where nothing more is to be said."""
    key = f"causes.{cause}_why"
    return tr(key) if known(key) else ""


def known(key: str) -> bool:
    """Whether there is a sentence for this key."""
    try:
        tr(key)
    except KeyError:
        return False
    return True


def _part(title: str) -> None:
    click.echo(click.style(title, bold=True))


def _paragraph(text: str, indent: str = "  ") -> None:
    width = max(40, min(110, shutil.get_terminal_size((100, 24)).columns))
    if text.isascii():
        text = textwrap.fill(text, width, initial_indent=indent, subsequent_indent=" " * len(indent))
        click.echo(text)
    else:
        click.echo(indent + text)


def _fix(number: int, fix: Fix) -> None:
    change = change_text(fix)
    head = f"  {number}. "
    if change:
        click.echo(head + click.style(change, fg="green"))
        _paragraph(fix.why, "     ")
    else:
        _paragraph(fix.why, head) if fix.why.isascii() else click.echo(head + fix.why)
    text = predicted_text(fix.predicted)
    if text:
        click.echo(f"     {tr('doctor.predicted')}{text}")


def change_text(fix: Fix) -> str:
    """What is to be changed, as it is typed: `NCCL_P2P_DISABLE=1 --max-num-seqs 64`; empty where no flag says it."""
    return " ".join(
        [*(f"{name}={value}" for name, value in fix.env.items()), *(_flag(*item) for item in fix.set.items())]
    )


def _flag(flag: str, value: object) -> str:
    if value is None:
        return tr("doctor.flag_removed", flag=flag)
    return as_flag(flag, value)


def predicted_text(predicted: Mapping[str, object] | None) -> str:
    """The predicted figures in a line: `KV cache 7.02 → 6.31 GiB, 365,000 tokens, fits`."""
    if not predicted:
        return ""
    parts = []
    for name, value in predicted.items():
        old = predicted.get(f"was_{name}", predicted.get(f"was_{name.rsplit('_', 1)[-1]}"))
        key = f"doctor.figure_{name}"
        if value is not None and value != old and known(key):
            parts.append(tr(key, value=_value(value, old)))
    if isinstance(predicted.get("fits"), bool):
        parts.append(tr("doctor.fits" if predicted["fits"] else "doctor.fits_not"))
    return tr("doctor.comma").join(parts)


def _value(value: object, old: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else str(value)
    if not isinstance(old, (int, float)):
        return text
    before = f"{old:,}" if isinstance(old, int) else f"{old:.2f}"
    return tr("doctor.figure_was", old=before, new=text)
