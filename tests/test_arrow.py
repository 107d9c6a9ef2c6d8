"""Imports follow the arrow: a package imports only from those before it; nobody imports a surface."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "fitserve"
BASE = {"__init__", "errors", "units", "paths", "clock", "stage", "text", "constants"}
ALLOWED = {
    "facts": set(),
    "fetch": {"facts"},
    "plan": {"facts"},
    "engines": {"facts", "plan"},
    "run": {"facts", "plan", "engines"},
    "observe": {"facts", "plan", "run"},
    "preflight": {"facts", "fetch", "plan", "engines", "run"},
    "verify": {"facts", "plan", "run", "observe", "chat", "demo"},
    "diagnose": {"facts", "plan", "engines", "run", "observe"},
    "measure": {"facts", "plan", "engines", "run", "observe", "chat", "demo"},
    "gateway": {"run", "observe"},
    "export": {"facts", "plan", "run"},
    "report": {"facts", "plan", "run", "observe", "diagnose", "measure"},
    "chat": {"facts"},
    "demo": set(),
    "text": set(),
}
SURFACES = {"cli", "web", "tui", "__main__"}


def imports(path: Path) -> set[str]:
    """First-level fitserve modules that a file imports, relative imports resolved."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("fitserve."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "fitserve":
            found |= {alias.name if (SOURCE / alias.name).exists() else "__init__" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("fitserve.")}
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{path}: write imports in full")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrow(path: Path) -> None:
    package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if package in SURFACES:
        return
    allowed = BASE | ALLOWED.get(package, set()) | ({package} if package in ALLOWED else set())
    assert imports(path) <= allowed


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
