"""`fitserve compare`: settings against each other, each from a clean start, and a verdict where figures support it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.bench_options import parse_body, parse_bounds, work_options, workload
from fitserve.cli.target import DEMO
from fitserve.errors import Interrupted, NotFound, SettingsError, ToolMissing
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.measure.bench import Listener, Spec
    from fitserve.measure.compare import Comparing, Plan, Trial
    from fitserve.measure.sample import Sample
    from fitserve.observe.record import RunRecord

SCHEMA_VERSION = 1
_THINKING_OFF = {"enable_thinking": False}  # so that an answer is an answer; a template without it ignores it


@click.command(help="Measure settings against each other: eager graphs · tp=1 tp=2 · seqs=16,kv-dtype=fp8 as-is")
@click.argument("target", metavar="NAME|MODEL")
@click.argument("settings", metavar="SETTING SETTING…", nargs=-1)
@click.option("--rounds", type=click.IntRange(1, 100), default=5, help="starts of each setting (default 5)")
@click.option("--questions", type=click.IntRange(1, 1000), default=10, help="whose answers are compared (default 10)")
@click.option("--users", type=click.IntRange(1, 4096), default=1, help="in flight at once (default 1)")
@click.option("--requests", type=click.IntRange(1), help="a round (default: 6 a user, at least 16)")
@click.option("--warmup", type=click.IntRange(0), default=2, help="conversations before, not counted (default 2)")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="begin no round after so long")
@work_options
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
    settings: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - a load's options, read by name
) -> None:
    from fitserve.clock import SystemClock
    from fitserve.measure.results import new_results

    parsed = parsed_settings(target, settings)
    plan = made_plan(settings, options)
    record = new_results("compare", target.replace("/", "_").strip("._") or "model", SystemClock(), output)
    comparing, interrupted = _compared(target, parsed, plan, record, options, as_json)
    table = document(target, plan, comparing, record)
    record.write("verdict", **table)
    record.close()
    code = 130 if interrupted else exit_code(target, comparing.trials)
    if as_json:
        click.echo(json.dumps(table, ensure_ascii=False))
    else:
        _tell(plan, comparing, record, target == DEMO)
    ctx.exit(code)


def parsed_settings(target: str, settings: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Each setting's options by its label. Raises SettingsError."""
    from fitserve.cli.compare_settings import parse_setting

    parsed = {text: parse_setting(text) for text in settings}
    if len(settings) < 2:
        hint = tr("measure.too_few_settings_next", target=target)
        raise SettingsError(tr("measure.too_few_settings"), hint=hint)
    if len(parsed) < len(settings) or any(list(parsed.values()).count(values) > 1 for values in parsed.values()):
        hint = tr("measure.too_few_settings_next", target=target)
        raise SettingsError(tr("measure.same_settings"), evidence=" ".join(settings), hint=hint)
    return parsed


def made_plan(settings: tuple[str, ...], options: dict[str, Any]) -> Plan:
    """What is done in each round. Raises SettingsError."""
    from fitserve.measure.bench import Spec
    from fitserve.measure.compare import Plan
    from fitserve.measure.load import Pace

    users = options["users"]
    extra = parse_body(options["body"]) or (("chat_template_kwargs", _THINKING_OFF),)
    load = Spec(
        workload(options, options["requests"] or max(16, 6 * users)),
        Pace(users=users),
        options["warmup"],
        parse_bounds(options["goodput"]),
        extra,
        options["request_timeout"],
    )
    return Plan(settings, options["rounds"], options["questions"], load)


def _compared(
    target: str,
    parsed: dict[str, dict[str, Any]],
    plan: Plan,
    record: RunRecord,
    options: dict[str, Any],
    as_json: bool,
) -> tuple[Comparing, bool]:
    from fitserve.cli.bench_memory import memory_here
    from fitserve.cli.compare_service import DeploymentService, base_wishes, room
    from fitserve.cli.up_screen import Lines
    from fitserve.measure.compare import Comparing
    from fitserve.run.control import Control

    control = Control()
    base = base_wishes(target, options["engine_python"])
    service = DeploymentService(base, parsed, control, Lines(), options["timeout"])
    record.write("compare", **kept_head(target, plan))
    comparing = Comparing(plan, service, memory_here(base.name), listener(plan, record))
    try:
        with room(control, options["stop_running"]):
            comparing.run(lambda trial: keep(record, trial), _budget(options["minutes"], as_json))
    except (KeyboardInterrupt, Interrupted):
        click.echo(tr("failure.interrupted"), err=True)
        return comparing, True
    return comparing, False


def _budget(minutes: float | None, quiet: bool) -> Callable[[int], bool]:
    """Whether another round may begin."""
    begun = time.monotonic()

    def go_on(number: int) -> bool:
        if minutes is None or number == 0 or time.monotonic() - begun < minutes * 60:
            return True
        if not quiet:
            click.echo(tr("measure.time_spent", minutes=f"{minutes:g}", rounds=number), err=True)
        return False

    return go_on


def listener(plan: Plan, record: RunRecord) -> Callable[[str, int], Listener]:
    """Who hears of a setting's round: the screen and the record."""
    return lambda setting, number: _Kept(plan, record, setting, number)


