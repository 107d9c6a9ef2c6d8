"""`fitserve verify`: the proof after a start, line by line as it is done."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.check_screen import FAIL_ON

if TYPE_CHECKING:
    from fitserve.verify.step import Timed
    from fitserve.verify.subject import Subject

SCHEMA_VERSION = 1


@click.command(help="Prove that a deployment, or the endpoint at --url, does what it should, line by line.")
@click.argument("name", required=False, default="")
@click.option("--url", default="", help="an OpenAI endpoint in place of a deployment")
@click.option("--model", default="", help="served model name (default: the first one served)")
@click.option("--quick", is_flag=True, help="the short round: no large picture, no long prompt, no series")
@click.option("--timeout", type=click.FloatRange(1), default=300.0, help="seconds for one line (default 300)")
@click.option("--disturb", is_flag=True, help="heavy lines too while others are being served")
@click.option("--fail-on", type=click.Choice(FAIL_ON), default="fail", help="exit code 5 from this state on")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str,
    url: str,
    model: str,
    fail_on: str,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - the round's options, by name
) -> None:
    from fitserve.cli.check_screen import exit_code, summary
    from fitserve.cli.verify_subject import of_address, of_deployment

    is_url = "://" in name
    subject = of_address(url or name, model) if url or is_url else of_deployment(name)
    found = asyncio.run(_seen(subject, as_json, **options))
    checks = [line.check for line in found]
    if as_json:
        click.echo(json.dumps(document(subject, found), ensure_ascii=False))
    else:
        click.echo(summary(checks))
    ctx.exit(exit_code(checks, fail_on))


async def _seen(subject: Subject, as_json: bool, *, quick: bool, timeout: float, disturb: bool) -> list[Timed]:
    """Each line is told at once; with --json they go to stderr, the document to stdout at the end."""
    from dataclasses import replace

    from fitserve.cli.check_screen import lines, titled
    from fitserve.cli.verify_subject import with_model
    from fitserve.verify.verification import verification

    subject = replace(subject, endpoint=await with_model(subject.endpoint))
    found = []
    async for line in verification(subject, quick=quick, limit_s=timeout, disturb=disturb):
        found.append(line)
        told = lines(line.check, titled("verify", line.check.name), line.seconds)
        click.echo("\n".join(told), err=as_json)
    return found


def document(subject: Subject, found: list[Timed]) -> dict[str, object]:
    """`verify --json`."""
    from fitserve.cli.check_screen import rows, worst

    checks = [line.check for line in found]
    timed = [row | {"seconds": round(line.seconds, 3)} for row, line in zip(rows(checks), found, strict=True)]
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "verification",
        "name": subject.deployment.name if subject.deployment else None,
        "url": subject.endpoint.base_url,
        "state": worst(checks).value,
        "checks": timed,
    }
