"""What the runner's exit code says to supervisor: start me again, or leave it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """RESTART, and a death by a signal, are the only ends after which supervisor starts the runner again."""

    STOPPED = 0  # asked to stop, and did
    GAVE_UP = 70  # the engine failed, and another start would not help
    LOCKED = 73  # another runner has this deployment
    RESTART = 75  # the engine died after it had answered
    UNUSABLE = 78  # the deployment's file is missing or broken


EXPECTED_CODES = tuple(code for code in range(128) if code != Exit.RESTART)
