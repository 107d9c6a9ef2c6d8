"""A plan for a reader: verdict, settings, the ledger as bars, the cache, reasons, checks, and the command to copy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fitserve.chat.clean import strip_control
from fitserve.plan.flags import as_flags
from fitserve.plan.make import failures
from fitserve.plan.plan import Change, CheckState, Correction, LedgerRow, Plan, Verdict
from fitserve.plan.row_text import row_text
from fitserve.plan.settings import Settings
from fitserve.text import tr
from fitserve.units import format_gib

_WIDTH, _BAR = 100, 24
_COLOUR = {Verdict.FITS: "green", Verdict.TIGHT: "yellow", Verdict.DOES_NOT_FIT: "red"}
_MARK = {CheckState.OK: "✓", CheckState.WARN: "!", CheckState.FAIL: "✗", CheckState.UNKNOWN: "?"}
_CHECK_COLOUR = {CheckState.OK: "green", CheckState.WARN: "yellow", CheckState.FAIL: "red", CheckState.UNKNOWN: "cyan"}


def show_plan(plan: Plan, console: Console | None = None) -> None:
    """Print the plan on stdout, one screen."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    width = min(console.width, _WIDTH)
    console.print(_headline(plan), width=width)
    console.print(_ledger(plan, _BAR if width >= 90 else _BAR // 2), width=width)
    for line in _after(plan):
        console.print(line, width=width, overflow="fold")
    if plan.corrected:
        _correction(plan.corrected, console, width)
    elif not plan.fits or failures(plan.checks):
        console.print(Text(tr("plan.no_command"), style="bold"), width=width)
    else:
        console.print(Text(tr("plan.command"), style="bold"))
        console.print(Text(command_line(plan.command, plan.env)), soft_wrap=True)


def _correction(correction: Correction, console: Console, width: int) -> None:
    """What was changed and why, then the one command that is worth copying."""
    console.print(Text(tr("plan.changed"), style="bold"))
    for change in correction.changes:
        console.print(Text(strip_control(_changed(change))), width=width, overflow="fold")
    verdict = tr(f"plan.near_{correction.plan.verdict.value}")
    console.print(Text(tr("plan.command_corrected", verdict=verdict), style="bold"))
    console.print(_settings(correction.plan.settings), width=width)
    console.print(Text(strip_control(command_line(correction.command, correction.env))), soft_wrap=True)


def _changed(change: Change) -> str:
    if not change.after and change.why.startswith(change.before):
        return f"− {change.why}"
    sign, what = "−" if not change.after else "~" if change.before else "+", (change.before, change.after)
    return f"{sign} {' → '.join(filter(None, what))}{tr('plan.colon')}{change.why}"


def _headline(plan: Plan) -> Text:
    text = Text()
    fails = plan.fits and failures(plan.checks)
    tight = "_tight" if plan.verdict is Verdict.TIGHT else ""
    said = tr(f"plan.verdict_fails{tight}" if fails else f"plan.verdict_{plan.verdict.value}")
    text.append(said, style=f"bold {'red' if fails else _COLOUR[plan.verdict]}")
    text.append("  " + strip_control(plan.model.name), style="bold")
    text.append(f"  {plan.engine.name} {plan.engine.version}\n", style="dim")
    return text.append(_settings(plan.settings))


def _settings(settings: Settings) -> Text:
    said = tr(
        "plan.settings_line",
        ranks=settings.tensor_parallel_size,
        mode=tr("plan.mode_eager" if settings.enforce_eager else "plan.mode_graphs"),
        length=f"{settings.max_model_len:,}",
        seqs=settings.max_num_seqs,
        step=f"{settings.max_num_batched_tokens:,}",
    )
    return Text(said)


def _ledger(plan: Plan, longest: int) -> Table:
    table = Table(box=None, padding=(0, 1), title=None)
    table.add_column(tr("plan.column_item"), no_wrap=True)
    table.add_column("GiB", justify="right", no_wrap=True)
    table.add_column(tr("plan.column_range"), justify="right", no_wrap=True, style="dim")
    table.add_column("", no_wrap=True)
    table.add_column(tr("plan.column_basis"), no_wrap=True, style="dim")
    scale = max([plan.budget_bytes, *(row.high or 0 for row in plan.ledger)], default=1) or 1
    for row in plan.ledger:
        table.add_row(*_row(row, scale / longest, plan.engine.device == "cpu"))
    table.add_row(tr("plan.row_budget"), format_gib(plan.budget_bytes), "", "", "", style="bold")
    return table


def _row(row: LedgerRow, unit: float, on_cpu: bool) -> Iterator[Text]:
    style = "dim" if row.item == "reserve" or row.transient else ""
    yield Text(row_text(row.item, on_cpu=on_cpu), style=style)
    if row.expected is None or row.low is None or row.high is None:
        yield from (Text("?"), Text(""), Text(""), Text(tr("plan.basis_unknown")))
        return
    yield Text(format_gib(row.expected), style=style)
    dash = " … " if row.low < 0 else "–"  # "-29.39–-10.56" is no range that anybody reads
    yield Text("" if row.low == row.high else f"{format_gib(row.low)}{dash}{format_gib(row.high)}")
    yield _bar(row, unit)
    yield Text(tr(f"plan.basis_{row.basis.value}"))


def _bar(row: LedgerRow, unit: float) -> Text:
    """Full blocks to the low end, lighter ones to the high end."""
    low, high = (max(0, round((size or 0) / unit)) for size in (row.low, row.high))
    style = {"kv_pool": "green", "weights": "blue", "reserve": "dim"}.get(row.item, "yellow")
    least = 1 if (row.expected or 0) > 0 else 0
    return Text("█" * low + "▒" * max(high - low, least - low), style="dim" if row.transient else style)


def _after(plan: Plan) -> Iterator[Text]:
    if plan.kv and plan.kv.blocks:
        kv = plan.kv
        yield Text(
            tr(
                "plan.kv_line",
                blocks=f"{kv.blocks:,}",
                block=kv.block_tokens,
                tokens=f"{kv.tokens:,}",
                times=f"{kv.concurrency:.2f}",
                length=f"{plan.settings.max_model_len:,}",
                need=kv.blocks_per_request,
            )
        )
    yield from _choices(plan)
    told_below = {change.why for change in plan.corrected.changes} if plan.corrected else set()
    for check in plan.checks:
        if check.state is not CheckState.OK and check.detail not in told_below:
            yield Text(f"{_MARK[check.state]} {strip_control(check.detail)}", style=_CHECK_COLOUR[check.state])
    passed = sum(check.state is CheckState.OK for check in plan.checks)
    said = "plan.checks_passed" if plan.fits else "plan.checks_passed_besides"
    yield Text(tr(said, passed=passed, all=len(plan.checks)), style="dim")


def _choices(plan: Plan) -> Iterator[Text]:
    """Why it is as it is, and what else there is: ✗ can't be, ○ fits too, → may be wanted."""
    for reason in plan.reasons:
        yield Text("· " + strip_control(reason))
    shown = {option.settings["tensor_parallel_size"] for option in plan.options}
    for refused in plan.refused:
        if refused.settings["tensor_parallel_size"] not in shown:
            mark = "○" if refused.fits else "✗"
            yield Text(f"{mark} {as_flags(refused.settings)}{tr('plan.colon')}{refused.why}", style="dim")
    for option in plan.options:
        yield Text(f"→ {option.why}", style="bold")
    if not plan.corrected:
        for other in plan.nearest:
            yield Text(f"→ {other.why}", style="bold")


def command_line(command: Sequence[str], env: Mapping[str, str]) -> str:
    """A command with its environment in front, ready for a shell."""
    said = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    return f"{said} {shlex.join(command)}".strip()
