"""The judge: strict about what is said, fair about how."""

import pytest

from fitserve.demo.judge import is_right, numbers_said, words_said
from fitserve.demo.phrasings import Kind
from fitserve.demo.questions import Facts, Question


def question(kind: Kind, asked: str = "", said: str = "", number: int | None = None, absent: bool = False) -> Question:
    words = [frozenset(part for part in text.split("|") if part) for text in (asked, said)]
    return Question(kind, "en", 0, "?", words[0], Facts(words[1], number, absent), "")


COLOUR = question("colour", "star", "red")
NO_STAR = question("colour", "star", absent=True)
PLACE = question("place", "top left", "red|star")
COUNT = question("count", number=3)
STARS = question("count_kind", "star", number=2)
NO_STARS = question("count_kind", "star", number=0)
TRIANGLES = question("count_kind", "triangle", number=1)
BIGGER = question("bigger", "star|circle", "star")
DIGIT = question("digit", number=7)
OUTSIDE = question("outside")

RIGHT = [
    (COLOUR, "The star is red."), (COLOUR, "RED"),
    (COLOUR, "星形是红色的。"), (COLOUR, "It's red!"), (COLOUR, "红"),
    (NO_STAR, "There is no star."), (NO_STAR, "图中没有星形。"),
    (PLACE, "There is a red star in the top left."),
    (PLACE, "左上角有一个红色的星形。"), (PLACE, "A red star."), (PLACE, "红色五角星"),
    (COUNT, "There are three shapes."), (COUNT, "3"),
    (COUNT, "图中一共有三个图形。"), (COUNT, "There are 3."),
    (STARS, "There are two stars."), (STARS, "图中有两个星形。"),
    (STARS, "二"), (NO_STARS, "There are no stars."),
    (NO_STARS, "图中没有星形。"), (NO_STARS, "None."),
    (TRIANGLES, "图中有一个三角形。"), (TRIANGLES, "There is one triangle."),
    (BIGGER, "The star is bigger."),
    (BIGGER, "The star is bigger than the circle."), (BIGGER, "星形更大。"),
    (BIGGER, "星形比圆形大。"), (BIGGER, "The circle is smaller."), (BIGGER, "The star."),
    (DIGIT, "The digit is 7."), (DIGIT, "seven"), (DIGIT, "图中的数字是7。"), (DIGIT, "数字七"),
    (OUTSIDE, "I can't tell."), (OUTSIDE, "我看不出来。"),
    (OUTSIDE, "I cannot know that."), (OUTSIDE, "不知道"),
]  # fmt: skip

WRONG = [
    (COLOUR, "The star is blue."), (COLOUR, "The star is red and blue."),
    (COLOUR, "The star is not red."), (COLOUR, ""),
    (COLOUR, "The circle is red."), (COLOUR, "I can't tell."),
    (COLOUR, "星形不是红色的。"), (COLOUR, "I am bored."),
    (NO_STAR, "The star is red."), (NO_STAR, "There is no circle."),
    (COLOUR, "There is no red star."),
    (PLACE, "There is a red circle in the top left."),
    (PLACE, "A star."), (PLACE, "There is a red star in the top right."),
    (PLACE, "There is nothing in the top left."),
    (PLACE, "右上角有一个红色的星形。"), (PLACE, "a red star and a blue cross"),
    (COUNT, "There are four shapes."), (COUNT, "three or four"), (COUNT, "13"), (COUNT, "图中有两个图形。"),
    (STARS, "There are two circles."), (STARS, "There is one star."),
    (NO_STARS, "There is one star."), (TRIANGLES, "三角形"),
    (BIGGER, "The circle is bigger."), (BIGGER, "The star and the circle."), (BIGGER, "圆形比星形大。"),
    (BIGGER, "The star is smaller."), (BIGGER, "The heart is bigger."), (BIGGER, "bigger"),
    (DIGIT, "The digit is 1."), (DIGIT, "77"), (DIGIT, "There is no digit."), (DIGIT, "7 or 8"),
    (OUTSIDE, "The star is red."), (OUTSIDE, "Paris."),
    (OUTSIDE, "I can't tell, but the star is red."), (OUTSIDE, ""),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "text"), RIGHT)
def test_right_answers_are_right(asked: Question, text: str) -> None:
    assert is_right(asked, text)


@pytest.mark.parametrize(("asked", "text"), WRONG)
def test_wrong_answers_are_wrong(asked: Question, text: str) -> None:
    assert not is_right(asked, text)


def test_words_are_found_whatever_they_are_called() -> None:
    assert words_said("A violet disc, upper left") == {"purple", "circle", "top left"}
    assert words_said("正中间的蓝色方块") == {"centre", "blue", "square"}
    assert words_said("bored, redo, starch, stare") == set()


def test_numbers_inside_names_do_not_count() -> None:
    assert numbers_said("三角形和十字形") == set()
    assert numbers_said("一共两个") == {2}
    assert numbers_said("No one of the seven") == {0, 1, 7}
