"""A rule: the cause it knows, the lines it looks for, and its judgement of a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.observe.log.match import Pattern, pattern

see = pattern


def remark(key: str, words: str, shape: str) -> Pattern:
    """A pattern that is looked for in a person's remarks alone."""
    return replace(pattern(key, words, shape), remark=True)


@dataclass(frozen=True)
class Rule:
    """One cause. `explains` names causes that are only its consequences when both are seen in one start.

    `informed`: it knows how to read INFO lines. Of any other rule they make no more than a remark.
    """

    cause: str
    sees: tuple[Pattern, ...]
    judge: Callable[[Case], Finding | None]
    explains: frozenset[str] = frozenset()
    informed: bool = False


# Lines that several rules ask for.
SHARED = (
    see(
        "runtime_wrapper",
        "enginecore output_handler mqllmengine enginedeaderror engine background http request dumping",
        r"EngineCore encountered a fatal error|AsyncLLM output_handler failed|MQLLMEngine is already dead|"
        r"Engine background task failed|Dumping input data|HTTP/1\.1\" 5\d\d|^(?:Added|Received) request ",
    ),
    see("engine_ready", "engine", r"^init engine \(profile, create kv cache, warmup model\) took"),
    see("load_wrapper", "workerproc", r"WorkerProc (?:failed to start|initialization failed)"),
    see("work_wrapper", "workerproc", r"WorkerProc hit an exception"),
    see(
        "eager_notice",
        "eager enforce",
        r"Cudagraph is disabled under eager mode|Enforce eager set|because --enforce-eager is set|"
        r"enforce-eager is enabled",
    ),
    see(
        "died",
        "exit code killed signal core exitcode",
        r"exit ?code:? -(\d{1,2})|Failed core proc\(s\): \{[^}]{1,60}: -(\d{1,2})",
    ),
    see(
        "stopped",
        "shutdown shutting signal sigterm keyboardinterrupt sigint",
        r"API server: shutdown triggered|^Shutting down$|[Rr]eceived (?:signal|SIGTERM|SIGINT)|^KeyboardInterrupt",
    ),
    see("several_ranks", "distributed", r"Defaulting to use \w{1,10} for distributed inference"),
    see("mm_profile", "profiling embeddings", r"too short to hold the multi-modal embeddings in the worst case"),
    see(
        "language_pass",
        "torch graph dynamo",
        r"for vLLM's torch\.compile|Compiling a graph for|Dynamo bytecode transform",
    ),
)
