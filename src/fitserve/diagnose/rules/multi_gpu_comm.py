"""The cards can't talk to each other.

Sees: NCCL errors, a shared-memory segment that can't be created, /dev/shm of 64 MiB, a collective or a call to the
ranks that times out, a log that ends after «vLLM is using nccl» with several ranks, a rank that goes silent while
requests run.
Why: peer-to-peer transfers that never end (IOMMU, ACS, desktop boards, WSL), a container's small /dev/shm, a wrong
network interface, a rank that died.
Disproved by: the same start with one card hanging too.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import environment, lower_utilization, make, step
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._plain import finding
from fitserve.observe.log.failures import Failure
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "multi_gpu_comm"
_STALL = 3  # periodic lines in a row with requests running and no token


def judge(case: Case) -> Finding | None:
    shm: list[Hit | Failure] = [hit for hit in case.hits("shm_small") if hit.level != "INFO"]
    shm = [*shm, *_no_segment(case)]
    errors = case.complaints("nccl_error")
    if errors or (shm and case.failures):
        stage = case.started(Stage.LOAD)
        small = bool(shm)
        fixes = [step("larger_shm")] if small else _wire_fixes(case, errors)
        return finding(case, CAUSE, stage, [*shm[:1], *errors[:1]], fixes, key="comm_shm" if small else CAUSE)
    return _hang(case)


def _no_segment(case: Case) -> list[Failure]:
    """Python could not make a semaphore or a segment in /dev/shm."""
    files = ("multiprocessing/synchronize.py", "multiprocessing/shared_memory.py")
    kinds = ("OSError", "PermissionError", "FileNotFoundError")
    return [
        failure
        for failure in case.roots
        if failure.error in kinds and any(frame.file.endswith(files) for frame in failure.frames)
    ]


def _wire_fixes(case: Case, errors: list[Hit]) -> list[Fix | None]:
    text = " ".join(hit.text for hit in errors)
    shared = step("larger_shm") if "unhandled system error" in text or "ncclSystemError" in text else None
    texts = [text, *(failure.text for failure in case.roots)]
    full = bool(case.hits("nccl_full")) or any("out of memory" in told for told in texts)
    room = lower_utilization(case) if full else None
    transfers = make({"--disable-custom-all-reduce": True}, "plain_transfers")
    return [
        room,
        shared,
        environment("no_p2p", NCCL_P2P_DISABLE="1"),
        transfers,
        environment("nccl_debug", NCCL_DEBUG="INFO"),
    ]


def _hang(case: Case) -> Finding | None:
    """Silence: at the communicators with several ranks, or while requests run."""
    fixes = [
        environment("no_p2p", NCCL_P2P_DISABLE="1"),
        environment("nccl_debug", NCCL_DEBUG="INFO"),
        step("iommu_off"),
    ]
    silent = [
        hit
        for hit in case.hits("no_block")
        if hit.stage is Stage.SERVE or (hit.stage and hit.stage.before(Stage.PROFILE))
    ]
    periodic = case.start.periodic
    if any(failure.error != "TimeoutError" for failure in case.roots):
        return None
    timeouts = case.complaints("call_timeout")
    if timeouts or (case.served and (len(silent) >= 2 or (periodic.stalled >= _STALL and case.tp > 1))):
        seen: list[Hit | Failure] = [*timeouts[:1], *silent[:2], *case.roots[:1]]
        stage = case.started(Stage.LOAD)
        return finding(case, CAUSE, stage, seen, fixes, confidence=Confidence.MEDIUM, key="comm_hang")
    if case.failures:
        return None
    told = case.noted("hangs")
    if told and case.tp > 1 and not case.start.periodic.peak_generation:
        stage = case.place(Stage.LOAD)
        return finding(
            case,
            CAUSE,
            stage,
            [*case.hits("nccl_ready")[-1:], told[0]],
            fixes,
            confidence=Confidence.MEDIUM,
            key="comm_hang",
        )
    last = case.hits("nccl_ready")
    ranks = case.tp > 1 or len({hit.process for hit in last}) > 1
    if (
        last
        and ranks
        and not case.served
        and not case.start.figures.get("weights_gib")
        and not _went_on(case, last[-1].line)
    ):
        confidence = Confidence.MEDIUM if case.start.notes else Confidence.LOW
        return finding(case, CAUSE, Stage.LOAD, [last[-1]], fixes, confidence=confidence, key="comm_hang")
    return None


def _went_on(case: Case, line: int) -> bool:
    """Whether anything but NCCL's own lines and remarks came after."""
    rest = [item for item in case.start.tail if item.number > line and item.level != "NOTE" and "NCCL" not in item.text]
    return bool(rest)


RULE = Rule(
    CAUSE,
    (
        see(
            "nccl_error",
            "custom_all_reduce nccl dist watchdog collective connectfullmesh peer gloo store "
            "distbackenderror ncclunhandledcudaerror ncclsystemerror ncclinternalerror "
            "ncclremoteerror wait timed",
            r"NCCL error|DistBackendError|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|"
            r"Watchdog caught collective operation timeout|connectFullMesh failed|peer access is not supported|"
            r"NCCL communicator was aborted|custom_all_reduce\.cuh|wait timeout after \d{1,9}ms|"
            r"Timed out waiting \d{1,9}ms for (?:recv|send) operation",
        ),
        see(
            "shm_small",
            "shm memory psm_ space exit exitcode core bus sigbus",
            r"Error while creating shared memory segment|/dev/shm has only \d|Insufficient space in \S{1,80} for|"
            r"\[Errno \d{1,3}\] [\w -]{1,40}: ?['\"]?/?psm_|"
            r"unable to (?:open|write|allocate) shared memory|/dev/shm.{0,40}(?:too small|No "
            r"space)|exit ?code:? -7\b|SIGBUS|\bBus error\b|Failed core proc\(s\): \{[^}]{1,60}: -7\b",
        ),
        see("nccl_full", "failure", r"Cuda failure (?:\d )?'out of memory'"),
        see(
            "nccl_ready",
            "nccl access",
            r"vLLM is using nccl==|NCCL INFO|(?:generating|reading) GPU P2P access cache",
        ),
        remark(
            "hangs",
            "hang hangs hung stuck output deadlock forever utilization freezes waits cjk",
            r"(?i)\bh[au]ng|\bstuck\b|no (?:further|more) output|deadlock|forever|never "
            r"(?:returns|finishes)|100 ?%|卡住|卡死|没有输出",
        ),
        see("no_block", "broadcast", r"No available shared memory broadcast block found"),
        see("call_timeout", "rpc", r"RPC call to (\w{1,60}) timed out"),
    ),
    judge,
    informed=True,  # a hang is told by information, then by silence
)
