"""`fitserve doctor`: from a log to the stage, the cause, the evidence and the change that cures it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.errors import NotFound, OperationFailed, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.diagnose.engine import Stated
    from fitserve.diagnose.finding import Diagnosis
    from fitserve.facts.gpu import Gpu
    from fitserve.run.view import View

PROBLEMS = 5


def _help(key: str) -> str:
    return tr(f"doctor.{key}")


@click.command("doctor", help=tr("help.doctor"))
@click.argument("target", metavar="[NAME|LOG|-]", required=False)
@click.option("--args", "flags", metavar="FLAGS", default="", help=_help("option_args"))
@click.option("--gpus", metavar="CARDS", default="", help=_help("option_gpus"))
@click.option("--model", default="", help=_help("option_model"))
@click.option("--json", "as_json", is_flag=True, help=_help("option_json"))
@click.option(
    "--fail-on",
    type=click.Choice(["info", "warn", "fatal", "never"]),
    default="fatal",
    show_default=True,
    help=_help("option_fail_on"),
)
@click.option("--example", metavar="NAME", default="", help=_help("option_example"))
@click.option("--mistakes", is_flag=True, help=_help("option_mistakes"))
@click.option("--probe", is_flag=True, help=_help("option_probe"))
@click.option("--bundle", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help=_help("option_bundle"))
def command(
    target: str | None,
    flags: str,
    gpus: str,
    model: str,
    as_json: bool,
    fail_on: str,
    example: str,
    mistakes: bool,
    probe: bool,
    bundle: Path | None,
) -> int:
    """Explain a log: a file, standard input, or a deployment's own."""
    from fitserve.cli import doctor_bundle, doctor_mistakes

    if mistakes:
        doctor_mistakes.show(as_json=as_json)
        return 0
    view = _deployment(target, example)
    if probe and view is None:
        raise SettingsError(tr("doctor.probe_needs_name"), hint="fitserve status")
    stated, cards = _stated(flags, gpus, model)
    path = None if view else _source(target, example)
    diagnosis = _of_service(view, stated, probe=probe) if view else _of_log(path, stated, cards, named=bool(target))
    _show(diagnosis, as_json=as_json)
    if bundle is not None:
        log = engine_log_of(view) if view else path
        doctor_bundle.write(bundle, diagnosis, log, view)
    return PROBLEMS if _fails(fail_on, _severities(diagnosis)) else 0


def _show(diagnosis: Diagnosis, *, as_json: bool) -> None:
    from fitserve.cli import doctor_words
    from fitserve.diagnose.document import document

    if as_json:
        click.echo(json.dumps(document(diagnosis), ensure_ascii=False, default=str))
    else:
        doctor_words.show(diagnosis)


def _of_log(path: Path | None, stated: Stated, cards: tuple[Gpu, ...], *, named: bool) -> Diagnosis:
    from fitserve.cli import doctor_source
    from fitserve.diagnose.engine import diagnose

    reading = doctor_source.read(path)
    if not reading.lines and path is None and not named:
        raise _no_input()
    if not reading.lines:
        raise OperationFailed(tr("doctor.empty"), code="empty", hint=tr("doctor.empty_hint"))
    return diagnose(reading, stated, doctor_source.predictor(reading, stated, cards))


def _of_service(view: View, stated: Stated, *, probe: bool) -> Diagnosis:
    from dataclasses import replace

    from fitserve.cli import doctor_probe, doctor_service, doctor_source

    facts = doctor_source.facts_of(view.deployment.model) if probe else None
    asked = tuple(doctor_probe.probed(view.deployment, facts)) if probe else ()
    diagnosis = doctor_service.judged(view, stated)
    return replace(diagnosis, checks=(*diagnosis.checks, *asked))


def engine_log_of(view: View) -> Path:
    """The file that the engine of a deployment writes."""
    from fitserve.run.deployment import engine_log

    return engine_log(view.deployment.name)


def _severities(diagnosis: Diagnosis) -> list[str]:
    """Of the findings; a check that failed weighs as much as a fatal one."""
    failed = ["fatal"] if any(check.state == "fail" for check in diagnosis.checks) else []
    return [*(finding.severity for finding in diagnosis.findings), *failed]


def _fails(threshold: str, severities: list[str]) -> bool:
    order = ["info", "warn", "fatal"]
    return threshold != "never" and any(order.index(item) >= order.index(threshold) for item in severities)


def _no_input() -> SettingsError:
    return SettingsError(tr("doctor.no_input"), hint=tr("doctor.no_input_hint"))


def _source(target: str | None, example: str) -> Path | None:
    """The file to read, None for standard input."""
    from fitserve.cli import doctor_source

    if example:
        return doctor_source.example(example)
    if target == "-" or (target is None and not sys.stdin.isatty()):
        return None
    if target is None:
        raise _no_input()
    path = Path(target)
    if path.is_dir():
        raise SettingsError(tr("doctor.is_folder", name=target), hint=tr("doctor.is_folder_hint", name=target))
    if path.exists():
        return path
    raise NotFound(tr("doctor.no_such", name=target), evidence=target, hint=tr("doctor.no_such_hint"))


def _deployment(target: str | None, example: str) -> View | None:
    """The deployment of this name; a file of the same name is meant as a file where it is one."""
    from fitserve.cli.doctor_service import view_of

    if example or target in (None, "-") or (target and Path(target).is_file()):
        return None
    return view_of(target or "")


def _stated(flags: str, gpus: str, model: str) -> tuple[Stated, tuple[Gpu, ...]]:
    """What the person says of the launch and the machine; no cards where nothing was said."""
    from fitserve.diagnose.engine import Stated
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.gpu_request import parse_gpus
    from fitserve.observe.log.launch import from_command
    from fitserve.units import GIB

    try:
        settings = from_command(flags)
    except ValueError as error:
        raise SettingsError(tr("doctor.bad_args"), evidence=str(error), hint="fitserve doctor --help") from error
    found = parse_gpus(gpus) if gpus else ()
    cards = () if isinstance(found, GpusUnknown) else found
    gib = min((card.total_bytes / GIB for card in cards), default=None)
    return Stated(settings, len(cards) or None, gib, model), cards
