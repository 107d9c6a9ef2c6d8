"""One `up` from wishes to an answer: join what runs, or plan, start, wait; what fails on the way is undone."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.up_result import Result
from fitserve.cli.up_screen import Screen
from fitserve.cli.up_target import Wishes
from fitserve.errors import FitserveError, Interrupted, OperationFailed, SettingsError, ToolMissing
from fitserve.run.deployment import deployment_dir
from fitserve.run.live import Live, State
from fitserve.run.lock import Locked, held, is_held
from fitserve.run.view import look, look_at_all
from fitserve.text import current_language, tr

if TYPE_CHECKING:
    from fitserve.cli.up_plan import Draft
    from fitserve.cli.up_retry import Changed
    from fitserve.facts.engine import EngineFacts
    from fitserve.plan.plan import Plan
    from fitserve.run.control import Control
    from fitserve.run.deployment import Deployment
    from fitserve.run.view import View

_PORTS_LOST = 4  # after so many, something else is wrong
_FAILED_STARTS = ("engine_died", "no_answer", "wrong_answer")


@dataclass(frozen=True)
class Start:
    """`timeout_s` 0: do not wait. `yes`: a missing engine is installed without asking."""

    wishes: Wishes
    control: Control
    shown: Screen
    timeout_s: float
    yes: bool
    refused: Callable[[Plan], None] = lambda _: None  # shown a plan that does not fit
    retry: bool = True  # change what the doctor says and start again, where a start fails for memory or graphs
    _lost: set[int] = field(default_factory=set)  # ports that strangers took from a start of ours
    _changed: list[Changed] = field(default_factory=list)  # what was changed so far, the last in force
    _plans: list[Plan] = field(default_factory=list)  # what was started so far
    _ours: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)  # others see by it that we may try again

    def run(self) -> Result:
        """Come to the end of it. Raises FitserveError; then nothing of this start is left."""
        with self._ours:
            return self._tried()

    def _tried(self) -> Result:
        while True:
            lost = len(self._lost)
            try:
                return self._run()
            except OperationFailed as error:
                if len(self._lost) > lost:  # to a stranger, while the engine was loading
                    if len(self._lost) == _PORTS_LOST or self.wishes.port is not None:
                        raise
                    self.shown.note(tr("run.port_lost"))
                elif not (self.retry and error.code in _FAILED_STARTS and self._change()):
                    raise

    def _run(self) -> Result:
        running = self._running()
        if running is not None:
            return self._joined(running)
        self.shown.note(tr("run.preparing", name=self.wishes.name))
        draft = self._draft()
        with self.control.alone(self.wishes.name):
            running = self._running()  # another `up` may have been quicker
            deployment = None if running else self._started(draft)
        if running is not None:
            return self._joined(running)
        assert deployment is not None
        return self._waited(deployment)

    def _running(self) -> View | None:
        """What runs under this name. Raises SettingsError where it was started with other settings."""
        view = None
        with contextlib.suppress(ValueError):
            view = look(self.wishes.name)
        if view is None or not view.runs:
            return None
        asked, has = self.wishes.table(), view.deployment.wishes
        same_model, same = asked["model"] == has.get("model"), asked["values"] == has.get("values")
        if same_model and not same and not self.wishes.explicit:
            self.shown.note(tr("run.older_settings", name=self.wishes.name))
        elif not (same_model and same):
            message = tr("run.other_settings", name=self.wishes.name, state=tr(f"run.state_{view.state}"))
            evidence, hint = _difference(has, asked), f"fitserve down {self.wishes.name}"
            raise SettingsError(message, code="other_settings", evidence=evidence, hint=hint)
        return view

    def _draft(self, changed: Wishes | None = None) -> Draft:
        from fitserve.cli.up_fetch import nearer
        from fitserve.cli.up_plan import drafted, picked

        def engine() -> EngineFacts:
            return picked(self.wishes.engine_python, self._offered)

        wishes = changed or (self._changed[-1].wishes if self._changed else self.wishes)
        refused = self.refused if wishes is self.wishes else _unseen
        return drafted(wishes, engine, taken_ports() | self._lost, refused, nearer)

    def _change(self) -> bool:
        """After a failed start: take the least change that cures it and fits, and say so. False where there is none."""
        from fitserve.cli import up_retry

        if not self._plans:  # the start was another command's, who sees to it
            return False
        before, settings = (self._changed[-1].wishes if self._changed else self.wishes), self._plans[-1].settings
        gone = [changed.change.way for changed in self._changed]
        for change in up_retry.possible(self.wishes.name, gone, up_retry.asked_execution(self.wishes)):
            wishes = up_retry.with_change(before, settings, change.fix.set)
            try:
                self._draft(wishes)
            except FitserveError:  # by the ledger it would not fit, or not start: the next
                continue
            self._changed.append(up_retry.Changed(change, wishes))
            self.shown.note(up_retry.said(self.wishes.name, change))
            return True
        return False

    def _offered(self, missing: ToolMissing) -> bool:
        """Install the engine that the hint names, if the person wants it. Without a terminal only --yes is a yes."""
        spec = missing.hint.removeprefix("fitserve engine install ").strip()
        if spec == missing.hint:
            return False
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        if not self.yes and not (asks and click.confirm(tr("run.install_offer", what=spec), default=True, err=True)):
            return False
        from fitserve.engines.install import install
        from fitserve.engines.progress import shown

        with shown() as progress:
            install(spec, ask=lambda _: True, progress=progress)
        return True

    def _started(self, draft: Draft) -> Deployment:
        """Choose the ports and have the supervisor start it. What an earlier start left goes first."""
        from fitserve.cli.up_plan import frozen

        if not self._plans:
            with contextlib.suppress(Locked):
                self._ours.enter_context(held(_starter_lock(self.wishes.name)))
        self.control.stop(self.wishes.name)
        with self.control.choosing_ports(), self._undone_on_failure():
            if draft.request.port in taken_ports():
                draft = self._draft()  # another start was quicker to take it
            for notice in draft.notices:
                self.shown.note(notice)
            deployment = replace(
                frozen(draft, self._page_port(draft)),
                wishes=self.wishes.table(),
                retry=[changed.told() for changed in self._changed],
            )
            self._plans.append(draft.plan)
            facts = {"engine": deployment.engine, "url": deployment.url, "model": deployment.model}
            self.shown.note(tr("run.starting", name=deployment.name, **facts))
            self.control.start(deployment)
            if deployment.page_port:
                self.control.start_page(deployment, current_language())
        return deployment

    def _page_port(self, draft: Draft) -> int | None:
        from fitserve.cli.up_plan import PAGE_PORT, chosen_port

        if not self.wishes.page:
            return None
        taken = taken_ports() | {draft.request.port}
        asked = self.wishes.page_port
        port, notice = chosen_port("127.0.0.1", asked, PAGE_PORT, taken, "run.page_port_moved", "--page-port")
        if notice:
            self.shown.note(notice)
        return port

    @contextlib.contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.control.stop(self.wishes.name)
            raise

    def _waited(self, deployment: Deployment) -> Result:
        """Wait for our own start. Whatever ends it early undoes it."""
        from fitserve.cli.up_page import page_problem
        from fitserve.cli.up_wait import wait_until_answering

        if not self.timeout_s:
            return Result(deployment, Live(deployment.name, State.STARTING), False, deployment.page_url)
        try:
            live = wait_until_answering(deployment.name, self.control, self.timeout_s, self.shown)
            problem = page_problem(deployment, self.control) if deployment.page_port else ""
        except BaseException as error:
            with self.control.alone(deployment.name):
                self.control.stop(deployment.name)
            if isinstance(error, OperationFailed) and error.code == "port_in_use":
                self._lost.add(deployment.port)
            if isinstance(error, KeyboardInterrupt):
                message = tr("run.interrupted_stopped", name=deployment.name)
                raise Interrupted(message, hint=f"fitserve up {deployment.name}") from None
            raise
        return Result(deployment, live, False, None if problem else deployment.page_url, problem)

    def _joined(self, view: View) -> Result:
        """It runs already, or somebody else is starting it: say so, and wait with them."""
        from fitserve.cli.up_wait import wait_until_answering

        name = view.deployment.name
        live = view.live or Live(name, view.state)
        if view.state is not State.STARTING or not self.timeout_s:
            self.shown.note(tr("run.already", name=name, state=tr(f"run.state_{view.state}")))
            return Result(view.deployment, live, True, view.page_url)
        self.shown.note(tr("run.joined", name=name))
        try:
            live = wait_until_answering(name, self.control, self.timeout_s, self.shown)
        except KeyboardInterrupt:
            raise Interrupted(tr("run.interrupted_left", name=name), hint="fitserve status") from None
        except OperationFailed:
            again = self._begun_again()
            if again is None:
                raise
            return self._joined(again)
        now = look(name)
        return Result(view.deployment, live, True, now.page_url if now else None)

    def _begun_again(self) -> View | None:
        """The next start of the one we followed, where its command makes another; it keeps its lock till its end."""
        deciding = True
        while deciding:
            deciding = is_held(_starter_lock(self.wishes.name))  # asked before looking: its last start is not missed
            view = look(self.wishes.name)
            if view is not None and view.runs:
                return view
            self.control.clock.sleep(0.1)
        return None


def _starter_lock(name: str) -> Path:
    return deployment_dir(name) / "starter.lock"


def _difference(has: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What runs and what is asked for, where they differ: `max_model_len: 4096 → 8192`."""
    before, now = (table.get("values") or {} for table in (has, asked))
    pairs = {"model": (has.get("model"), asked.get("model"))}
    pairs |= {name: (before.get(name), now.get(name)) for name in [*before, *now]}
    changed = [(name, _worded(old), _worded(new)) for name, (old, new) in pairs.items() if old != new]
    return "; ".join(f"{name}: {old} → {new}" for name, old, new in changed)


def _worded(value: object) -> str:
    from fitserve.run.redact import redacted_argv

    return " ".join(redacted_argv(map(str, value if isinstance(value, list) else [value]))) if value else "–"


def _unseen(_: Plan) -> None:
    """A changed plan that does not fit is passed over."""


def taken_ports() -> set[int]:
    """Ports of deployments that run or are on their way: they may not listen yet."""
    views = [view for view in look_at_all() if view.runs]
    return {view.deployment.port for view in views} | {view.deployment.page_port or 0 for view in views}
