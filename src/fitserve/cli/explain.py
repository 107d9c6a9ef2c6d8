"""`fitserve explain TOPIC`: what a setting really does, with a model's own figures."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from fitserve.errors import NotFound
from fitserve.text import tr

EXAMPLE_MODEL, EXAMPLE_CARDS = "qwen3.5-35b-a3b-awq-4bit", "2xRTX3090"


@click.command()
@click.argument("topic", required=False)
@click.option("--model", default=EXAMPLE_MODEL, show_default=True, help="whose figures to show")
@click.option("--gpus", default=EXAMPLE_CARDS, show_default=True, help="auto, 2xRTX3090, 2x24GiB, recorded:FILE")
@click.option("--engine-version", default=None, help="of this vLLM version")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(topic: str | None, model: str, gpus: str, engine_version: str | None, as_json: bool) -> int:
    """What a setting really does: execution, tensor-parallel, pipeline-parallel, utilization, max-model-len, …"""
    from fitserve.plan.explain_topic import TOPICS

    if topic is None:
        _list_topics((*TOPICS, "mistakes"), as_json=as_json)
        return 0
    if topic == "mistakes":
        from fitserve.cli.doctor_mistakes import show

        show(as_json=as_json)
        return 0
    name = topic.lower().replace("_", "-").lstrip("-")
    name = {"gpu-memory-utilization": "utilization", "tp": "tensor-parallel", "pp": "pipeline-parallel",
            "tensor-parallel-size": "tensor-parallel", "eager": "execution", "graphs": "execution",
            "enforce-eager": "execution", "image": "images"}.get(name, name)  # fmt: skip
    if name not in TOPICS:
        raise NotFound(
            tr("explain.no_topic", topic=topic), evidence=", ".join(TOPICS), hint="fitserve explain execution"
        )
    heading, lines = _lines(name, model, gpus, engine_version)
    if as_json:
        document = {"schema_version": 1, "kind": "explanation", "topic": name, "model": model, "lines": lines}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return 0
    click.secho(heading, bold=True)
    for line in lines:
        click.echo(line)
    return 0


def _list_topics(topics: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"schema_version": 1, "kind": "topics", "topics": list(topics)}, ensure_ascii=False))
    else:
        click.echo("\n".join(f"fitserve explain {name}" for name in topics))


def _lines(topic: str, model: str, gpus: str, version: str | None) -> tuple[str, list[str]]:
    from fitserve.cli.plan_machine import assumed_engine, cards_of, model_of
    from fitserve.facts.read_host import read_host
    from fitserve.plan.explain_topic import explain_topic
    from fitserve.plan.given import Given
    from fitserve.plan.make import make_plan
    from fitserve.plan.request import PlanRequest

    facts = model_of(model)
    cards = cards_of(gpus) or cards_of(EXAMPLE_CARDS)
    engine, host = assumed_engine(cards, version), read_host()
    plan = make_plan(PlanRequest(), facts, engine, host, cards)
    heading = tr("explain.heading", topic=topic, model=facts.name, version=engine.version,
                 cards=f"{len(cards or ())} × {(cards or ())[0].name}" if cards else "–")  # fmt: skip
    return heading, explain_topic(topic, Given(PlanRequest(), facts, engine, host, cards), plan.settings)
