"""Charts as PNG: each is drawn, in a language that the fonts here can write, never with letters left out."""

from __future__ import annotations

import builtins
import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from fitserve.cli.report import command
from fitserve.errors import ToolMissing
from fitserve.report import png as drawing
from fitserve.report.build import build
from fitserve.report.png import can_write, language_for, png
from fitserve.report.read import read_measured


def written(bench_file: Path, folder: Path) -> Result:
    page = str(folder / "r.html")
    done = CliRunner().invoke(command, [str(bench_file), "-o", page, "--charts", str(folder)])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITSERVE_LANG", "zh")


def fonts(monkeypatch: pytest.MonkeyPatch, *languages: str) -> None:
    monkeypatch.setattr(drawing, "can_write", lambda language: language in languages)


def test_each_chart_is_drawn_twice_as_large(bench_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fonts(monkeypatch, "zh", "en")
    assert "PNG" not in written(bench_file, tmp_path).stderr
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert {path.stem for path in tmp_path.glob("*.png")} == names
    chart = next(chart for chart in build([read_measured(bench_file)], "zh").charts if chart.name == "memory")
    drawn = (tmp_path / "memory.png").read_bytes()
    assert drawn == png(chart.svg)
    image = Image.open(io.BytesIO(drawn))
    assert image.width == 1440
    assert len(image.convert("RGB").getcolors(1 << 20) or []) > 10  # lines, text and a white ground


def test_without_chinese_letters_it_is_english(
    bench_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fonts(monkeypatch, "en")
    assert "apt install fonts-noto-cjk" in written(bench_file, tmp_path).stderr
    english = {chart.name: chart.svg for chart in build([read_measured(bench_file)], "en").charts}
    assert (tmp_path / "memory.png").read_bytes() == png(english["memory"])


def test_without_fonts_or_the_library_there_are_drawings_only(
    bench_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fonts(monkeypatch)
    assert "SVG" in written(bench_file, tmp_path).stderr
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> object:
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.undo()
    monkeypatch.setattr(builtins, "__import__", without)
    can_write.cache_clear()
    with pytest.raises(ToolMissing) as raised:
        language_for("en")
    assert raised.value.hint == "pip install 'fitserve[report]'"
    can_write.cache_clear()
    assert not list(tmp_path.glob("*.png"))


def test_letters_without_a_font_leave_no_ink(monkeypatch: pytest.MonkeyPatch) -> None:
    import resvg_py

    real = resvg_py.svg_to_bytes
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **named: real(**named, skip_system_fonts=True))
    can_write.cache_clear()
    found = can_write("zh")
    can_write.cache_clear()
    assert not found
