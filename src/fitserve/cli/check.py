"""`fitserve check`: the list before a start. It looks at exactly what `up` with the same words would start."""

from __future__ import annotations

import copy
import json
from typing import Any

import click

from fitserve.cli.check_screen import FAIL_ON
from fitserve.cli.up import command as up

SCHEMA_VERSION = 1
_OF_THE_START = (
    "insecure",
    "retry",
    "timeout",
    "wait",
    "yes",
)  # taken as `up` takes them, from a file too; they change nothing


@click.command(
    help="What a start of MODEL or NAME would stumble over. Without either: this machine. Takes the options of `up`."
)
@click.argument("model", metavar="[MODEL|NAME]", required=False, default="")
@click.argument("passthrough", metavar="[-- VLLM FLAGS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--quick", is_flag=True, help="hash no file and import no engine")
@click.option("--fail-on", type=click.Choice(FAIL_ON), default="fail", help="exit code 5 from this state on")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: str,
    name: str,
    quick: bool,
    fail_on: str,
    as_json: bool,
    **_options: Any,  # noqa: ANN401 - the options of `up`, of many types, read from the context
) -> None:
    from fitserve.cli.check_screen import exit_code, lines, summary, titled
    from fitserve.cli.check_subject import gather
    from fitserve.preflight.checklist import checklist

    subject = gather(ctx, model, name, quick=quick)
    found = []
    for check in checklist(subject):
        found.append(check)
        if not as_json:
            click.echo("\n".join(lines(check, titled("check", check.name))))
    if as_json:
        click.echo(json.dumps(document(subject.name, subject.model, found), ensure_ascii=False))
    else:
        click.echo(summary(found))
    ctx.exit(exit_code(found, fail_on))


def document(name: str, model: str, found: list[Any]) -> dict[str, object]:
    """`check --json`."""
    from fitserve.cli.check_screen import rows, worst

    head = {"schema_version": SCHEMA_VERSION, "kind": "checklist", "name": name or None, "model": model or None}
    return head | {"state": worst(found).value, "checks": rows(found)}


def _as_up(own: list[click.Parameter]) -> list[click.Parameter]:
    """The options of `up` that this command lacks; those that only matter while something starts are not shown."""
    mine = {parameter.name for parameter in own}
    lent = [copy.copy(parameter) for parameter in up.params if parameter.name not in mine]
    for parameter in lent:
        if isinstance(parameter, click.Option) and parameter.name in _OF_THE_START:
            parameter.hidden = True
    return lent


command.params += _as_up(command.params)
