"""A quantized shard is no whole number of groups or kernel tiles.

Sees: «input_size_per_partition = N is not divisible by min_thread_k / group_size», «not aligned with the quantized
weight shape», «size_k must divisible by BLOCK_SIZE_K», the per-rank rules of quantized experts and of block-wise FP8.
Why: tensor parallelism cuts a row of packed weights; scales belong to groups of 32 to 128 of them and kernels read
tiles of 64 or 128. 29568 / 2 = 14784 is no multiple of 128. Experts can stay whole with expert parallelism.
Disproved by: the same sentence with one card (then the checkpoint itself does not suit the kernel).
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import complained, finding
from fitserve.diagnose.version import knows
from fitserve.stage import Stage

CAUSE = "tp_quant_divisibility"
_PART = re.compile(r"= ?(\d{1,9}) is not divisible by .{0,60}?= ?(\d{1,6})")


def judge(case: Case) -> Finding | None:
    seen = complained(case, "shard_tile", "shard_group", "shard_block")
    if seen is None:
        return None
    return finding(case, CAUSE, case.place(Stage.LOAD), [seen], _fixes(case, seen.text))


def _fixes(case: Case, text: str) -> list[Fix | None]:
    tp = case.tp
    if tp == 1:
        old = case.at_least(0, 8) is False
        return [make({"--quantization": "awq"}, "plain_kernel") if old else None, step("other_checkpoint")]
    fitting = _largest(tp, text)
    half = fitting or tp // 2
    pipeline: dict[str, object] = {"--tensor-parallel-size": half, "--pipeline-parallel-size": tp // half}
    whole: dict[str, object] = {"--tensor-parallel-size": 1, "--pipeline-parallel-size": tp}
    experts = (
        make({"--enable-expert-parallel": True}, "whole_experts")
        if case.moe and knows(case, "--enable-expert-parallel")
        else None
    )
    dense = make(whole, "pipeline", new=tp)
    mixed = make(pipeline, "pipeline_half", new=half) if half > 1 and (case.moe or fitting) else None
    return [mixed, experts, dense, step("other_checkpoint")]


def _largest(tp: int, text: str) -> int | None:
    """The largest split, by halves, whose part of the row is a whole number of tiles; None where none is."""
    found = _PART.search(text)
    if found is None or not int(found[2]):
        return None
    row, tile = int(found[1]) * tp, int(found[2])
    sizes = (tp >> bit for bit in range(1, tp.bit_length() - 1))
    return next((to for to in sizes if to > 1 and tp % to == 0 and row % (to * tile) == 0), None)


RULE = Rule(
    CAUSE,
    (
        see(
            "shard_tile",
            "min_thread_k min_thread_n block_n block_k block_size_k",
            r"is not divisible by +(?:min_thread_[kn]|weight quantization block_[nk])|"
            r"must (?:be )?divisible by BLOCK_SIZE_K",
        ),
        see(
            "shard_group",
            "group_size group packed_factor",
            r"is not divisible by +group_size|to be divisible by group_size|must be divisible by packed_factor",
        ),
        see("shard_block", "aligned", r"not aligned with the quantized weight shape"),
    ),
    judge,
    explains=frozenset({"tp_layout", "kernel_crash", "quant_format_mismatch"}),
)
