"""A library function is a decorator, a pattern and a call; what is no such call is refused. The example of the docs is a package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.small_models import drawn, node, reference, sub_model, tensor
from collage_core.toolchains.libraries.library_functions import Bind, LibraryCall, LibraryFunctions, LibraryToolchain
from collage_core.toolchains.toolchain import Availability, ToolchainError
from tests.helpers.paths import DOCS

FUNCTIONS = LibraryFunctions("float32")
PREPARED: list[LibraryCall] = []


@FUNCTIONS.add("negated_relu", "Neg(Relu(*))", lambda graph, nodes: "odd rows" if graph.inputs[0].type.shape[0] % 2 else "")
def negated_relu(call: LibraryCall) -> Bind:
    PREPARED.append(call)
    if call.threads > 8:
        raise RuntimeError("too many threads")
    return lambda inputs, output: lambda: np.negative(np.maximum(inputs[0], 0, out=output), out=output)


class Library(LibraryToolchain):
    name, letter, functions = "library", "Y", FUNCTIONS

    def availability(self) -> Availability:
        return Availability(True, "1")


def model(rows: int = 2, outputs: tuple[str, ...] = ("y",), dtype: str = "float32") -> SubModel:
    nodes = [node("Relu", "x", "r"), node("Neg", "r", "y")]
    return sub_model(nodes, [tensor("x", (rows, 3), dtype)], [tensor(name, (rows, 3), dtype) for name in outputs])


def relu() -> SubModel:
    return sub_model([node("Relu", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])


def test_a_call_is_prepared_once_for_each_kernel_and_runs_on_the_bound_buffers():
    package = Library().build(model(), 3)
    PREPARED.clear()
    kernel = Library().load(package, model().inputs, model().outputs, 3)
    assert [(call.inputs, call.threads, [one.op for one in call.nodes]) for call in PREPARED] == [(("x",), 3, ["Relu", "Neg"])]
    inputs, made = drawn(model().inputs), np.empty((2, 3), np.float32)
    with pytest.raises(ToolchainError, match="no buffers are bound"):
        kernel.run()
    kernel.bind(inputs, [made])
    kernel.run()
    np.testing.assert_array_equal(made, reference(model(), inputs)[0])
    assert len(PREPARED) == 1


@pytest.mark.parametrize(
    ("given", "threads", "stage", "reason"),
    [
        (relu(), 1, "import", "no library function computes Relu in one call"),
        (model(rows=3), 1, "import", "negated_relu: odd rows"),
        (model(dtype="float64"), 1, "import", "no library function computes Relu, Neg in float64"),
        (model(outputs=("r", "y")), 1, "import", "negated_relu: a tensor inside the call is read outside, a library function makes one"),
        (model(), 9, "build", "negated_relu: too many threads"),
    ],
    ids=["no function", "refusal", "dtype", "two outputs", "fails"],
)
def test_what_is_no_call_is_refused_in_one_line(given: SubModel, threads: int, stage: str, reason: str):
    with pytest.raises(ToolchainError) as caught:
        Library().build(given, threads)
    assert (caught.value.stage, caught.value.message) == (stage, reason)


def test_a_label_stands_for_one_function_and_a_pattern_parses():
    functions = LibraryFunctions()
    functions.add("twice", "Relu(*)")(negated_relu)
    with pytest.raises(ValueError, match="there is a library function 'twice' already"):
        functions.add("twice", "Neg(*)")
    with pytest.raises(CollageError, match="was expected"):
        functions.add("broken", "Relu(*")


def test_the_rule_tree_names_labels_patterns_and_refusals():
    from collage_core.toolchains.border import shown_rules
    from collage_core.toolchains.registry import get

    said = shown_rules(get("onednn"))
    assert "composite(name='matmul_add')" in said
    assert "check='onednn.refusal'" in said
    assert "match='Add(MatMul(*, *), *)'" in said


USE = """
import numpy as np
from collage_core.toolchains.registry import get
from collage_core.toolchains.conformance.small_models import drawn, node, reference, sub_model, tensor

tool = get("example_library")
print(tool.style, tool.availability().usable)
model = sub_model(
    [node("Mul", "x f", "m"), node("Add", "z m", "y")], [tensor("x", (2, 3)), tensor("z", (3,))], [tensor("y", (2, 3))],
    {"f": np.full(3, 0.5, np.float32)},
)
kernel = tool.load(tool.build(model, 1), model.inputs, model.outputs, 1)
inputs, made = drawn(model.inputs), np.empty((2, 3), np.float32)
kernel.bind(inputs, [made])
kernel.run()
print(np.allclose(made, reference(model, inputs)[0]))
"""


def test_the_example_of_the_docs_is_found_as_a_package_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = re.search(r"<!-- example: example_library.py -->\n```python\n(.*?)```", (DOCS / "toolchains.md").read_text(), re.S)
    assert found, "docs/toolchains.md has no example of a library"
    assert len(found[1].splitlines()) <= 26
    (tmp_path / "example_library.py").write_text(found[1])
    installed = tmp_path / "example_library-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: example-library\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[collage.toolchains]\nexample_library = example_library:ExampleLibrary\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{DOCS.parent}")
    ran = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["library True", "True"]
