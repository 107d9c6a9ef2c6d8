"""Where `inspect` prints: the terminal's own width, or a fixed one where the answer goes into a file."""

from __future__ import annotations

import os
import sys

from rich.console import Console

REDIRECTED_COLUMNS = 110


def answer_console() -> Console:
    """A console on stdout that reads nothing as markup; NO_COLOR and COLUMNS are honoured by rich."""
    free = not sys.stdout.isatty() and not os.environ.get("COLUMNS")
    return Console(highlight=False, markup=False, emoji=False, width=REDIRECTED_COLUMNS if free else None)
