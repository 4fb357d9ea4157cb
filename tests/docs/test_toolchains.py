"""The example of docs/toolchains.md runs from end to end, and the page speaks of every method of the interface."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Kernel, Toolchain
from tests.helpers.paths import DOCS

PAGE = DOCS / "toolchains.md"

USE = """
from pathlib import Path
import numpy as np
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact_calls import run_artifact
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.rules.candidate import RejectionLog
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.registry import get

numpy = get("numpy")
model = load_model(Path("model.onnx"), fold=False)
log = RejectionLog()
found = {rule.inside.bits for rule in numpy.rule(RuleOptions()).find(RuleContext(model.graph, "numpy", log))}
print(sorted(found), [rejection.reason for rejection in log.sample])
try:
    numpy.build(model.cut(IndexSet([2])), 1)
except ToolchainError as error:
    print(error.stage, error.message)
partitions = [
    PartitionModel("numpy", ("a", "b"), model.cut(IndexSet([0, 1])), "p0"),
    PartitionModel("onnxruntime", ("c",), model.cut(IndexSet([2])), "p1"),
]
assemble(partitions, model.graph.inputs, model.graph.outputs, Path("out"), 1)
inputs = model.seeded_inputs()
got, want = run_artifact(Path("out"), inputs), model.reference(inputs)
print(np.array_equal(got["y"], want["y"]))
"""


def example() -> str:
    found = re.search(r"<!-- example: numpy_toolchain.py -->\n```python\n(.*?)```", PAGE.read_text(), re.S)
    assert found, f"no example in {PAGE}"
    return found[1]


@pytest.mark.long
@pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)
def test_the_example_runs_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from tests.helpers.small_models import node, normal, sub_model, tensor

    nodes = [node("Add", "x w", "t"), node("Relu", "t", "r"), node("Exp", "r", "y")]
    model = sub_model(nodes, [tensor("x", (2, 3))], [tensor("y", (2, 3))], {"w": normal(2, 3)})
    (tmp_path / "model.onnx").write_bytes(model.onnx)
    (tmp_path / "numpy_toolchain.py").write_text(example())
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "numpy_toolchain:NumpyToolchain")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "[1, 2, 3] ['numpy does not take operator Exp']",
        "import operator Exp is not supported",
        "True",
    ]


def test_the_example_is_small():
    assert len(example().splitlines()) <= 50


def test_every_method_of_the_interface_is_described():
    text = PAGE.read_text()
    methods = [name for name in vars(Toolchain) if not name.startswith("_") and callable(getattr(Toolchain, name))]
    calls = [f"Kernel.{name}" for name in vars(Kernel) if not name.startswith("_")]
    missing = [name for name in (*methods, *calls) if f"| `{name}` |" not in text]
    assert not missing


def test_it_names_the_variable_and_the_group():
    from collage_core.toolchains.registry import EXTRA, GROUP

    text = PAGE.read_text()
    assert f"{EXTRA}=numpy_toolchain:NumpyToolchain" in text
    assert f'[project.entry-points."{GROUP}"]' in text
