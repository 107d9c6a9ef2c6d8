"""Somebody's command put right: wishes are kept, what harms or is refused goes, the plan chooses the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fitserve.facts.gpu import Gpu
from fitserve.facts.nvml import select_visible
from fitserve.plan.changes import EVERYWHERE, MASK, changes
from fitserve.plan.checks.flags_known import meant, misnamed
from fitserve.plan.choose import draft_gpu
from fitserve.plan.cpu import draft_cpu
from fitserve.plan.flags import SERVER
from fitserve.plan.given import Given
from fitserve.plan.make import failures, finish, served
from fitserve.plan.parse import ParsedCommand, Piece, parse
from fitserve.plan.plan import CheckState, Correction, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.plan.unweighed import stages_and_replicas
from fitserve.plan.valid import without

# The flags that a check speaks of: they are left out, and the plan chooses in their place where it has to.
_BLAMED: dict[str, tuple[str, ...]] = {
    "quantization_matches": ("--quantization",),
    "length_within_model": ("--max-model-len",),
    "cards_enough": ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"),
    "tensor_parallel_divides": ("--tensor-parallel-size",),
    "groups_whole": ("--tensor-parallel-size",),
    "dtype": ("--dtype",),
    "dtype_supported": ("--dtype",),
    "remote_code": ("--trust-remote-code",),
    "graphs_affordable": ("--enforce-eager",),
    "experts_present": ("--enable-expert-parallel",),
    "draft_layers": ("--speculative-config",),
    "block_within_step": ("--max-num-batched-tokens", "--max-num-seqs"),
    "sequences_have_state": ("--max-num-seqs",),
    "cpu_cache": ("--kv-cache-memory-bytes", "--gpu-memory-utilization"),
    "bound_to_loopback": ("--host",),
    "media_domains": ("--allowed-media-domains",),
}
_WISHED = {"--host", "--allowed-media-domains"}  # kept where somebody typed them: an open door is told, not shut
_RANKS = {"tensor_parallel_size"}
# What is left to the plan where nothing starts with it, one after the other.
_FREED = (
    {"gpu_memory_utilization", "kv_cache_memory_bytes"},
    {"max_num_seqs", "max_num_batched_tokens", "max_cudagraph_capture_size"},
    {"execution"},
    {"kv_cache_dtype", "block_size"},
    _RANKS,
)
_ORDER = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)
_DEVICES = (MASK, "CUDA_DEVICE_ORDER")


def correct(parsed: ParsedCommand, given: Given, reviewed: Plan) -> Correction | None:
    """What fitserve would start in the command's place; None where nothing is wrong with it, or nothing better starts.

    `given` holds every card of the machine, `reviewed` the command as it stands.
    """
    blamed = _blamed(parsed, reviewed)
    if reviewed.verdict is Verdict.FITS and not blamed and not failures(reviewed.checks):
        return None
    wishes = _wishes(parsed, reviewed, blamed)
    if stages_and_replicas(parse(wishes.extra).flags) > 1:
        return None  # the ledger is one stage's: nobody can choose sizes by it
    scene = replace(given, gpus=_allowed(parsed, given.gpus))
    plan = _first_that_starts(scene, wishes, ranks_first="--tensor-parallel-size" not in parsed.flags)
    if plan is None or _ORDER.index(plan.verdict) > _ORDER.index(reviewed.verdict):
        return None
    flags = [piece for piece in parse(plan.command).pieces if piece[0] != "--model"]
    env = _environment(parsed, given, plan)
    return Correction(
        plan,
        _argv(parsed, flags, env, served(given.model)),
        {} if parsed.container else env,
        tuple(changes(parsed, scene, reviewed, plan, blamed, parsed.env | env if parsed.container else env)),
    )


def _blamed(parsed: ParsedCommand, reviewed: Plan) -> dict[str, str]:
    """What is said of each flag that can't stay, and of each that is missing."""
    found = misnamed(parsed) | {entry.partition(":")[0]: entry for entry in parsed.invalid}
    for check in reviewed.checks:
        if check.state in (CheckState.WARN, CheckState.FAIL):
            for flag in _BLAMED.get(check.name, ()):
                if flag not in _WISHED or flag not in parsed.flags:
                    found.setdefault(flag, check.detail)
    return found


