"""The catalogue tool finds what a package can write, and tells which patterns are left without anything to match."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools" / "catalogue"))

from patterns import unmatched
from templates import BLANK, templates

from fitserve.observe.log.match import pattern

SOURCE = """
def run(logger, gib, message="%storch.compile took %.2f s in total"):
    logger.info("Available KV cache memory: %s GiB", gib)
    raise ValueError(
        f"max_num_seqs ({gib}) exceeds available Mamba cache blocks "
        f"({gib}).")
    assert gib, f"block_size ({gib}) must be small enough"
"""


def package(tmp_path):
    (tmp_path / "worker.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def (")
    return tmp_path


def test_templates_are_found_with_their_blanks(tmp_path):
    found = {item.text.replace(BLANK, "…"): item.kind for item in templates(package(tmp_path))}
    assert found["Available KV cache memory: … GiB"] == "log"
    assert found["max_num_seqs (…) exceeds available Mamba cache blocks (…)."] == "raise"
    assert found["block_size (…) must be small enough"] == "assert"
    assert "…torch.compile took … s in total" in found


def test_a_pattern_without_a_template_is_reported(tmp_path):
    alive = pattern("a", "available", r"^Available KV cache memory: (-?\d+(?:\.\d+)?) GiB")
    dead = pattern("b", "cache", r"Nobody writes this about the cache")
    assert unmatched([alive, dead], templates(package(tmp_path))) == [dead]
