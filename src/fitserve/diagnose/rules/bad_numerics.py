"""The answers are wrong: «!!!!», repetition, nonsense.

Sees: replies of repeated marks, a person's remark about gibberish, drafts that are never accepted.
Why: NaN or overflow in a kernel (half precision on a bf16 model, act-order weights with tensor parallelism), a
speculative draft that does not fit, a driver or peer-to-peer transfer that corrupts data.
Disproved by: the same prompt answered right with one card, without speculation, and in another quantization.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix, Severity
from fitserve.diagnose.fixes import drop, make, step
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._plain import finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "bad_numerics"
_HALF = ("half", "float16")
_ACCEPTED = 2.0  # percent of drafted tokens below which the draft is of no use


def judge(case: Case) -> Finding | None:
    notes = case.noted("nonsense")
    drafts = [hit for hit in case.hits("acceptance") if float(hit.groups[0] or 100) < _ACCEPTED]
    marks = [hit for hit in case.hits("marks") if hit.level not in ("INFO", "DEBUG")]
    if not notes and not drafts and not marks:
        return None
    if case.failures and not notes:
        return None
    seen: list[Hit] = [*notes[:1], *marks[:1], *drafts[:1]]
    confidence = Confidence.MEDIUM if notes or marks else Confidence.LOW
    return finding(case, CAUSE, Stage.SERVE, seen, _fixes(case), severity=Severity.WARN, confidence=confidence)


def _fixes(case: Case) -> list[Fix | None]:
    """What can be taken away again first, then the split, then the checkpoint."""
    speculative = drop(case, "--speculative-config", "drop_speculation")
    half = str(case.settings.get("--dtype")).rpartition(".")[2] in _HALF
    wider = make({"--dtype": "bfloat16"}, "wider_numbers") if half else None
    cache = drop(case, "--kv-cache-dtype", "kv_auto") if "fp8" in str(case.settings.get("--kv-cache-dtype")) else None
    plain = drop(case, "--quantization", "drop_quantization")
    split = case.tp > 1
    one_card = make({"--tensor-parallel-size": 1}, "one_card") if split else None
    transfers = make({"--disable-custom-all-reduce": True}, "plain_transfers") if split else None
    return [speculative, cache, wider, one_card, transfers, plain, step("other_checkpoint"), step("newer_engine")]


RULE = Rule(
    CAUSE,
    (
        remark(
            "nonsense",
            "gibberish garbled nonsense nonsensical response responses content repeated garbage "
            "repeats repetition output "
            "outputs answers answer text tokens incoherent corrupted random nan wrong token cjk",
            r"(?i)gibberish|garbled|nonsens|garbage|incoherent|corrupted (?:text|output|answer)|"
            r"random (?:tokens|words|characters)|"
            r"!{4,}|！{4,}|\bnan\b|endless(?:ly)? repe|repetition|repeat(?:s|ed|ing)? (?:itself|"
            r"endless|forever|the same|one)|"
            r"same (?:token|word|character)s? (?:over|again|repeated)|(?:wrong|empty) answers?|乱码|感叹号|重复",
        ),
        see(
            "marks",
            "content text response message output",
            r"(?:content|text|response|message|output)\b.{0,400}(?:!{8}|！{8})",
        ),
        see("acceptance", "acceptance", r"[Dd]raft acceptance rate: (\d{1,3}(?:\.\d{1,3})?)%"),
    ),
    judge,
    informed=True,  # of drafts that are never accepted only the periodic line tells
)
