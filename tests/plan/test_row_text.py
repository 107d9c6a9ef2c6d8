"""What a ledger row is called."""

from __future__ import annotations

from fitserve.plan.row_text import row_text


def test_a_processor_has_processes_where_a_card_has_a_context() -> None:
    assert row_text("context", on_cpu=False, language="en") == "CUDA context (outside)"
    assert row_text("context", on_cpu=True, language="en") == "processes"
    assert row_text("weights", on_cpu=True, language="zh") == "权重"


def test_a_recordings_own_row_keeps_its_name() -> None:
    assert row_text("of_tomorrow", on_cpu=False) == "of_tomorrow"
