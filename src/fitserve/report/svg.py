"""Just enough SVG: a frame with two scales, ticks that people would choose, lines, bars with intervals, a legend.

Text is in the reader's own fonts (Chinese ones named), so nothing has to be loaded; colours and dashes both tell
series apart, so a print without colour still can be read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

FONTS = (
    "system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Zen Hei', "
    "'Liberation Sans', 'DejaVu Sans', sans-serif"
)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#6a51a3", "#333333")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "6 6")
WIDTH = 720
_TICK_APART = 30.0
_WIDE = 2.0  # a CJK letter's width over a Latin one's


@dataclass(frozen=True)
class Scale:
    """Values to pixels. A log scale takes positive values only."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    marked: tuple[float, ...] = ()  # ticks that are asked for

    def place(self, value: float) -> float:
        """The pixel of a value, held inside the frame."""
        low, high, value = (
            math.log(one) if self.log else one for one in (self.low, self.high, max(value, self._least))
        )
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def _least(self) -> float:
        return self.low if self.log else -math.inf

    def ticks(self) -> list[float]:
        """Values to mark, as many as their numbers leave room for."""
        wanted = self.marked or (log_ticks(self.low, self.high) if self.log else nice_ticks(self.low, self.high))
        kept: list[float] = []
        for value in wanted:
            room = abs(self.place(value) - self.place(kept[-1])) if kept else _TICK_APART
            if room >= _TICK_APART:
                kept.append(value)
        return kept


def nice_ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten within the range."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten; only the tens where that would be too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 300 else (1,)
    found = [step * 10.0**power for power in powers for step in steps]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def tick_text(value: float) -> str:
    """`0.05`, `5`, `1,500`, `20k`."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.4g}k"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def text_width(text: str, size: float = 12) -> float:
    """Pixels, near enough for a margin."""
    return sum(_WIDE if ord(letter) > 0x2E80 else 1.0 for letter in text) * size * 0.56


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, turn: int = 0, bold: bool = False
) -> str:
    """One line of text."""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="currentColor"{weight}{turned}>{escape(words)}</text>'


def rule(x1: float, y1: float, x2: float, y2: float, *, faint: bool = False, colour: str = "currentColor") -> str:
    """A thin straight line."""
    opacity = ' opacity="0.18"' if faint else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{opacity}/>'


def path(points: Sequence[tuple[float, float]], number: int) -> str:
    """A line through pixels, in the series' colour and dash."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = f' stroke-dasharray="{DASHES[number % len(DASHES)]}"' if DASHES[number % len(DASHES)] else ""
    return f'<polyline points="{steps}" fill="none" stroke="{colour(number)}" stroke-width="2"{dash}/>'


def dot(x: float, y: float, number: int, words: str = "") -> str:
    """A mark; `words` is shown when it is pointed at."""
    title = f"<title>{escape(words)}</title>" if words else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour(number)}">{title}</circle>'


def box(x: float, y: float, width: float, height: float, number: int, words: str = "") -> str:
    """A bar."""
    title = f"<title>{escape(words)}</title>" if words else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour(number)}" fill-opacity="0.75">{title}</rect>'


def whisker(x1: float, x2: float, y: float) -> str:
    """An interval along a bar."""
    ends = "".join(rule(x, y - 5, x, y + 5) for x in (x1, x2))
    return rule(x1, y, x2, y) + ends


def colour(number: int) -> str:
    """The colour of a series."""
    return COLOURS[number % len(COLOURS)]


def legend(names: Sequence[str], x: float, y: float, *, boxes: bool = False) -> str:
    """Names with their colour and dash, in a row that breaks where it is full."""
    parts, left = [], x
    for number, name in enumerate(names):
        wide = text_width(name) + 46
        if left + wide > WIDTH and left > x:
            left, y = x, y + 18
        mark = box(left, y - 9, 22, 10, number) if boxes else path([(left, y - 4), (left + 24, y - 4)], number)
        parts.append(mark + text(left + 30, y, name))
        left += wide
    return "".join(parts)


def legend_rows(names: Sequence[str], x: float) -> int:
    """How many rows a legend takes."""
    rows, left = 1, x
    for name in names:
        wide = text_width(name) + 46
        if left + wide > WIDTH and left > x:
            rows, left = rows + 1, x
        left += wide
    return rows if names else 0


def drawing(title: str, height: float, parts: Sequence[str]) -> str:
    """A whole picture, for a page and for a file of its own alike."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
    style = f'font-family="{FONTS}" color="#222"'
    return f"{head} {style}>\n<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
