"""`fitserve tune`: a short list of settings, compared within a budget; the winner is proved once more, then offered."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.bench_options import work_options
from fitserve.errors import Interrupted, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.cli.up_target import Wishes
    from fitserve.measure.compare import Plan, Trial
    from fitserve.measure.tune import Tuned
    from fitserve.observe.record import RunRecord
    from fitserve.run.control import Control

SCHEMA_VERSION = 1


@click.command(help="Try a short list of settings within a budget of minutes, prove the best, and offer it.")
@click.argument("target", metavar="NAME|MODEL")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=60.0, help="the budget (default 60)")
@click.option("--users", type=click.IntRange(1, 4096), default=8, help="in flight at once (default 8)")
@click.option("--requests", type=click.IntRange(1), help="a start (default: 6 a user, at least 16)")
@click.option("--warmup", type=click.IntRange(0), default=2, help="conversations before, not counted (default 2)")
@click.option("--questions", type=click.IntRange(1, 1000), default=3, help="asked before the load (default 3)")
@click.option("--only", default="", metavar="SETTING …", help="try these instead: 'graphs seqs=64 tp=2'")
@work_options
@click.option("--apply", "apply_it", is_flag=True, help="let the next `up NAME` use what was proved better")
@click.option("--undo", is_flag=True, help="take back what --apply wrote")
@click.option("--stop-running", is_flag=True, help="stop what runs here meanwhile; it is started again afterwards")
@click.option("--engine-python", default="", help="an interpreter that has vLLM, in place of a managed engine")
@click.option("--timeout", type=click.FloatRange(min=1), default=1800.0, help="seconds for one start (default 1800)")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="where the JSON lines go")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    target: str,
    undo: bool,
    apply_it: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - a load's options, read by name
) -> None:
    from fitserve.cli.tune_apply import apply_setting, taken_back
    from fitserve.clock import SystemClock
    from fitserve.measure.results import new_results

    if undo:
        taken_back(target)
        click.echo(tr("measure.taken_back", name=target))
        return
    record = new_results("tune", target.replace("/", "_").strip("._") or "model", SystemClock(), output)
    try:
        plan, removed, tuned = _tuned(target, options, record)
    except KeyboardInterrupt:
        raise Interrupted(tr("failure.interrupted")) from None
    finally:
        record.close()
    applied = bool(apply_it and tuned.offered and apply_setting(target, tuned.offered))
    if as_json:
        click.echo(json.dumps(document(target, plan, removed, tuned, applied, record), ensure_ascii=False))
    else:
        _tell(target, removed, tuned, applied)
    ctx.exit(0)


def _tuned(target: str, options: dict[str, Any], record: RunRecord) -> tuple[Plan, dict[str, str], Tuned]:
    from fitserve.cli.compare_service import base_wishes, room
    from fitserve.run.control import Control

    control, base = Control(), base_wishes(target, options["engine_python"])
    with room(control, options["stop_running"]):  # the plan, too, looks at the memory that is free
        parsed, removed = _candidates(target, base, options["only"])
        return _searched(target, control, base, parsed, options, record, removed)


def _candidates(target: str, base: Wishes, only: str) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What is worth a start, by label, and why the rest is not. Raises SettingsError."""
    from fitserve.cli.compare_settings import AS_IS, parse_setting
    from fitserve.cli.tune_space import fitting, situation
    from fitserve.measure.tune import candidates

    asked = tuple(only.split()) or candidates(situation(base))
    parsed = {label: parse_setting(label) for label in asked if label != AS_IS}
    kept, removed = fitting(base, parsed)
    for label, why in removed.items():
        click.echo(tr("measure.removed", setting=label, why=why), err=True)
    if not kept:
        raise SettingsError(tr("measure.nothing_to_try"), hint=f"fitserve plan {target}")
    return {AS_IS: {}} | {label: parsed[label] for label in kept}, removed


