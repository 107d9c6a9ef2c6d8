"""Score the doctor on the labelled cases; write that table into its pages, the mistakes into the troubleshooting.

python tools/doctor_score           # prints, and writes the tables between their marks, in both languages
python tools/doctor_score --check   # fails where a table in the docs is not the one that is computed
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cases import cases, changed
from peers import cure_share, figures, named_share, named_when_full
from score import Tally, tallied

from fitserve.diagnose.mistakes import table as mistakes
from fitserve.text import LANGUAGES, choose_language, in_language

DOCS = Path(__file__).parent.parent.parent / "docs"
WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
ENDING = {"en": ".md", "zh": ".zh.md"}


@dataclass(frozen=True)
class Scores:
    """What was counted, once for both languages."""

    rows: list[list[str]]  # by cause, all of them first under ""
    older: dict[str, object]
    peers: dict[str, object]
    full: list[str]  # what vllm-doctor names where the cache is full
    missed: list[str]


def main() -> int:
    """Compute, print, and write or compare."""
    choose_language("en")
    scores = scored()
    print(written(scores, "en"))
    print("\n".join(scores.missed))
    new = {}
    for language in LANGUAGES:
        doctor, trouble = (stem + ENDING[language] for stem in ("doctor", "troubleshooting"))
        with in_language(language):
            new[trouble] = _filled(trouble, "mistakes", mistakes())
        new[doctor] = _filled(doctor, "doctor_score", written(scores, language))
    stale = [name for name, content in new.items() if (DOCS / name).read_text(encoding="utf-8") != content]
    if "--check" in sys.argv:
        print("\n".join(stale))
        return len(stale)
    for name in stale:
        (DOCS / name).write_text(new[name], encoding="utf-8")
    return 0


def _filled(name: str, mark: str, text: str) -> str:
    """The document with what stands between its marks replaced."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    old = (DOCS / name).read_text(encoding="utf-8")
    return old[: old.index(begin) + len(begin)] + text + old[old.index(end) :]


def scored() -> Scores:
    """The doctor on every case, the other tools' answers, and the cases that were not told right."""
    every = cases()
    counted = [case for case in every if case.current and case.sure]
    first, again = tallied(counted), tallied(map(changed, counted))
    old = tallied(case for case in every if not (case.current and case.sure))[""]
    rows = []
    for cause in sorted(first):
        own = [case for case in counted if cause in ("", case.cause)]
        rows.append([cause, *_cells(first[cause], again[cause]), named_share(own), cure_share(own)])
    older: dict[str, object] = {
        "cases": old.cases,
        "stage": _share(old.stage, old.cases),
        "cause": _share(old.cause, old.cases),
        "cure": _share(old.cure, old.curable),
    }
    missed = [*first[""].missed, *again[""].missed, *old.missed]
    return Scores(rows, older, figures(counted), named_when_full(), missed)


def written(scores: Scores, language: str) -> str:
    """The table as Markdown, and what is said below it."""
    words = WORDS[language]
    lines = [f"| {' | '.join(words['columns'])} |", "|---" * len(words["columns"]) + "|"]
    everything = f"**{words['all']}**"
    lines += [f"| {' | '.join([cause or everything, *cells])} |" for cause, *cells in scores.rows]
    named = {"full": words["comma"].join(scores.full)}
    lines += ["", words["older"].format(**scores.older), "", words["peers"].format(**scores.peers, **named)]
    return "\n".join(lines)


def _cells(tally: Tally, again: Tally) -> list[str]:
    cure = f"{tally.cure}/{tally.curable}" if tally.curable else "–"
    stage, cause = _share(tally.stage, tally.cases), _share(tally.cause, tally.cases)
    return [str(tally.cases), stage, cause, cure, _share(again.cause, again.cases)]


def _share(right: int, cases: int) -> str:
    return f"{right / cases:.0%}" if cases else "–"


if __name__ == "__main__":
    raise SystemExit(main())
