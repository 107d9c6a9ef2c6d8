"""Score the doctor on the labelled cases; write that table into docs/doctor.md, the mistakes into the troubleshooting.

python tools/doctor_score           # prints, and writes the table between its marks
python tools/doctor_score --check   # fails where the table in the docs is not the one that is computed
"""

from __future__ import annotations

import sys
from pathlib import Path

from cases import cases, changed
from peers import cure_share, named_share, sentence
from score import Tally, tallied

from fitserve.diagnose.mistakes import table as mistakes
from fitserve.text import choose_language

DOCS = Path(__file__).parent.parent.parent / "docs"
TROUBLE = {"en": "troubleshooting.md", "zh": "troubleshooting.zh.md"}


def main() -> int:
    """Compute, print, and write or compare."""
    choose_language("en")
    text, missed = table()
    print(text)
    print("\n".join(missed))
    new = {"doctor.md": _filled("doctor.md", "doctor_score", text)}
    for language, name in TROUBLE.items():
        choose_language(language)
        new[name] = _filled(name, "mistakes", mistakes())
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


def table() -> tuple[str, list[str]]:
    """The table as Markdown, and the cases that were not told right."""
    every = cases()
    counted = [case for case in every if case.current and case.sure]
    older = [case for case in every if not (case.current and case.sure)]
    scored, again, old = tallied(counted), tallied(map(changed, counted)), tallied(older)
    titles = ["cause", "cases", "stage", "cause first", "cure in the first two", "with free parts changed"]
    titles += ["vllm-doctor: anything", "ml-memguard: cure"]
    rows = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    causes = ["", *sorted(scored.keys() - {""})]
    for cause in causes:
        own = [case for case in counted if cause in ("", case.cause)]
        others = f" {named_share(own)} | {cure_share(own)} |"
        rows.append(_row(cause or "**all**", scored[cause], again[cause]) + others)
    total = old[""]
    rows.append(
        f"\nOlder engines and guessed labels, apart: {total.cases} cases, stage {_share(total.stage, total.cases)}, "
        f"cause {_share(total.cause, total.cases)}, cure {_share(total.cure, total.curable)}.\n"
    )
    rows.append(sentence(counted))
    return "\n".join(rows), [*scored[""].missed, *again[""].missed, *total.missed]


def _row(name: str, tally: Tally, again: Tally) -> str:
    cure = f"{tally.cure}/{tally.curable}" if tally.curable else "–"
    shares = [
        _share(tally.stage, tally.cases),
        _share(tally.cause, tally.cases),
        cure,
        _share(again.cause, again.cases),
    ]
    return f"| {name} | {tally.cases} | {' | '.join(shares)} |"


def _share(right: int, cases: int) -> str:
    return f"{100 * right / cases:.0f} %" if cases else "–"


if __name__ == "__main__":
    raise SystemExit(main())