def _searched(
    target: str,
    control: Control,
    base: Wishes,
    parsed: dict[str, dict[str, Any]],
    options: dict[str, Any],
    record: RunRecord,
    removed: dict[str, str],
) -> tuple[Plan, dict[str, str], Tuned]:
    from fitserve.cli.bench_memory import memory_here
    from fitserve.cli.compare import kept_head, listener, made_plan
    from fitserve.cli.compare_service import DeploymentService
    from fitserve.cli.up_screen import Lines
    from fitserve.measure.tune import Budget, Tuning

    plan = made_plan(tuple(parsed), options | {"rounds": 5})
    click.echo(tr("measure.tuning", settings=" · ".join(parsed), minutes=f"{options['minutes']:g}"), err=True)
    service = DeploymentService(base, parsed, control, Lines(), options["timeout"])
    record.write("compare", **kept_head(target, plan))
    budget = Budget(options["minutes"] * 60)
    memory = memory_here(base.name)
    tuning = Tuning(service, memory, listener(plan, record), lambda trial: _heard(trial, record, budget))
    return plan, removed, tuning.run(plan, budget)


def _heard(trial: Trial, record: RunRecord, budget: Any) -> None:  # noqa: ANN401 - Budget, imported late
    from fitserve.cli.compare import keep
    from fitserve.measure.tune import flow
    from fitserve.measure.words import known

    keep(record, trial)
    minutes = f"{max(budget.left(), 0) / 60:.0f}"
    click.echo(tr("measure.tried", setting=trial.setting, rate=known(flow(trial)), minutes=minutes), err=True)


def document(
    target: str, plan: Plan, removed: dict[str, str], tuned: Tuned, applied: bool, record: RunRecord
) -> dict[str, object]:
    """`tune --json`."""
    from fitserve.measure.tables import plain
    from fitserve.measure.tune import flow

    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "tuning",
        "target": target,
        "settings": list(plan.settings),
        "removed": [{"setting": label, "why": why} for label, why in removed.items()],
        "looked": [{"setting": trial.setting, "output_tokens_s": plain(flow(trial))} for trial in tuned.looked],
        "not_looked": list(tuned.not_looked),
        "winner": tuned.winner,
        "verdict": plain(tuned.verdict) if tuned.verdict else None,
        "offered": tuned.offered,
        "applied": applied,
        "command": up_command(target, tuned.offered) if tuned.offered else None,
        "file": str(record.path),
    }


def _tell(target: str, removed: dict[str, str], tuned: Tuned, applied: bool) -> None:
    from fitserve.measure.tune import flow
    from fitserve.measure.words import known, verdict_text

    for trial in tuned.looked:
        click.echo(f"{trial.setting:<24} {known(flow(trial)):>10} {tr('measure.col_output')}")
    for label, why in removed.items():
        click.echo(tr("measure.removed", setting=label, why=why))
    if tuned.not_looked:
        click.echo(tr("measure.not_looked", settings=" · ".join(tuned.not_looked)))
    if tuned.winner is None:
        unknown = not tuned.looked or flow(tuned.looked[0]) is None
        click.echo(tr("measure.base_unknown" if unknown else "measure.nothing_better"))
        return
    click.echo(verdict_text(tuned.verdict) if tuned.verdict else tr("measure.not_proved", setting=tuned.winner))
    if applied:
        click.echo(tr("measure.applied", name=target) + f"\n  {tr('failure.next')}fitserve up {target}")
        click.echo(tr("measure.way_back", name=target))
    elif tuned.offered:
        click.echo(f"  {tr('failure.next')}{up_command(target, tuned.offered)}")


def up_command(target: str, setting: str) -> str:
    """How a setting is started by hand."""
    from fitserve.cli.compare_settings import parse_setting

    words = ["fitserve", "up", target]
    for name, value in parse_setting(setting).items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag, str(value)] if not isinstance(value, bool) else [flag if value else f"--no-{flag[2:]}"]
    return shlex.join(words)
