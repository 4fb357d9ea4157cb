"""Finds the texts that the program has as literals: in Python, and on the page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_QUOTED = re.compile(r'"([^"\n]*)"|`([^`]*)`')
_FILLED_IN = re.compile(r"\$\{[^}]*\}")
PAGE = (".ts", ".tsx")


def literals_of(file: Path) -> Iterator[str]:
    """Yield each literal of a file of Python or TypeScript; ``{}`` stands for what is filled in. Docstrings are none."""
    text = file.read_text()
    if file.suffix in PAGE:
        for plain, template in _QUOTED.findall(text):
            yield plain or _FILLED_IN.sub("{}", template)
        return
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
