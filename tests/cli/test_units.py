"""Numbers as people write them."""

from __future__ import annotations

import pytest

from fitserve.units import parse_bytes, parse_count


@pytest.mark.parametrize("text", ["-5", " -32K", "-1.5"])
def test_a_number_below_zero_is_out_of_range_not_no_number(text: str) -> None:
    for parse in (parse_count, parse_bytes):
        with pytest.raises(ValueError, match="out of range"):
            parse(text)


@pytest.mark.parametrize("text", ["", "-", "--5", "-x", "five"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        parse_count(text)
