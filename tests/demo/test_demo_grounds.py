"""Pictures on plain white or black: everything in them can be seen, and asked about."""

import sys
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from fitserve.demo.world import draw_scene

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "demo_model"))

import exam
from grounds import on_bare_ground


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_has_the_grounds_colour(seed: int) -> None:
    scene = on_bare_ground(draw_scene(Random(seed)), Random(seed))
    ground = "white" if scene.background.first[0] > 128 else "black"
    assert not 24 < scene.background.first[0] < 235
    assert ground not in {item.colour for item in scene.items}
    assert scene.digit is None or scene.digit.ink != ground


def test_papers_on_bare_grounds_ask_the_same_kinds_and_know_their_answers() -> None:
    papers = exam.papers(7)
    bare = [exam.on_bare_ground_too(paper) for paper in papers]
    assert [paper.question.kind for paper in bare] == [paper.question.kind for paper in papers]
    assert all(paper.is_right(paper.question.answer) for paper in bare)
    assert {paper.image.getpixel((0, 0)) for paper in bare} <= {(level,) * 3 for level in range(256)}
