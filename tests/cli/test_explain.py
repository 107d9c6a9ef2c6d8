"""`fitserve explain` without a topic: the topics, one a line, or one document."""

from __future__ import annotations

import json

import pytest

from fitserve.cli.app import app
from fitserve.cli.failure import told


def test_without_a_topic_the_topics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(app, ["explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "topics" and {"execution", "mistakes"} <= {*document["topics"]}
    assert told(app, ["explain"]) == 0
    assert "fitserve explain execution" in capsys.readouterr().out
