"""Charts as PNG, drawn by resvg from the very SVG that the page shows; it takes the machine's own fonts."""

from __future__ import annotations

import io
from functools import cache

from fitserve.errors import ToolMissing
from fitserve.report.svg import FONTS
from fitserve.text import tr

_ZOOM = 2  # twice as many pixels as the page has: sharp on paper and on dense screens
_INSTALL = "pip install 'fitserve[report]'"
INSTALL_FONTS = "apt install fonts-noto-cjk"
_SAMPLES = {"en": "M", "zh": "中"}


def png(svg: str) -> bytes:
    """A drawing as PNG on white. Raises ToolMissing without resvg."""
    try:
        import resvg_py
    except ImportError as error:
        raise ToolMissing(tr("report.no_resvg"), evidence=str(error), hint=_INSTALL) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, background="#ffffff", zoom=_ZOOM, languages=["zh", "en"]))


@cache
def can_write(language: str) -> bool:
    """Whether a font of this machine has the language's letters: without one they would silently be left out."""
    from PIL import Image

    letter = f'<text y="30" font-family="{FONTS}">{_SAMPLES[language]}</text>'
    drawn = png(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">{letter}</svg>')
    return Image.open(io.BytesIO(drawn)).convert("L").getextrema() != (255, 255)


def language_for(wanted: str) -> str:
    """The language that PNGs can be drawn in: the wanted one, else English. Raises ToolMissing without any font."""
    for language in (wanted, "en"):
        if can_write(language):
            return language
    raise ToolMissing(tr("report.no_fonts"), hint=INSTALL_FONTS)
