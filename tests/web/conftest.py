"""An endpoint for the tests of the page's server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.stub import Seen, stub_endpoint


@pytest.fixture(scope="module")
def stub() -> Iterator[tuple[str, Seen]]:
    with stub_endpoint() as endpoint:
        yield endpoint
