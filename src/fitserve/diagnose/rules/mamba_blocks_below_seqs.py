"""A hybrid model has fewer state blocks than sequences that may run at once.

Sees: «max_num_seqs (N) exceeds available Mamba cache blocks (M)».
Why: full decode graphs need one block, one recurrent state, for each sequence of the largest batch; the pool holds
fewer. More utilization seldom closes the gap, since a block is megabytes.
Disproved by: a number of blocks above `max_num_seqs`.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import fewer_sequences, raise_utilization, shorter_length
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import complained, finding
from fitserve.stage import Stage

CAUSE = "mamba_blocks_below_seqs"


def judge(case: Case) -> Finding | None:
    seen = complained(case, "mamba_blocks")
    if seen is None:
        return None
    sequences, blocks = int(seen.groups[0] or 0), int(seen.groups[1] or 0)
    to = 1 << (max(1, blocks).bit_length() - 1)
    length = case.number("--max-model-len")
    predicted: dict[str, object] = {"state_blocks": blocks, "max_num_seqs": to, "fits": True}
    fixes = [
        fewer_sequences(case, min(to, blocks), "state_sequences", predicted),
        shorter_length(case, int(length) // 2 if length else None),
        raise_utilization(case),
    ]
    return finding(case, CAUSE, Stage.GRAPH_CAPTURE, [seen], fixes, key=CAUSE, sequences=sequences, blocks=blocks)


_SHAPE = r"max_num_seqs \((\d{1,9})\) exceeds available Mamba cache blocks \((\d{1,9})\)"
RULE = Rule(CAUSE, (see("mamba_blocks", "mamba", _SHAPE),), judge)
