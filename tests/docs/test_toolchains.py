"""The examples of docs/toolchains.md run as they stand, and the page speaks of every method and every ability."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains import abilities
from collage_core.toolchains.toolchain import Kernel, Toolchain
from tests.helpers.graphs import graph
from tests.helpers.paths import DOCS, ROOT

PAGE = DOCS / "toolchains.md"
PACKAGE = ROOT / "examples" / "toolchain"

USE = """
import contextlib, io, json, sys
from pathlib import Path
from collage_core.cli.main import main
from collage_server.worker.toolchain_rows import describe_toolchains

def document(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "mini_mnist", "--targets", "numpy,onnxruntime", "--json"])
    return json.loads(out.getvalue())

Path("mock.json").write_text(json.dumps({"targets": {"numpy": {"op_s": 1}, "onnxruntime": {"op_s": 5}}}))
page = next(row for row in describe_toolchains({}) if row["name"] == "numpy")
print(json.dumps([page, document("candidates"), document("partition", "--costs", "mock:mock.json", "--out", "out")]))
"""
"""Asks for the data of the page, candidates, and a plan with an artifact."""


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)```", PAGE.read_text(), re.S)
    assert found, f"no example {name} in {PAGE}"
    return found[1]


def test_the_page_begins_with_a_toolchain_of_30_lines():
    text = PAGE.read_text()
    assert text.index("<!-- example: numpy_toolchain.py -->") < text.index("\n## ")
    assert len([line for line in example("numpy_toolchain.py").splitlines() if line]) <= 30
    assert example("numpy_toolchain.py") == (PACKAGE / "numpy_toolchain.py").read_text(), "the package of the examples is the same"


def test_the_example_runs_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The block of the page, as a package of its own that is found by its entry point."""
    (tmp_path / "numpy_toolchain.py").write_text(example("numpy_toolchain.py"))
    groups = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{group}]\n{name} = {reference}\n" for group, points in groups.items() for name, reference in points.items()]
    installed = tmp_path / "numpy_toolchain-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy-toolchain\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("".join(lines))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    ran = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    page, candidates, run = json.loads(ran.stdout)
    about = {"name": "numpy", "letter": "P", "style": "graph", "usable": True, "precision": "float32", "device": "CPU", "reason": ""}
    assert page | about == page
    assert page["rules"] == "op_predicate(ops=['Relu', 'Abs'], dtypes=['float32'])"
    relus = [node["id"] for node in candidates["nodes"] if node["op"] == "Relu"]
    assert relus
    assert [found["nodes"] for found in candidates["candidates"] if found["target"] == "numpy"] == [[relu] for relu in relus]
    refused = {(note["reason"], note["stage"]) for note in candidates["rejected"] if note["target"] == "numpy"}
    assert ("numpy does not take operator MatMul", "predicate") in refused
    assert [part["nodes"] for part in run["plan"]["partitions"] if part["target"] == "numpy"] == [[relu] for relu in relus]
    assert run["verify"]["max_rel_error"] < 1e-5, "the artifact was built and compared"


def test_every_method_of_the_interface_is_described():
    text = PAGE.read_text()
    methods = [name for name in vars(Toolchain) if not name.startswith("_") and callable(getattr(Toolchain, name))]
    assert methods == ["availability", "rule", "build", "load"]
    calls = [f"Kernel.{name}" for name in vars(Kernel) if not name.startswith("_")]
    missing = [name for name in (*methods, *calls) if f"| `{name}` |" not in text]
    assert not missing


def members(kind: type) -> list[str]:
    """The members of a protocol, in their order: attributes, then methods."""
    return [*inspect.get_annotations(kind), *(name for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_")]


def test_every_ability_is_described_with_its_members():
    kinds = {name: kind for name, kind in vars(abilities).items() if getattr(kind, "_is_runtime_protocol", False)}
    rows = re.findall(r"^\| (?:`(\w+)` )?\| `(\w+)` \|", PAGE.read_text().partition("## What else")[2], re.M)
    listed: dict[str, list[str]] = {}
    for name, member in rows:
        listed.setdefault(name or list(listed)[-1], []).append(member)
    assert listed == {name: members(kind) for name, kind in kinds.items()}


def test_it_names_the_variable_and_the_group():
    from collage_core.toolchains.registry import EXTRA, GROUP

    text = PAGE.read_text()
    assert f"{EXTRA}=numpy_toolchain:NumpyToolchain" in text
    assert f'[project.entry-points."{GROUP}"]' in text


def test_the_checks_of_the_example_refuse_with_their_texts():
    space: dict[str, Any] = {}
    exec(example("checks.py"), space)
    on = graph(["a: Conv <- x", "b: Conv <- a", "c: Conv <- b", "d: Exp <- c"])
    log = RejectionLog()
    found = {tuple(match.inside) for match in space["rule"](RuleOptions()).find(RuleContext(on, "numpy", log))}
    assert found >= {(0,), (1,), (2,), (0, 1), (1, 2)}
    assert (0, 1, 2) not in found
    assert {note.reason for note in log.sample} >= {"more than two convolutions in one kernel"}
