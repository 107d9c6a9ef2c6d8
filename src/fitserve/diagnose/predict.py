"""The ledger after a change, from whoever can compute it: the plan where the model's facts are known, else nobody."""

from __future__ import annotations

from typing import Protocol

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Fix


class Predictor(Protocol):
    """Weighs a change. The result goes into the fix's `predicted` as it is."""

    def predict(self, case: Case, fix: Fix) -> dict[str, object] | None:
        """The figures after the change (GiB per card, tokens, "fits"), or None where they can't be computed."""
        ...

    def planned(self, case: Case) -> dict[str, object] | None:
        """The same figures for the settings as they were, to stand beside what was measured."""
        ...


class NoPredictor:
    """Knows no model: fixes keep what the log's own figures say."""

    def predict(self, case: Case, fix: Fix) -> dict[str, object] | None:  # noqa: ARG002 - the protocol's signature
        return None

    def planned(self, case: Case) -> dict[str, object] | None:  # noqa: ARG002 - the protocol's signature
        return None
