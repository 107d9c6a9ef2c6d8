"""What can't be named: settings that vLLM itself refuses with a sentence, and failures that no rule knows.

A wrapper («Engine core initialization failed») is never an answer: where nothing else is in the file, the doctor says
what to collect, in one command.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import UNKNOWN, Confidence, Evidence, Finding, Fix, Severity
from fitserve.diagnose.fixes import environment, fewer_sequences, make, more_batched_tokens, step
from fitserve.diagnose.rule import see
from fitserve.observe.log.failures import Failure
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage
from fitserve.text import tr

SEES = (
    see("align_block", "align", r"align mode, block_size \((\d{1,9})\) must be <= max_num_batched_tokens"),
    see(
        "step_below_seqs",
        "max_num_batched_tokens",
        r"max_num_batched_tokens \((\d{1,9})\) must be greater than or equal to max_num_seqs",
    ),
    see(
        "step_below_length",
        "max_num_batched_tokens",
        r"max_num_batched_tokens \(\d{1,9}\) is smaller than max_model_len \((\d{1,12})\)",
    ),
    see(
        "forked",
        "fork forked initialize bootstrapping",
        r"Cannot re-initialize CUDA in forked|finished its bootstrapping phase",
    ),
    see("bad_argument", "error argument", r": error: argument (?:-\w{1,8}/){0,3}(--[\w.-]{1,60})\S{0,60}: "),
    see("engine_dead", "enginecore engine enginedeaderror", r"EngineCore encountered a fatal error|EngineDeadError"),
)
_TELLING = 5
_SETTINGS = re.compile(r"vllm/(?:config/|config\.py|engine/arg_utils\.py)")


def judge(case: Case, told: frozenset[int] = frozenset()) -> Finding | None:
    """A finding for a failure that has no label, or None. `told` are the lines that other findings rest on."""
    for key, fixes in (("align_block", _align), ("step_below_seqs", _sequences), ("step_below_length", _step),
                       ("forked", _fork), ("bad_argument", _argument)):  # fmt: skip
        seen = next((hit for hit in case.hits(key) if hit.level not in ("INFO", "DEBUG", "WARNING")), None)
        if seen is not None:
            kept = tuple(fix for fix in fixes(case, seen) if fix)
            evidence = case.evidence(seen)
            summary = tr("causes.settings_refused")
            return Finding(UNKNOWN, Severity.FATAL, Confidence.HIGH, Stage.CONFIG, summary, evidence, kept)
    explained = bool(case.roots) and case.roots[0].line in told
    return _unnamed(case) if _failed(case) and not explained else None


def _failed(case: Case) -> bool:
    """Whether the start or the service ended: any failure before it served, an engine that died after."""
    inner = any(failure.process.startswith(("EngineCore", "Worker", "VllmWorker")) for failure in case.roots)
    dead = inner or any(failure.wrapper for failure in case.failures) or bool(case.hits("engine_dead"))
    return bool(case.failures) and (dead or not case.served)


def _unnamed(case: Case) -> Finding:
    stage = case.place(case.framed or case.start.stage or Stage.CONFIG)
    roots = case.roots
    if roots and (roots[0].error == "Value error" or _of_settings(roots[0])):  # vLLM's own check of its settings
        return _refused(roots[0])
    if roots:
        evidence = tuple(Evidence(failure.line, failure.text.strip()) for failure in roots[:_TELLING])
        return Finding(
            UNKNOWN, Severity.FATAL, Confidence.LOW, stage, tr("causes.unknown"), evidence, (step("collect"),)
        )
    wrappers = tuple(Evidence(failure.line, failure.text.strip()) for failure in case.failures[:_TELLING])
    return Finding(
        UNKNOWN, Severity.FATAL, Confidence.LOW, stage, tr("causes.only_wrapper"), wrappers, (step("collect"),)
    )


def _of_settings(failure: Failure) -> bool:
    own = [frame.file for frame in failure.frames if frame.file]
    return bool(own) and bool(_SETTINGS.search(own[-1])) and failure.error in ("ValueError", "AssertionError")


def _refused(failure: Failure) -> Finding:
    evidence = (Evidence(failure.line, failure.text.strip()),)
    fixes = (step("check_flags"),)
    summary = tr("causes.settings_refused")
    return Finding(UNKNOWN, Severity.FATAL, Confidence.MEDIUM, Stage.CONFIG, summary, evidence, fixes)


def _align(case: Case, seen: Hit) -> list[Fix | None]:  # noqa: ARG001 - the shape of the others
    block = int(seen.groups[0] or 0)
    to = 1 << max(11, (block - 1).bit_length())
    return [
        more_batched_tokens(to, "block_in_step"),
        make({"--enable-prefix-caching": False}, "no_prefix_caching"),
    ]


def _sequences(case: Case, seen: Hit) -> list[Fix | None]:
    return [fewer_sequences(case, int(seen.groups[0] or 1), "sequences_in_step")]


def _step(case: Case, seen: Hit) -> list[Fix | None]:  # noqa: ARG001 - the shape of the others
    return [more_batched_tokens(int(seen.groups[0] or 0), "step_holds")]


def _argument(case: Case, seen: Hit) -> list[Fix | None]:  # noqa: ARG001 - the shape of the others
    flag = seen.groups[0] or ""
    return [make({flag: None}, "refused_value", flag=flag), step("check_flags")]


def _fork(case: Case, seen: Hit) -> list[Fix | None]:  # noqa: ARG001 - the shape of the others
    return [environment("spawn", VLLM_WORKER_MULTIPROC_METHOD="spawn")]
