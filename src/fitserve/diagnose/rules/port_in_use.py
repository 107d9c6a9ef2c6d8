"""A port is taken: the server's, or the one where ranks meet.

Sees: «address already in use», EADDRINUSE, errno 98 or 48.
Why: an earlier instance, or a worker that outlived it, still listens; two engines that start together race for the
same rendezvous port.
Disproved by: nothing listening there (`ss -ltnp`).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import environment, make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding
from fitserve.stage import Stage

CAUSE = "port_in_use"
_DEFAULT = 8000


def judge(case: Case) -> Finding | None:
    told = (hit for hit in case.hits("port_taken") if hit.level not in ("INFO", "DEBUG", "WARNING"))
    seen = next((hit for hit in told if "NCCL " not in hit.text), None)  # a port of NCCL's that nobody needs
    if seen is None:
        return None
    meeting = case.frames & {"_create_c10d_store", "init_process_group", "init_distributed_environment"}
    if meeting or "server socket has failed to listen" in seen.text or "zmq" in seen.text.lower():
        return finding(
            case, CAUSE, Stage.LOAD, [seen], [environment("other_meeting_port", VLLM_PORT="12356")], key="port_meeting"
        )
    port = int(case.number("--port") or _DEFAULT)
    return finding(
        case,
        CAUSE,
        Stage.CONFIG,
        [seen],
        [step("find_listener", port=port), make({"--port": port + 1}, "other_port", {"port": port + 1})],
    )


_SHAPE = r"(?i)address already in use|EADDRINUSE|\[Errno (?:98|48)\]|port (?:\d{1,5} )?is already (?:in use|allocated)"
RULE = Rule(CAUSE, (see("port_taken", "address eaddrinuse errno port", _SHAPE),), judge, frozenset({"multi_gpu_comm"}))
