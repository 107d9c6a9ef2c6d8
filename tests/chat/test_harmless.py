"""What a model wrote is written down as Markdown of which no viewer loads or runs anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fitserve.chat.harmless import harmless


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("**bold**, 1 < 2 and a <- b", "**bold**, 1 < 2 and a <- b"),
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("![x](http://192.0.2.1/x.png) [y](z)", r"!\[x](http://192.0.2.1/x.png) [y](z)"),
        ("use `List<int>` here", "use `List<int>` here"),
        (r"\`<img src=x>`", r"\`&lt;img src=x>`"),
        ("```html\n<b>code</b>\n```\n<b>", "```html\n<b>code</b>\n```\n&lt;b>"),
        ("1. so:\n   ```\n   <b>\n   ```", "1. so:\n   ```\n   <b>\n   ```"),
        ("- a\n\n  ```\n<img src=x>", "- a\n\n  ```\n&lt;img src=x>"),
        ("<div>\n```\n\n```\n<img>\n```", "&lt;div>\n```\n\n```\n&lt;img>\n```\n```"),
        ("~~~\nhalf", "~~~\nhalf\n~~~"),
        ("a `b\n<img src=x> c` `", "a `b\n&lt;img src=x> c` `"),
    ],
)
def test_code_stays_and_the_rest_is_text(said: str, written: str) -> None:
    assert harmless(said) == written


@given(st.lists(st.sampled_from(["<img src=x>", "![a](b)", "`", "```", "~~~", "\n", "    ", "- ", "> ", "\\", "x"])))
def test_nothing_is_ever_loaded(pieces: list[str]) -> None:
    drawn = MarkdownIt("commonmark").render(f"{harmless(''.join(pieces))}\n\n## next\n")
    assert "<img" not in drawn
    assert drawn.endswith("<h2>next</h2>\n")
