"""The host's memory, not the GPU's, is exhausted.

Sees: «Killed» or an exit by signal 9, «Cannot allocate memory», a CPU allocator that fails, the kernel's or Ray's
memory killer; an engine core or a worker that «exited unexpectedly» and wrote no error of its own; on machines with
unified memory, a host that stops answering while weights load.
Why: weights pass through the page cache and pinned buffers; offload, several processes and a container's limit add
up; on unified memory the utilization limits only vLLM's pool, not loading.
Disproved by: no entry of the OOM killer in the kernel log, and memory free at the time.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding
from fitserve.diagnose.fixes import drop, step
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._plain import finding
from fitserve.stage import Stage

CAUSE = "host_ram"


def judge(case: Case) -> Finding | None:
    seen = [hit for hit in case.hits("host_memory") if hit.level not in ("INFO", "DEBUG")]
    killed = [hit for hit in case.hits("killed") if hit.level not in ("INFO", "DEBUG", "WARNING")]
    notes = [*case.noted("host_memory"), *case.noted("killed")]
    stage = case.place(case.start.stage or Stage.LOAD)
    less = [drop(case, flag, "less_host_memory") for flag in ("--cpu-offload-gb", "--swap-space")]
    fixes = [*less, step("more_host_memory"), step("kernel_log"), None if case.served else step("one_model_at_a_time")]
    if seen:
        return finding(case, CAUSE, stage, seen[:2], fixes)
    if killed or notes:
        return finding(case, CAUSE, stage, [*killed[:2], *notes[:1]], fixes, confidence=Confidence.MEDIUM, key="killed")
    vanished = [hit for hit in case.hits("vanished") if hit.level != "INFO"]
    ended = case.failures or any(hit.level == "ERROR" for hit in vanished if not case.hits("stopped"))
    if vanished and case.served and ended and not case.roots:  # a start that fails says more, or too little
        shown = vanished[:1]
        return finding(case, CAUSE, stage, shown, fixes, confidence=Confidence.MEDIUM, key="vanished")
    frozen = case.noted("host_frozen")
    if frozen and not case.failures and not case.served:
        return finding(case, CAUSE, stage, [frozen[0]], fixes, confidence=Confidence.MEDIUM)
    return None


RULE = Rule(
    CAUSE,
    (
        see(
            "host_memory",
            "allocate memory memoryerror oom defaultcpuallocator errno",
            r"Cannot allocate memory|DefaultCPUAllocator: (?:can't|not enough)|\[Errno 12\]|"
            r"^MemoryError|oom-kill|Out of memory: Killed|"
            r"Memory cgroup out of memory|low on memory|less than desired CPU memory utilization",
        ),
        see(
            "killed",
            "killed exit code sigkill signal oomkilled exitcode core",
            r"^Killed\b(?! by)|\d Killed {2,}|exit ?code:? (?:-9|137)\b|Failed core proc\(s\): \{[^}]{1,60}: -9\b|"
            r"SIGKILL|signal 9\b|OOM ?Killed|code 137\b",
        ),
        see(
            "vanished",
            "unexpectedly",
            r"engine core exited unexpectedly|(?:[Ww]orker|[Cc]ore)(?: proc)?(?: \S{1,40})? died unexpectedly",
        ),
        remark(
            "host_frozen",
            "reboot answering frozen freezes unresponsive hangs swap freeze freezes freezing froze",
            r"reboot|stops answering|freez(?:e|ing)|froze|unresponsive|swap",
        ),
    ),
    judge,
)