def _wishes(parsed: ParsedCommand, reviewed: Plan, blamed: dict[str, str]) -> PlanRequest:
    """The request of the command without what is blamed; a mistyped flag is read as the one that was meant."""
    words = [word for piece in parsed.pieces for word in _kept(piece, blamed, parsed.unknown)]
    request = parse(words).request
    ranks = None if "--tensor-parallel-size" in blamed else reviewed.settings.tensor_parallel_size
    on_cpu = reviewed.engine.device == "cpu"
    return replace(
        request,
        execution="auto" if request.execution == "eager" and not on_cpu else request.execution,  # the last resort
        tensor_parallel_size=ranks,
        cpu_kv_cache_space_gib=parsed.request.cpu_kv_cache_space_gib,
        served_model_name=request.served_model_name or parsed.model,
        host=EVERYWHERE if parsed.container and "--host" not in parsed.flags else request.host,  # -p decides there
    )


def _kept(piece: Piece, blamed: dict[str, str], unknown: tuple[str, ...]) -> tuple[str, ...]:
    name, words = piece
    if name in unknown and (near := meant(name)):
        return (words[0].replace(words[0].partition("=")[0], near, 1), *words[1:])
    return words if name and name not in blamed else ()


def _allowed(parsed: ParsedCommand, gpus: tuple[Gpu, ...] | None) -> tuple[Gpu, ...] | None:
    """The cards that the command may see; all where its mask shows none."""
    mask = parsed.env.get(MASK)
    return gpus if gpus is None or mask is None else select_visible(gpus, mask) or gpus


def _first_that_starts(given: Given, request: PlanRequest, *, ranks_first: bool) -> Plan | None:
    """The plan with as much of the request as fits, with graphs; else the best one that starts."""
    found: list[Plan] = []
    for wishes in _looser(request, ranks_first=ranks_first):
        asked = replace(given, request=wishes)
        plan = finish(asked, draft_cpu(asked) if asked.on_cpu else draft_gpu(asked, near=False))
        if not plan.fits or failures(plan.checks):
            continue
        found.append(plan)
        if _loss(plan) == (0, 0, False):
            break
    return min(found, key=_loss, default=None)


def _loss(plan: Plan) -> tuple[int, int, bool]:
    """Smaller is better: the verdict, what is still warned of, eager on cards."""
    warned = sum(check.name in _BLAMED and check.state is CheckState.WARN for check in plan.checks)
    return _ORDER.index(plan.verdict), warned, plan.settings.enforce_eager and plan.engine.device != "cpu"


def _looser(request: PlanRequest, *, ranks_first: bool) -> Iterator[PlanRequest]:
    yield request
    for names in sorted(_FREED, key=lambda names: ranks_first and names != _RANKS):
        request = without(request, names)
        yield request


def _environment(parsed: ParsedCommand, given: Given, plan: Plan) -> dict[str, str]:
    """What was set, and what the plan sets; a mask that shows no card goes, one that a container has stays with it."""
    if parsed.container:
        return {name: value for name, value in plan.env.items() if name not in _DEVICES}
    mask = parsed.env.get(MASK)
    blind = mask is not None and bool(given.gpus) and not select_visible(given.gpus or (), mask)
    return {name: value for name, value in parsed.env.items() if not (blind and name in _DEVICES)} | plan.env


def _argv(parsed: ParsedCommand, flags: list[Piece], env: dict[str, str], model: str) -> tuple[str, ...]:
    """Launcher and model in the form that was typed, then the plan's flags; several served names stay."""
    launcher = parsed.launcher or SERVER
    if parsed.container:
        at = launcher.index("run") + 1
        launcher = (*launcher[:at], *(word for pair in env.items() for word in ("-e", "=".join(pair))), *launcher[at:])
    positional = "--model" not in parsed.flags and (bool(parsed.model) or launcher[-1] == "serve")
    named = (parsed.model or model,) if positional else ("--model", parsed.model or model)
    typed = dict(parsed.pieces)
    return (*launcher, *named, *(word for name, words in flags for word in _names(name, words, typed)))


def _names(name: str, words: tuple[str, ...], typed: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return typed.get(name, words) if name == "--served-model-name" else words
