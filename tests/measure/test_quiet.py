"""The generator's conditions are given back as they were found."""

from __future__ import annotations

import gc
import os

from fitserve.measure.quiet import quiet


def test_nothing_stays() -> None:
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with quiet():
        assert not gc.isenabled()
        assert os.getpriority(os.PRIO_PROCESS, 0) <= nice
    assert gc.isenabled()
    assert os.getpriority(os.PRIO_PROCESS, 0) == nice
