"""Hold the doctor's patterns against a version of vLLM: which of them can match nothing that it writes any more?

    python tools/catalogue PATH/TO/vllm            # an installed or unpacked vllm package
    python tools/catalogue PATH/TO/vllm --list     # its message templates, one a line

Exit 1 where a pattern is dead that is not in `dead.txt` (patterns that only older versions need, with the reason).
"""

from __future__ import annotations

import sys
from pathlib import Path

from patterns import all_patterns, known_dead, name, unmatched
from templates import BLANK, templates


def main() -> int:
    """List templates, or report dead patterns."""
    package = Path(sys.argv[1])
    found = list(templates(package))
    if "--list" in sys.argv:
        for item in found:
            print(f"{item.file}:{item.line}\t{item.kind}\t{item.text.replace(BLANK, '…')!r}")
        return 0
    dead = unmatched(all_patterns(), found)
    news = [item for item in dead if name(item) not in known_dead()]
    print(f"{len(found)} templates, {len(all_patterns())} patterns, {len(dead)} match nothing, {len(news)} of them new")
    for item in news:
        print(f"{name(item)}\t{item.shape.pattern}")
    return int(bool(news))


if __name__ == "__main__":
    raise SystemExit(main())
