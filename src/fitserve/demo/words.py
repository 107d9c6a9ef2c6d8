"""The names of the world's things in English and Chinese, with what a person might call them instead."""

from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

ZH: dict[str, str] = {
    "circle": "圆形",
    "square": "正方形",
    "triangle": "三角形",
    "star": "星形",
    "heart": "心形",
    "cross": "十字形",
    "red": "红色",
    "orange": "橙色",
    "yellow": "黄色",
    "green": "绿色",
    "blue": "蓝色",
    "purple": "紫色",
    "black": "黑色",
    "white": "白色",
    "top left": "左上角",
    "top right": "右上角",
    "bottom left": "左下角",
    "bottom right": "右下角",
    "centre": "中间",
}
PLURALS = {"cross": "crosses"}
NUMBERS_EN = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBERS_ZH = ("零", "一", "两", "三", "四", "五", "六", "七", "八", "九")

# Longer names first: they are taken out of a text before the shorter ones are looked for.
SAID: dict[str, tuple[str, ...]] = {
    "circle": ("circles", "circle", "disc", "圆形", "圆圈", "圆"),
    "square": ("squares", "square", "正方形", "方形", "方块"),
    "triangle": ("triangles", "triangle", "三角形", "三角"),
    "star": ("stars", "star", "五角星", "星形", "星星", "星"),
    "heart": ("hearts", "heart", "爱心", "心形"),
    "cross": ("crosses", "cross", "十字形", "十字"),
    "red": ("red", "红色", "红"),
    "orange": ("orange", "橙色", "橙", "橘色", "橘"),
    "yellow": ("yellow", "黄色", "黄"),
    "green": ("green", "绿色", "绿"),
    "blue": ("blue", "蓝色", "蓝"),
    "purple": ("purple", "violet", "紫色", "紫"),
    "black": ("black", "黑色", "黑"),
    "white": ("white", "白色", "白"),
    "top left": ("top left", "top-left", "upper left", "左上角", "左上"),
    "top right": ("top right", "top-right", "upper right", "右上角", "右上"),
    "bottom left": ("bottom left", "bottom-left", "lower left", "左下角", "左下"),
    "bottom right": ("bottom right", "bottom-right", "lower right", "右下角", "右下"),
    "centre": ("centre", "center", "middle", "正中间", "中间", "中央", "正中"),
}


def name(word: str, language: Language) -> str:
    """A shape, colour or place as the language calls it."""
    return ZH[word] if language == "zh" else word


def plural(word: str, language: Language, number: int = 2) -> str:
    """A thing counted; Chinese has one form."""
    if language == "zh" or number == 1:
        return name(word, language)
    return PLURALS.get(word, f"{word}s")


def number_word(number: int, language: Language) -> str:
    """A count from 0 to 9 in words, as it stands before a thing counted."""
    return (NUMBERS_ZH if language == "zh" else NUMBERS_EN)[number]
