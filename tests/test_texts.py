"""Both languages say the same things: same files, same keys, same placeholders."""

from __future__ import annotations

import string
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from fitserve.text import in_language, tr

TEXT = Path(__file__).parent.parent / "src" / "fitserve" / "text"
AREAS = sorted({path.name for language in ("en", "zh") for path in (TEXT / language).glob("*.toml")})


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


@pytest.mark.parametrize("area", AREAS)
def test_keys_and_placeholders_agree(area: str) -> None:
    en, zh = (tomllib.loads((TEXT / language / area).read_text(encoding="utf-8")) for language in ("en", "zh"))
    assert en.keys() == zh.keys()
    assert {key: fields(en[key]) for key in en} == {key: fields(zh[key]) for key in zh}


@pytest.mark.parametrize("area", AREAS)
def test_chinese_is_chinese(area: str) -> None:
    zh = tomllib.loads((TEXT / "zh" / area).read_text(encoding="utf-8"))
    plain = [key for key, text in zh.items() if text.isascii() and any(c.isalpha() for c in text.replace("{", " "))]
    assert len(plain) <= len(zh) // 3, plain


def test_a_language_meanwhile_is_one_readers_alone() -> None:
    """A page answers several readers at once, each in a thread or task of its own."""

    def asked(language: str) -> str:
        with in_language(language):
            both.wait(10)
            return tr("run.state_hung")

    both = Barrier(2)
    with ThreadPoolExecutor(2) as readers:
        assert list(readers.map(asked, ("en", "zh"))) == ["hung", tr("run.state_hung", "zh")]
    assert tr("run.state_hung") == "hung"


@pytest.mark.parametrize(("seqs", "said"), [(1, "At most 1 request at once."), ("16", "At most 16 requests at once.")])
def test_one_is_not_many(seqs: object, said: str) -> None:
    assert tr("plan.gave_seqs", "en", seqs=seqs) == said
    assert tr("plan.gave_seqs", "zh", seqs=seqs) == f"并发最多 {seqs} 个请求。"
