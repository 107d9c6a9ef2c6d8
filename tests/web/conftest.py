"""Makes `tests.browser.stub` importable from here, whatever folder pytest was started with."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
