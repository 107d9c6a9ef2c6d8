"""The page itself: one HTML document a language, with its sentences in it; everything else is static."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path

from fitserve.text import tr
from fitserve.text.catalog import sentences
from fitserve.units import format_bytes
from fitserve.web.intake import PICTURE_LIMIT

STATIC = Path(__file__).parent / "static"
_LATER = ("theme.js", "formulas.js", "colours.js")  # runs before all others; and what only some answers need
_FIRST = ("preact.js", "hooks.js", "htm.js", "markdown-it.js", "purify.js")
_AREAS = ("page", "owner")  # the sentences that the page speaks by itself


def page_html(language: str, is_demo: bool) -> str:
    """The document. Nothing in it runs but files of our own."""
    styles = "\n".join(f'<link rel="stylesheet" href="/static/style/{path.name}">' for path in _styles())
    preloads = "\n".join(f'<link rel="modulepreload" href="/static/{name}">' for name in _modules())
    return f"""<!doctype html>
<html lang="{"zh-CN" if language == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>fitserve</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<script src="/static/theme.js"></script>
{styles}
{preloads}
<script type="application/json" id="boot">{_boot(language, is_demo)}</script>
<script type="module" src="/static/main.js"></script>
</head>
<body><div id="app"><p class="opening">fitserve</p></div>
<noscript>{html.escape(tr("page.needs_script", language))}</noscript></body>
</html>
"""


@cache
def _modules() -> tuple[str, ...]:
    """What the first view needs; fetched at once and not one after the other."""
    ours = (path for path in STATIC.glob("*.js") if path.name not in _LATER and not path.name.startswith("owner_"))
    carried = (STATIC / "vendor" / name for name in _FIRST)
    return tuple(sorted(path.relative_to(STATIC).as_posix() for path in (*ours, *carried)))


def _styles() -> list[Path]:
    """The one with the colours and measures first."""
    return sorted((STATIC / "style").glob("*.css"), key=lambda path: (path.name != "page.css", path.name))


@cache
def _boot(language: str, is_demo: bool) -> str:
    texts = {f"{area}.{name}": sentence for area in _AREAS for name, sentence in sentences(language, area).items()}
    limit = {"bytes": PICTURE_LIMIT, "text": format_bytes(PICTURE_LIMIT)}
    told = {"language": language, "demo": is_demo, "limit": limit, "texts": texts}
    return json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")  # no sentence can end the element
