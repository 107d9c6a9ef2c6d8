"""The helper in an engine's environment: silent until torchvision is imported, and only when that import fails."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fitserve.engines.build import SHIM

TORCH = """
class Library:
    known = []
    def __init__(self, name, kind): self.name, self.kind = name, kind
    def define(self, schema): Library.known.append(schema.partition("(")[0])
"""
BUILT_FOR_CUDA = """
from torch.library import Library
import torchvision.half
if sorted(Library.known) != ["nms", "qnms"]:
    raise RuntimeError("operator torchvision::nms does not exist")
"""
ASK = """
import json, sys
before = set(sys.modules)
import fitserve_torchvision
new = sorted(set(sys.modules) - before - {"__future__"})
import importlib.util
importlib.util.find_spec("torchvision")  # others look before they import
try:
    import torchvision
    problem = ""
except Exception as error:
    torchvision, problem = None, str(error)
from torch.library import Library
print(json.dumps([new, problem, Library.known, hasattr(torchvision, "fitserve_schemas")]))
"""


@pytest.fixture
def ask(tmp_path):
    """Run the questions with a torch in a file and this torchvision."""

    def asked(torchvision: str) -> list:
        files = {
            "torch/__init__.py": "",
            "torch/library.py": TORCH,
            "torchvision/__init__.py": torchvision,
            "torchvision/half.py": "",
            SHIM.name: SHIM.read_text(),
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        done = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ASK}"],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    return asked


def test_it_helps_where_the_import_fails(ask) -> None:
    assert ask(BUILT_FOR_CUDA) == [["fitserve_torchvision"], "", ["nms", "qnms"], True]


def test_it_keeps_out_where_the_import_works(ask) -> None:
    assert ask("") == [["fitserve_torchvision"], "", [], False]


def test_another_failure_is_left_as_it_is(ask) -> None:
    assert ask("raise RuntimeError('libcudart.so.13 is missing')")[1:] == ["libcudart.so.13 is missing", [], False]
