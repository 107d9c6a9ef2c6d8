"""Whether a free-text answer is right: it must say the right thing, and no wrong one."""

import re

from fitserve.demo.questions import Facts, Question
from fitserve.demo.words import NUMBERS_EN, NUMBERS_ZH, SAID

_CANT_TELL = re.compile(r"can(?:'|’)?t (?:tell|say|see|know)|cannot|don(?:'|’)?t know|看不出|不知道|无法|不能", re.I)
_NEGATED = re.compile(r"\bnot\b|n['’]t\b|\bneither\b|不是|并非|不对", re.I)
_NONE = re.compile(r"\b(?:no|none|nothing|zero|not any|empty|0)\b|没有|什么也没|零|是空的|(?<!\d)0(?!\d)", re.I)
_SMALLER = re.compile(r"\bsmaller\b|更小|小(?=[。.!！]|$)", re.I)
_COMPARED = re.compile(r"\bthan\b.*$|比[^。，]*?(?=[更大小]|要)", re.I)
_NOT_NUMBERS = re.compile(r"一共|一种|一下|哪一|唯一")


def is_right(question: Question, text: str) -> bool:
    """Judge an answer in either language; case, punctuation and length don't matter."""
    text = " ".join(text.split())
    if question.facts == Facts():
        return bool(_CANT_TELL.search(text)) and not words_said(text)
    if _CANT_TELL.search(text) or _NEGATED.search(text):
        return False
    if question.facts.absent:
        return bool(_NONE.search(text)) and words_said(text) <= question.asked
    if question.facts.number is not None:
        return numbers_said(text) == {question.facts.number} and words_said(text) <= question.asked
    if question.kind == "bigger":
        return _names_the_bigger(question, text)
    return _says(question, text)


def words_said(text: str) -> set[str]:
    """The world's words in a text: shapes, colours and places, whatever they are called."""
    return _taken_apart(text)[0]


def numbers_said(text: str) -> set[int]:
    """The numbers in a text, as figures or as words of either language, outside of names («三角形»)."""
    rest = _NOT_NUMBERS.sub(" ", _taken_apart(text)[1])
    found = {int(figures) for figures in re.findall(r"\d+", rest)}
    found |= {number for number, word in enumerate(NUMBERS_EN) if re.search(rf"\b{word}\b", rest, re.I)}
    found |= {number for number, word in enumerate(NUMBERS_ZH) if word in rest}
    found |= {2} if "二" in rest else set()
    return found | ({0} if re.search(r"没有|\bnone\b|\bzero\b", rest, re.I) else set())


def _taken_apart(text: str) -> tuple[set[str], str]:
    """The world's words in the text, and the text without them."""
    found = set()
    for spelling, word in _SPELLINGS:
        pattern = rf"\b{re.escape(spelling)}\b" if spelling.isascii() else re.escape(spelling)
        text, times = re.subn(pattern, " ", text, flags=re.I)
        if times:
            found.add(word)
    return found, text


_SPELLINGS = sorted(
    ((spelling, word) for word, spellings in SAID.items() for spelling in spellings),
    key=lambda pair: -len(pair[0]),
)


def _says(question: Question, text: str) -> bool:
    said = words_said(text)
    return question.facts.said <= said <= question.facts.said | question.asked and not _NONE.search(text)


def _names_the_bigger(question: Question, text: str) -> bool:
    """«The star is bigger than the circle», «比圆形大的是星形» and «the circle is smaller» are the same answer."""
    named = words_said(_COMPARED.sub(" ", text))
    wanted = question.asked - question.facts.said if _SMALLER.search(text) else question.facts.said
    return named == wanted and words_said(text) <= question.asked
