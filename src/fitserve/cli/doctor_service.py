"""A deployment under the doctor: its log, what its runner knows, its metrics, its processes."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from fitserve.cli import doctor_source
from fitserve.cli.up_wait import evidence_text, reason_text
from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.finding import Diagnosis
from fitserve.diagnose.service import Look, checks, findings
from fitserve.observe.http import request
from fitserve.observe.log.launch import from_command
from fitserve.observe.log.read import LogReader
from fitserve.observe.log.source import lines_of, open_log
from fitserve.observe.metrics import read_metrics
from fitserve.observe.recorder import recorded_signs
from fitserve.run.deployment import Deployment, engine_log, engine_log_before
from fitserve.run.live import Live, Reason, State
from fitserve.run.view import View, look
from fitserve.text import tr

_TIMEOUT_S = 3.0
_BEFORE_THE_ENGINE = (Reason.PORT_IN_USE, Reason.ENGINE_MISSING)  # the log on disk is an older run's


def view_of(name: str) -> View | None:
    """The deployment of this name, None where there is none."""
    if not name or "/" in name or name.startswith("."):
        return None
    return look(name)


def judged(view: View, stated: Stated) -> Diagnosis:
    """The deployment's log, with what its runner and its metrics say."""
    deployment, live = view.deployment, view.live
    flags = {**from_command(shlex.join(deployment.argv)), **stated.settings}
    cpu = "cpu" in deployment.engine
    stated = Stated(flags, stated.gpus, stated.gpu_gib, stated.model or deployment.model, cpu)
    reader = LogReader(watched())
    path = _log_of(deployment.name, live)
    if path.is_file() and (live is None or live.reason not in _BEFORE_THE_ENGINE):
        with open_log(path) as stream:
            for line in lines_of(stream):
                reader.feed(line)
    for text in _own_words(live):
        reader.add(text)
    predictor = None if cpu else doctor_source.predictor(reader.reading, stated, ())
    diagnosis = diagnose(reader.reading, stated, predictor)
    refused = (finding.summary for finding in diagnosis.findings if finding.cause == "request_too_large")
    seen = replace(_look(deployment, live, view.state, flags), refused=next(refused, ""))
    mine = findings(seen)
    known = {finding.cause for finding in diagnosis.findings}
    more = tuple(finding for finding in mine if finding.cause not in known)
    stage = diagnosis.stage if diagnosis.findings or live is None else live.stage
    return replace(diagnosis, findings=(*diagnosis.findings, *more), checks=checks(seen), stage=stage)


def _log_of(name: str, live: Live | None) -> Path:
    """The log to be explained: while it is started again after a failure, that of the run that failed."""
    again = live is not None and live.state is State.STARTING and live.failures > 0 and live.engine is not None
    before = engine_log_before(name)
    return before if again and before.is_file() else engine_log(name)


def _own_words(live: Live | None) -> list[str]:
    """How it ended, as the runner saw it; facts that no engine can write itself."""
    if live is None or live.state not in (State.FAILED, State.STARTING, State.STOPPED):
        return []
    if live.reason is Reason.PORT_IN_USE:
        return [f"address already in use: {live.detail}"]
    if live.reason is Reason.ENGINE_DIED and live.detail:
        return [tr("doctor.engine_ended", detail=live.detail)]
    return []


def _reason(live: Live) -> str:
    """Why it ended, as a sentence, and what the last question brought."""
    asked = live.probe.get("detail") if live.reason in (Reason.NO_ANSWER, Reason.WRONG_ANSWER) else ""
    return " · ".join(str(part) for part in (reason_text(live) if live.reason else "", asked) if part)


def _look(deployment: Deployment, live: Live | None, state: State, flags: dict[str, object]) -> Look:
    runs = state in (State.ANSWERING, State.HUNG)
    pids = [one.pid for one in live.members] if live else []
    return Look(
        state=state.value,
        metrics=read_metrics(request(deployment, "/metrics", _TIMEOUT_S).text) if runs else None,
        signs=recorded_signs(deployment, pids) if runs else None,
        cpu="cpu" in deployment.engine,
        hung=state is State.HUNG or (live is not None and live.reason is Reason.HUNG),
        problems=live.problems if live else (),
        detail="" if live is None or runs else _reason(live),
        evidence="" if live is None or runs else evidence_text(live),
        hint=f"fitserve logs {deployment.name}",
        flags=flags,
    )
