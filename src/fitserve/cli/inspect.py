"""`fitserve inspect MODEL|gpus`: what a model is, or which cards there are."""

from __future__ import annotations

import json
import sys

import click


@click.command()
@click.argument("model", required=False)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
@click.option("--gpus", default="auto", help="with `gpus`: auto, 2xRTX3090, 2x24GiB, recorded:FILE")
@click.option("--known", is_flag=True, help="with `gpus`: every card that --gpus takes by name")
def command(model: str | None, as_json: bool, gpus: str, known: bool) -> int:
    """What MODEL is: layers, experts, vision, quantization, bytes by module, integrity. Or `gpus`: the cards here.

    MODEL is a folder, a Hugging Face or ModelScope id, a known model's name, or `demo`.

    Without MODEL: the models whose facts ship with fitserve.
    """
    if model is None or known:
        return _known(cards=model == "gpus", as_json=as_json)
    return _gpus(gpus, as_json) if model == "gpus" else _model(model, as_json)


def _known(*, cards: bool, as_json: bool) -> int:
    from fitserve.cli import inspect_known

    if as_json:
        _print_json(inspect_known.cards_document() if cards else inspect_known.models_document())
    elif cards:
        inspect_known.show_cards()
    else:
        inspect_known.show_models()
    return 0


def _model(model: str, as_json: bool) -> int:
    from fitserve.cli.inspect_document import model_document
    from fitserve.facts.read import survey_model
    from fitserve.facts.summary import summarize

    facts = survey_model(_folder_of(model), _progress)
    rows = summarize(facts)
    if as_json:
        _print_json(model_document(facts, rows))
    else:
        from fitserve.cli.inspect_model import show_model

        show_model(facts, rows)
    return 5 if facts.problems or facts.serving_problem else 0


def _progress(done: int, total: int) -> None:
    """Headers of a hub model as they come, on a terminal only; stdout is left to the answer."""
    if sys.stderr.isatty():
        from fitserve.text import tr
        from fitserve.units import format_bytes

        line = tr("inspect.progress", done=format_bytes(done), total=format_bytes(total))
        click.echo(f"\r\x1b[K{line}", nl=done >= total, err=True)


def _folder_of(model: str) -> str:
    if model == "demo":
        from fitserve.demo import model_dir

        return str(model_dir())
    return model


def _gpus(request: str, as_json: bool) -> int:
    from fitserve.facts.gpu_record import gpus_document
    from fitserve.facts.gpu_request import parse_gpus

    cards = parse_gpus(request)
    if as_json:
        _print_json(gpus_document(cards))
    else:
        from fitserve.cli.inspect_gpus import show_gpus

        show_gpus(cards)
    return 0 if isinstance(cards, tuple) else 7


def _print_json(document: dict[str, object]) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