class _Kept:
    """Shows a sample and keeps it, under its setting and round."""

    def __init__(self, plan: Plan, record: RunRecord, setting: str, number: int) -> None:
        from fitserve.cli.bench_screen import Progress

        self._record, self._where = record, {"setting": setting, "round": number}
        what = tr("measure.round_begins", number=number + 1, rounds=plan.rounds, setting=setting)
        self._progress: Listener = Progress(what)

    def begins(self, part: str, requests: int) -> None:
        self._progress.begins(part, requests)

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:
        self._record.write("sample", **self._where, part=part, **sample.table())
        self._progress.sample(part, sample, in_flight)


def kept_head(target: str, plan: Plan) -> dict[str, object]:
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.read_gpus import read_gpus
    from fitserve.facts.read_host import read_host
    from fitserve.measure.results import head

    gpus = read_gpus()
    found = head({"name": target}, read_host(), None if isinstance(gpus, GpusUnknown) else gpus, None, None)
    return found | {"plan": plan_table(plan)}


def plan_table(plan: Plan) -> dict[str, object]:
    """All that is needed to do it again."""
    from fitserve.measure.tables import spec_table

    load: Spec = plan.load
    return {
        "settings": list(plan.settings),
        "rounds": plan.rounds,
        "questions": plan.questions,
        "load": spec_table(load),
    }


def keep(record: RunRecord, trial: Trial) -> None:
    """One start in the record: how it started, its answers, its figures."""
    from fitserve.measure.tables import bench_table, plain

    where = {"setting": trial.setting, "round": trial.number}
    if trial.failure or trial.running is None or trial.load is None:
        failure = trial.failure
        reason = {"message": failure.message, "evidence": failure.evidence} if failure else None
        record.write("round", **where, failure=reason)
        return
    if trial.load.memory:
        from fitserve.measure.results import memory_table

        record.write("memory", **where, rows=memory_table(trial.load.memory))
    record.write(
        "round",
        **where,
        failure=None,
        start_seconds=round(trial.running.seconds, 3),
        cold_first_token_seconds=plain(trial.cold.first_token_s if trial.cold else None),
        answers=list(trial.answers),
        right=trial.right,
        judged=trial.judged,
        stage_memory_bytes=plain(trial.stage_memory),
        deployment=plain(trial.running.deployment),
        result=bench_table(trial.load),
    )


def document(target: str, plan: Plan, comparing: Comparing, record: RunRecord) -> dict[str, object]:
    """`compare --json`."""
    from fitserve.measure.compare import compare_answers
    from fitserve.measure.tables import plain
    from fitserve.measure.verdict import summary, verdicts

    rounds, trials = comparing.rounds(), comparing.trials
    failed = {trial.setting: trial.failure for trial in trials if trial.failure}
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "comparison",
        "target": target,
        "settings": list(plan.settings),
        "base": plan.settings[0],
        "rounds": plan.rounds,
        "figures": {setting: plain(summary(rounds, setting)) for setting in plan.settings},
        "verdicts": [plain(verdict) for verdict in verdicts(rounds, plan.settings)],
        "answers": [plain(row) for row in compare_answers(trials, plan, plan.asking().work)],
        "right": {
            setting: {
                "right": sum(trial.right for trial in trials if trial.setting == setting),
                "judged": sum(trial.judged for trial in trials if trial.setting == setting),
            }
            for setting in plan.settings
        },
        "invalid_rounds": [
            {"setting": trial.setting, "round": trial.number, "why": list(trial.load.invalid)}
            for trial in trials
            if trial.load and trial.load.invalid
        ],
        "failed": [{"setting": name, "message": one.message, "evidence": one.evidence} for name, one in failed.items()],
        "file": str(record.path),
    }


def _tell(plan: Plan, comparing: Comparing, record: RunRecord, judge: bool) -> None:
    from fitserve.cli.compare_screen import answer_lines, table, trial_lines, verdict_lines
    from fitserve.measure.compare import compare_answers
    from fitserve.measure.verdict import verdicts

    rounds, trials = comparing.rounds(), comparing.trials
    model = next((trial.running.endpoint.model for trial in trials if trial.running), "")
    head = tr("measure.compared", model=model, settings=" · ".join(plan.settings), rounds=plan.rounds)
    click.echo(head + "\n\n" + "\n".join(table(plan, rounds, trials, judge)) + "\n")
    for line in verdict_lines(verdicts(rounds, plan.settings)):
        click.echo(line)
    for line in answer_lines(compare_answers(trials, plan, plan.asking().work), plan.settings[0]):
        click.echo(line)
    for line in trial_lines(plan, trials):
        click.echo(line)
    kept = tr("measure.kept", path=record.path)
    click.echo(f"{kept}\n  {tr('failure.next')}fitserve report {record.path}", err=True)


def exit_code(target: str, trials: list[Trial]) -> int:
    """1 where fewer than two settings started, 5 where one did not. Where none did, the first failure is raised."""
    started = {trial.setting for trial in trials if trial.running}
    failures = [trial.failure for trial in trials if trial.failure]
    if not started and failures:
        first = failures[0]
        kept = isinstance(first, (NotFound, ToolMissing)) and first.hint
        first.hint = first.hint if kept else f"fitserve up {target}"  # what failed is gone again
        raise first
    if len(started) < 2:
        click.echo(tr("measure.one_setting_left"), err=True)
        return 1
    return 5 if failures else 0
