"""Memory grows with time until something gives.

Sees: figures of memory that rise in a person's remarks or in the samples of a live service; Ray's monitor that ends
tasks on a node low on memory while requests with ever new pictures run.
Why: the cache of processed pictures (unbounded before 0.9), real pictures larger than the profiled ones when
`max_num_batched_tokens` is smaller than one picture, leaks of single versions, fragmentation.
Disproved by: memory that stays level over the same number of requests.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix, Severity
from fitserve.diagnose.fixes import limit_media, lower_utilization, make, more_batched_tokens, step
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._plain import finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "memory_growth"
_NUMBER = re.compile(r"(\d{1,7}(?:\.\d{1,3})?) ?([KMGT])i?B")
_WORDS = re.compile(
    r"\bgr[eo]w(?:s|n|ing|th)?\b|\bleak|creep|climb|keeps? (?:rising|increasing)|(?:rises|"
    r"rose|increases|increased) (?:with|on|over|until|from)|went up|"
    r"涨|增长|泄漏|越来越",
    re.IGNORECASE,
)
_PICTURE = 1280  # tokens of a picture of about 1024 a side


def judge(case: Case) -> Finding | None:
    notes = [hit for hit in case.noted("memory_words") if _grows(hit)]
    host = [hit for hit in case.hits("ray_memory") if hit.level not in ("INFO", "DEBUG")]
    if not notes:
        return None
    dead = bool(case.failures or host)
    severity = Severity.FATAL if dead else Severity.WARN
    root = [failure for failure in case.roots if "memory" in failure.text][:1]
    return finding(
        case,
        CAUSE,
        Stage.SERVE,
        [*notes[:2], *host[:1], *root],
        _fixes(case),
        severity=severity,
        confidence=Confidence.MEDIUM,
    )


def _grows(hit: Hit) -> bool:
    """Three sizes in rising order, or a word for growth beside a size."""
    sizes = [float(number) * 1024.0 ** "KMGT".index(unit) for number, unit in _NUMBER.findall(hit.text)]
    rising = len(sizes) >= 3 and sizes == sorted(sizes) and sizes[-1] > 1.1 * sizes[0]
    return rising or bool(_WORDS.search(hit.text)) or "RSS" in hit.text


def _fixes(case: Case) -> list[Fix | None]:
    batched = case.number("--max-num-batched-tokens")
    if batched is not None and batched < _PICTURE:
        return [more_batched_tokens(16384, "whole_picture_step"), limit_media(case), lower_utilization(case, 2.0)]
    if case.at_least(0, 11) is False:
        return [make({"--disable-mm-preprocessor-cache": True}, "no_picture_cache"), step("newer_engine")]
    smaller = make({"--mm-processor-cache-gb": 1}, "smaller_picture_cache")
    return [smaller, step("newer_engine"), lower_utilization(case, 1.0)]


RULE = Rule(
    CAUSE,
    (
        remark("memory_words", "memory gib gb mb mib rss ram vram cjk", r"memory|RSS|RAM|\d ?[GM]i?B|内存|显存"),
        see("ray_memory", "memory memory_monitor", r"running low on memory|memory_monitor"),
    ),
    judge,
    explains=frozenset({"oom_runtime", "host_ram"}),
)
