"""`fitserve plan MODEL`: what fits this machine, why, and the exact command."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from fitserve.cli.plan_options import plan_options, request_from
from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.plan.given import Given
    from fitserve.plan.plan import Plan


@click.command()
@click.argument("model", required=False)
@plan_options
@click.option(
    "--from",
    "their_command",
    metavar='"vllm serve …"',
    help="the ledger and the mistakes of this command, and a corrected one",
)
@click.option("--explain", "row", metavar="ROW", help="a row of the ledger as its formula with the numbers in it")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED)
def command(
    model: str | None,
    their_command: str | None,
    row: str | None,
    as_json: bool,
    extra: tuple[str, ...],
    **options: object,
) -> int:
    """What fits, row by row, and the command to copy. What follows -- goes to vLLM as it is.

    Exit code 4: it does not fit (the plan is printed all the same). 5: it fits, but a check says the start will fail.
    """
    from fitserve.plan.make import failures

    given, plan = _reviewed(their_command, model, options) if their_command else _planned(model, options, extra)
    if row:
        _explain(row, given, plan, as_json)
    elif as_json:
        from fitserve.plan.document import plan_document

        _print(plan_document(plan))
    else:
        from fitserve.cli.plan_screen import show_plan

        show_plan(plan)
    return 4 if not plan.fits else 5 if failures(plan.checks) else 0


def _planned(model: str | None, options: dict[str, object], extra: tuple[str, ...]) -> tuple[Given, Plan]:
    from fitserve.cli.plan_machine import assumed_engine, cards_of, model_of, no_card_note, own_figures
    from fitserve.facts.read_host import read_host
    from fitserve.plan.given import Given
    from fitserve.plan.make import make_plan

    if model is None:
        raise SettingsError(tr("plan.no_model"), hint="fitserve plan qwen3.5-35b-a3b-awq-4bit --gpus 2xRTX3090")
    request = request_from(options, extra)
    facts, cards = model_of(model), cards_of(str(options["gpus"]))
    engine, host = assumed_engine(cards, options["engine_version"]), read_host()
    learned = own_figures()
    if cards is None and (note := no_card_note(str(options["gpus"]))):
        click.echo(note, err=True)
    given = Given(request, facts, engine, host, cards, learned)
    return given, make_plan(request, facts, engine, host, cards, learned)


def _reviewed(text: str, model: str | None, options: dict[str, object]) -> tuple[Given, Plan]:
    from fitserve.cli.plan_machine import assumed_engine, cards_of, model_of, own_figures
    from fitserve.facts.read_host import read_host
    from fitserve.plan.given import Given
    from fitserve.plan.parse import parse_text
    from fitserve.plan.review import review, seen_cards

    try:
        parsed = parse_text(text)
    except ValueError as error:
        raise SettingsError(tr("plan.unreadable_command"), evidence=str(error), hint="fitserve plan --help") from error
    name = model or parsed.model
    if not name:
        raise SettingsError(
            tr("plan.command_without_model"), evidence=text[:200], hint='fitserve plan MODEL --from "…"'
        )
    facts, cards = model_of(name), cards_of(str(options["gpus"]))
    engine, host = assumed_engine(cards, options["engine_version"] or parsed.version), read_host()
    given = Given(parsed.request, facts, engine, host, seen_cards(parsed, cards), own_figures())
    return given, review(parsed, facts, engine, host, cards, given.learned)


def _explain(row: str, given: Given, plan: Plan, as_json: bool) -> None:
    from fitserve.plan.explain_row import ROWS, explain_row

    shown = {tr(f"plan.row_{name}"): name for name in ROWS}
    typed = row.strip().lower()
    name = next((key for label, key in shown.items() if label.lower() == typed), row.replace("-", "_"))
    if name not in ROWS:
        named = tr("plan.row_kv_pool")
        hint = f'fitserve plan MODEL --explain "{named}"'
        raise SettingsError(tr("plan.no_row", row=row), evidence=" · ".join(shown), hint=hint)
    lines = explain_row(name, given, plan.settings)
    if as_json:
        _print({"schema_version": 1, "kind": "explanation", "row": name, "lines": lines})
    else:
        click.echo("\n".join(lines))


def _print(document: dict[str, object]) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
