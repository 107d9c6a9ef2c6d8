"""Every message template in a package's Python files: what it logs, raises and asserts, with its blanks marked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SPEC = re.compile(r"%[-#0 +]?\d*(?:\.\d+)?[sdfrxgieE]|\{[^{}]{0,80}\}")
BLANK = "\x00"


@dataclass(frozen=True)
class Template:
    """A string of the source with BLANK where a value goes. `kind`: its level, raise, assert or text."""

    file: str
    line: int
    kind: str
    text: str


def templates(package: Path) -> Iterator[Template]:
    """All templates of at least three words, file by file. A file that can't be parsed is passed over."""
    for path in sorted(package.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        name = str(path.relative_to(package))
        for node in ast.walk(tree):
            for kind, text in _texts(node):
                if len(text.split()) >= 3:
                    yield Template(name, node.lineno, kind, text)  # type: ignore[attr-defined] # calls and raises have a line


def _texts(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        level = node.func.attr.split("_")[0]
        kind = level if level in ("debug", "info", "warning", "error", "exception") else "text"
        yield from ((kind, text) for text in _strings(node.args[:1]))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        yield from (("raise", text) for text in _strings(node.args[:2]))
    elif isinstance(node, ast.Assert) and node.msg is not None:
        yield from (("assert", text) for text in _strings([node.msg]))
    elif isinstance(node, ast.FunctionDef):
        yield from (("text", text) for text in _strings([*node.args.defaults, *filter(None, node.args.kw_defaults)]))
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield from (("text", text) for text in _strings([node.value]))


def _strings(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        text = _string(node)
        if text:
            yield text


def _string(node: ast.AST) -> str:
    """A string expression with its blanks; "" where it is none."""
    if isinstance(node, ast.Constant):
        return _SPEC.sub(BLANK, node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else BLANK for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (_string(node.left) or BLANK) + (_string(node.right) or BLANK)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _string(node.func.value)
    return ""
