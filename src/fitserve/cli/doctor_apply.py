"""A fix of the doctor's, applied: planned anew with the change in it, then the engine is started again; its page stays.

It is what `fitserve up NAME` does with the changed flag, but for the page, which is asked from and must not be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fitserve.errors import OperationFailed, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.cli.up_plan import Draft
    from fitserve.cli.up_target import Wishes
    from fitserve.diagnose.finding import Fix
    from fitserve.plan.settings import Settings
    from fitserve.run.control import Control
    from fitserve.run.deployment import Deployment


@dataclass(frozen=True)
class Row:
    """A setting before and after."""

    name: str  # vLLM's flag, or a variable
    before: object
    after: object


@dataclass(frozen=True)
class Prepared:
    """A fix that can be applied: the new plan fits."""

    deployment: Deployment
    fix: Fix
    wishes: Wishes  # with the change, as they are kept for the next `up`
    plan: Mapping[str, Any]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All that will be different."""
        old, new = _table(self.deployment.plan.get("settings")), _table(self.plan.get("settings"))
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        settings = [Row("--" + name.replace("_", "-"), old.get(name), new.get(name)) for name in names]
        return (*settings, *(Row(name, self.deployment.env.get(name), value) for name, value in self.fix.env.items()))


def prepare(deployment: Deployment, fix: Fix) -> Prepared:
    """Plan it; nothing is touched. Raises DoesNotFit, SettingsError and what else a plan may end with."""
    from fitserve.plan.document import plan_document

    if not fix.set and not fix.env:
        raise SettingsError(tr("owner.nothing_to_set"), code="nothing_to_set", evidence=fix.why)
    wishes, pinned = _changed(deployment, fix)
    draft = _drafted(replace(pinned, values={**pinned.values, "port": None}))  # its own port is in use while it runs
    return Prepared(deployment, fix, wishes, plan_document(draft.plan))


def apply(prepared: Prepared, control: Control) -> Deployment:
    """Stop the engine, plan with what is free then, and start it. Returns before it answers. Raises FitserveError.

    Where the new plan comes to nothing after all, the deployment is left stopped and as it was.
    """
    from fitserve.cli.up_plan import frozen

    before = prepared.deployment
    _, pinned = _changed(before, prepared.fix)
    with control.alone(before.name):
        control.stop(before.name, with_page=False)
        draft = _drafted(replace(pinned, values={**pinned.values, "port": before.port}))
        after = frozen(draft, before.page_port, before.env | prepared.fix.env)
        after = replace(after, wishes=prepared.wishes.table())
        control.start(after)
    return after


def _drafted(wishes: Wishes) -> Draft:
    from fitserve.cli.up_fetch import nearer
    from fitserve.cli.up_plan import drafted, picked
    from fitserve.cli.up_start import taken_ports

    taken = taken_ports() - {wishes.port or 0}
    values = {name: value for name, value in wishes.values.items() if value is not None}
    wishes = replace(wishes, values=values)
    return drafted(wishes, lambda: picked(wishes.engine_python, lambda _: False), taken, nearer=nearer)


def _changed(deployment: Deployment, fix: Fix) -> tuple[Wishes, Wishes]:
    """The wishes as they are kept, and with everything held that the failed start had: only the fix may move."""
    from fitserve.cli.up_retry import with_change

    before = _wishes(deployment)
    pinned = with_change(before, _settings(deployment), fix.set)
    touched = {flag.lstrip("-").replace("-", "_") for flag in fix.set} | {"passthrough"}
    if "--enforce-eager" in fix.set:
        touched |= {"execution"}
    change = {name: value for name, value in pinned.values.items() if name in touched}
    kept = [
        {key: value for key, value in table.items() if key not in touched} for table in (before.values, before.typed)
    ]
    return replace(before, values=kept[0] | change, typed=kept[1] | change), pinned


def _wishes(deployment: Deployment) -> Wishes:
    from fitserve.cli.up_target import Wishes

    table = deployment.wishes
    model = str(table.get("model") or deployment.model)
    return Wishes(deployment.name, model, _table(table.get("values")), _table(table.get("typed")))


def _settings(deployment: Deployment) -> Settings:
    """As they were frozen. Raises OperationFailed where the deployment's plan is not whole."""
    from fitserve.plan.settings import Settings

    table = _table(deployment.plan.get("settings"))
    try:
        return Settings(**{name: value for name, value in table.items() if name in Settings.__dataclass_fields__})
    except TypeError as error:
        hint = f"fitserve up {deployment.name}"
        raise OperationFailed(tr("owner.no_plan"), code="no_plan", evidence=str(error), hint=hint) from error


def _table(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
