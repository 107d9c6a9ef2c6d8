"""What `up` is asked for: from what was typed now, typed before, and written in fitserve.toml or FITSERVE_*."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fitserve.errors import NotFound, OperationFailed, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.run.deployment import Deployment

DEMO = "demo"
_OF_THIS_CALL = {
    "insecure",
    "timeout",
    "retry",
    "wait",
    "yes",
    "as_json",
    "name",
    "model",
    "quick",
    "fail_on",
}  # nothing to remember of these


@dataclass(frozen=True)
class Wishes:
    """All that a person wants of a deployment. `values` holds options by name, only those that somebody gave."""

    name: str
    model: str  # a folder, a hub id, a known model's name, or "demo"
    values: Mapping[str, Any]
    typed: Mapping[str, Any]  # the part that was typed; the rest is read again at the next `up`
    explicit: bool = True  # something was typed in this very call, besides the name

    @property
    def host(self) -> str:
        """Where to listen."""
        return str(self.values.get("host") or "127.0.0.1")

    @property
    def port(self) -> int | None:
        """The port that was asked for; None leaves it to us."""
        return self.values.get("port")

    @property
    def page(self) -> bool:
        """Whether a chat page is wanted."""
        return bool(self.values.get("page", True))

    @property
    def page_port(self) -> int | None:
        """The page's port that was asked for."""
        return self.values.get("page_port")

    @property
    def engine_python(self) -> str:
        """The interpreter that was named."""
        return str(self.values.get("engine_python") or "")

    @property
    def passthrough(self) -> tuple[str, ...]:
        """What goes to vLLM as it is."""
        return tuple(self.values.get("passthrough") or ())

    def table(self) -> dict[str, object]:
        """As it is frozen with the deployment."""
        table = {"model": self.model, "values": dict(self.values), "typed": dict(self.typed), "page": self.page}
        return dict(json.loads(json.dumps(table, default=list)))


def read_wishes(ctx: click.Context, model: str, name: str) -> Wishes:
    """The wishes of this call. Raises SettingsError, NotFound, OperationFailed."""
    from fitserve.cli.config_file import deployment_values, origins

    name, model = target_name(model, name)
    before = _before(name, model)
    typed = _typed(ctx)
    explicit = bool(typed)
    if not typed and before and model in ("", before.wishes.get("model")):
        typed = _table(before.wishes.get("typed"))
    written = {key: one.value for key, one in origins(ctx, name).items() if one.place not in ("flag", "default")}
    named = deployment_values(name, ctx.params).get("model")
    again = str(before.wishes.get("model") or before.model) if before else ""
    model = model or (str(named.value) if named else again)
    if not model:
        raise NotFound(tr("run.no_such", name=name), hint="fitserve status")
    values: dict[str, Any] = {key: value for key, value in (written | typed).items() if key not in _OF_THIS_CALL}
    values |= _listening(tuple(values.get("passthrough") or ()))
    return Wishes(name, model, values, typed, explicit)


def _typed(ctx: click.Context) -> dict[str, Any]:
    given = {
        key: value
        for key, value in ctx.params.items()
        if key not in _OF_THIS_CALL and ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE
    }
    return {key: value for key, value in given.items() if value != ()}


def _listening(passthrough: tuple[str, ...]) -> dict[str, Any]:
    """Where to listen, if that stands after `--`. A key there is refused: everybody can read a command line."""
    from fitserve.plan.parse import parse

    parsed = parse(passthrough)
    if "--api-key" in parsed.flags:
        raise SettingsError(tr("run.key_in_command"), code="key_in_command", hint="VLLM_API_KEY=… fitserve up …")
    where = {"--host": parsed.request.host, "--port": parsed.request.port}
    return {flag.lstrip("-"): value for flag, value in where.items() if flag in parsed.flags}


def _before(name: str, model: str) -> Deployment | None:
    """The deployment of this name as it was last started. A broken file matters only where it is all there is."""
    from fitserve.cli.named import loaded

    try:
        return loaded(name)
    except OperationFailed:
        if model:
            return None
        raise


def target_name(model: str, name: str) -> tuple[str, str]:
    """(name, model) from `up MODEL --name NAME`. The model is "" where MODEL is the name of a deployment.

    Without a MODEL it is the only deployment there is. Raises SettingsError.
    """
    from fitserve.cli.config_file import known_deployments
    from fitserve.run.registry import is_name, name_for, names

    if name and not is_name(name):
        raise SettingsError(tr("run.name_invalid", name=name), hint=f"fitserve up … --name {name_for(name)}")
    known = [*names(), *(one for one in known_deployments() if is_name(one))]
    if not model:
        return name or _only(known), ""
    is_folder = Path(model).expanduser().is_dir()
    is_path = "/" in model or is_folder
    if model == DEMO and not is_path:
        return name or DEMO, DEMO
    if not is_path and model in known:
        return (model, "") if name in ("", model) else (name, _model_of(model))
    if not is_folder and _elsewhere(model):
        return name or name_for(model.rpartition("/")[2]), model
    return name or name_for(Path(model).expanduser().resolve().name), str(Path(model).expanduser().absolute())


def _model_of(name: str) -> str:
    """What another deployment serves: `up shop --name second` starts the same model beside it."""
    before = _before(name, "")
    return str(before.wishes.get("model") or before.model) if before else ""


def _elsewhere(model: str) -> bool:
    """Whether the text names a model on a hub, or one whose facts ship with fitserve."""
    from fitserve.facts.hub_ref import parse_ref
    from fitserve.facts.known_models import find_known

    return parse_ref(model) is not None or find_known(model) is not None


def _only(known: list[str]) -> str:
    if len(set(known)) == 1:
        return known[0]
    if known:
        raise SettingsError(tr("run.which_one"), evidence=", ".join(known), hint=f"fitserve up {known[0]}")
    raise SettingsError(tr("run.no_model_named"), hint="fitserve up demo")


def model_folder(model: str) -> str:
    """The folder to serve, or the hub's name for it. Raises NotFound where the demo model is not installed."""
    if model != DEMO:
        return model
    from fitserve.demo import model_dir

    folder = model_dir()
    if not (folder / "config.json").is_file():
        raise NotFound(tr("run.demo_missing"), evidence=str(folder), hint="fitserve up MODEL_FOLDER")
    return str(folder)


def _table(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
