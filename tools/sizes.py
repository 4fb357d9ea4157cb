"""Prints how long files and functions are (``make sizes``): median, 90th percentile, longest, and the longest ones by name.

The sources that git tracks or could track enter; one table leaves. The project's bounds (`BOUNDS`) are printed beside the figures;
nothing fails. The lines of a Python function include its docstring. Functions of TypeScript are found by TypeScript's own parser, and
left out where there is no ``node_modules``.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import node

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"frontend/src/data/protocol.ts"}
BOUNDS = {"Python function": 30, "Python file": 450, "page function": 50, "page file": 300}
"""Lines that nine of ten should not exceed."""

SHOWN = 5

Size = tuple[int, str]
"""Number of lines, and the place in the sources."""


def sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in set(listed.stdout.splitlines()) - GENERATED if (ROOT / name).is_file())


def file_sizes(names: Iterable[str]) -> list[Size]:
    return [((ROOT / name).read_text().count("\n"), name) for name in names]


def python_functions(names: Iterable[str]) -> list[Size]:
    found = []
    for name in names:
        for part in ast.walk(ast.parse((ROOT / name).read_text(), name)):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(((part.end_lineno or part.lineno) - part.lineno + 1, f"{name}:{part.lineno} {part.name}"))
    return found


TYPESCRIPT = """
import ts from "typescript";
import { readFileSync } from "node:fs";
const found = [];
for (const name of JSON.parse(readFileSync(0, "utf8"))) {
  const file = ts.createSourceFile(name, readFileSync(name, "utf8"), ts.ScriptTarget.Latest, true);
  const lineOf = (position) => file.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (part) => {
    if (ts.isFunctionLike(part) && part.body) {
      const named = part.name ?? (ts.isVariableDeclaration(part.parent) ? part.parent.name : undefined);
      const first = lineOf(part.getStart(file));
      if (named) found.push([lineOf(part.end) - first + 1, `${name}:${first} ${named.getText(file)}`]);
    }
    ts.forEachChild(part, visit);
  };
  visit(file);
}
console.log(JSON.stringify(found));
"""


def page_functions(names: list[str]) -> list[Size]:
    """Return the named functions of the page's sources, as TypeScript's parser finds them."""
    found = node.find()
    if found is None or not (ROOT / "node_modules" / "typescript").exists():
        print("page functions are left out: `make setup` brings TypeScript's parser", file=sys.stderr)
        return []
    command = [str(found.folder / "node"), "--input-type=module", "-e", TYPESCRIPT]
    ran = subprocess.run(command, input=json.dumps(names), cwd=ROOT, capture_output=True, text=True, check=True)
    return [(lines, where) for lines, where in json.loads(ran.stdout)]


def percentile(sizes: list[Size], share: float) -> int:
    return sorted(lines for lines, _ in sizes)[min(int(share * len(sizes)), len(sizes) - 1)]


def table(groups: dict[str, list[Size]]) -> str:
    rows = [f"{'':26}{'count':>7}{'p50':>6}{'p90':>6}{'max':>6}   bound on p90"]
    for name, sizes in groups.items():
        if sizes:
            figures = f"{len(sizes):7}{percentile(sizes, 0.5):6}{percentile(sizes, 0.9):6}{max(sizes)[0]:6}"
            rows.append(f"{name:26}{figures}   {BOUNDS.get(name, '')}".rstrip())
    for name, sizes in groups.items():
        if sizes and name in BOUNDS:
            rows += ["", f"longest, {name}:", *(f"{lines:6}  {where}" for lines, where in sorted(sizes, reverse=True)[:SHOWN])]
    return "\n".join(rows)


def main() -> None:
    names = sources()
    python = [name for name in names if name.endswith(".py")]
    tests = [name for name in python if name.startswith("tests/")]
    code = [name for name in python if name not in tests]
    page = [name for name in names if name.startswith("frontend/") and name.endswith((".ts", ".tsx"))]
    page_tests = [name for name in page if ".test." in name]
    page_code = [name for name in page if name not in page_tests]
    groups = {
        "Python file": file_sizes(code),
        "Python function": python_functions(code),
        "Python test file": file_sizes(tests),
        "Python test function": python_functions(tests),
        "page file": file_sizes(page_code),
        "page function": page_functions(page_code),
        "page test file": file_sizes(page_tests),
    }
    print(table(groups))


if __name__ == "__main__":
    main()
