"""Text of engines and models as a terminal may see it."""

from __future__ import annotations

from fitserve.run.evidence import CONTROL


def plain(text: str) -> str:
    """Without control and OSC sequences; of a progress bar only what was last seen."""
    return CONTROL.sub("", text.rstrip("\r").rpartition("\r")[2])
