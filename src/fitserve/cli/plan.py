"""`fitserve plan MODEL`: what fits this machine, why, and the exact command."""

from __future__ import annotations

import json
import sys

import click

from fitserve.cli.plan_options import plan_options, request_from


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("model")
@plan_options
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED)
def command(model: str, as_json: bool, extra: tuple[str, ...], **options: object) -> int:
    """What fits, row by row, and the command to copy. What follows -- goes to vLLM as it is.

    Exit code 4: it does not fit (the plan is printed all the same). 5: it fits, but a check says the start will fail.
    """
    from fitserve.cli.plan_machine import assumed_engine, cards_of, model_of
    from fitserve.facts.read_host import read_host
    from fitserve.plan.make import failures, make_plan

    request = request_from(options, extra)
    facts = model_of(model)
    cards = cards_of(str(options["gpus"]))
    engine = assumed_engine(cards, options["engine_version"])
    plan = make_plan(request, facts, engine, read_host(), cards)
    if as_json:
        from fitserve.plan.document import plan_document

        json.dump(plan_document(plan), sys.stdout, ensure_ascii=False, indent=1)
        sys.stdout.write("\n")
    else:
        from fitserve.cli.plan_screen import show_plan

        show_plan(plan)
    return 4 if not plan.fits else 5 if failures(plan.checks) else 0
