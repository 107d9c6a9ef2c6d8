"""Other ways to put the world's questions, for training only: whoever tries the demo types words of their own.

None of them may come out as a held-out phrasing: those are kept for the score (see `is_held_out`).
"""

import re
from random import Random

from fitserve.demo.phrasings import HELD_OUT, PHRASINGS, Kind
from fitserve.demo.words import Language

PARAPHRASES: dict[Language, dict[Kind, tuple[str, ...]]] = {
    "en": {
        "colour": (
            "{shape} colour?", "What colour is that {shape}?",
            "The {shape} is which colour?", "Which colour is the {shape}?",
            "Do you know what colour the {shape} is?", "What is the {shape}'s colour?",
            "In what colour is the {shape} drawn?",
        ),
        "place": (
            "{place}?", "What is at the {place}?",
            "What can be seen in the {place}?", "Describe what is in the {place}.",
            "What stands in the {place}?", "What do we have in the {place}?", "What is drawn in the {place}?",
        ),
        "count": (
            "How many are there?", "How many shapes?", "Number of shapes?",
            "Count the shapes.", "How many shapes in total?",
            "How many shapes are in the picture?", "How many shapes can you count?",
            "How many shapes are drawn here?",
        ),
        "count_kind": (
            "How many {things}?", "Number of {things}?",
            "Count the {things}.", "How many {things} are in the picture?",
            "How many {things} can you count?", "How many {things} in total?",
            "How many {things} are drawn here?",
        ),
        "bigger": (
            "{first} or {second}, which is bigger?", "Compare the {first} and the {second}: which is bigger?",
            "Which one is bigger, {first} or {second}?", "What is bigger, the {first} or the {second}?",
            "Bigger: the {first} or the {second}?",
        ),
        "digit": (
            "What digit is it?", "What number is shown?", "What is the digit?",
            "Which number can you see?", "What number is this?",
            "What does the digit say?", "Digit?", "What is the number in the picture?", "Read the number.",
        ),
    },
    "zh": {
        "colour": (
            "{shape}什么颜色", "{shape}是哪个颜色？", "那个{shape}是什么颜色的？",
            "图中的{shape}是什么颜色的？", "{shape}画成了什么颜色？",
            "你知道{shape}是什么颜色吗？",
        ),
        "place": (
            "{place}？", "{place}是什么？", "在{place}能看到什么？",
            "{place}画的是什么？", "{place}有什么东西？", "图中{place}是什么？",
        ),
        "count": (
            "有几个图形？", "有多少个图形？", "图中有多少个图形？", "图形有几个？",
            "数一数有几个图形。", "总共多少个图形？", "画了几个图形？",
        ),
        "count_kind": (
            "有几个{things}？", "有多少个{things}？", "图中有多少个{things}？",
            "{things}有几个？", "数一数有几个{things}。", "画了几个{things}？",
        ),
        "bigger": (
            "{first}和{second}哪个大？", "哪个更大，{first}还是{second}？",
            "{first}与{second}相比，哪个更大？", "{first}、{second}，谁更大？",
        ),
        "digit": (
            "数字是多少？", "这是数字几？", "图里是哪个数字？", "图中写着什么数字？",
            "数字几？", "能读出数字吗？", "上面的数字是几？",
        ),
    },
}  # fmt: skip
SYNONYMS: dict[Language, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "en": (
        ("colour", ("color",)), ("centre", ("center", "middle")),
        ("bigger", ("larger",)), ("What is", ("What's",)),
        ("shapes", ("objects", "things", "figures")), ("shape ", ("object ", "thing ", "figure ")),
        ("the picture", ("the image", "the photo", "this image", "this picture", "the drawing")),
        ("do you see", ("can you see", "do we see")), ("Tell me", ("Say", "Please tell me", "Name")),
        ("digit", ("number", "numeral")), ("top ", ("upper ",)),
        ("bottom ", ("lower ",)), (" left", (" left corner",)),
        (" right", (" right corner",)), ("Count", ("Please count", "Can you count")),
        ("are there", ("are there here", "exist")),
    ),
    "zh": (
        ("图形", ("物体", "形状", "东西")), ("图中", ("图片中", "图里", "图片里", "画面中", "这张图中")),
        ("几个", ("多少个",)),
        ("正方形", ("方形", "方块")), ("圆形", ("圆", "圆圈")),
        ("星形", ("星星", "五角星")), ("心形", ("爱心",)),
        ("十字形", ("十字",)), ("上角", ("上方", "上")),
        ("下角", ("下方", "下")), ("中间", ("正中间", "中央", "正中")),
        ("什么", ("啥",)), ("哪个", ("哪一个",)), ("颜色", ("色",)),
        ("红色图", ("红色的图",)), ("蓝色图", ("蓝色的图",)),
    ),
}  # fmt: skip


def other_words(text: str, language: Language, rng: Random) -> str:
    """The question with some of its words exchanged."""
    for usual, others in SYNONYMS[language]:
        if usual in text and rng.random() < 0.3:
            text = text.replace(usual, rng.choice(others))
    return text


def is_held_out(text: str) -> bool:
    """Whether a text contains a phrasing that is kept for the score."""
    return any(pattern.search(text) for pattern in _HELD_OUT)


def _pattern(template: str) -> re.Pattern[str]:
    words = re.sub(r"\\{\w+\\}", ".+", re.escape(template[:-1]))
    return re.compile(words, re.I)


_HELD_OUT = [
    _pattern(five[HELD_OUT]) for kinds in PHRASINGS.values() for kind, five in kinds.items() if kind != "outside"
]
