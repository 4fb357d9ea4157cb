"""Local functions: what they grow to is known before they are inlined."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from onnx import ModelProto, helper
from onnx.checker import check_model
from onnx.parser import parse_model

from collage_core.errors import CollageError
from collage_core.model.files import local_functions
from collage_core.model.files.local_functions import inline_functions
from tests.helpers.models import model_of

MAIN = "g (float[4] x) => (float[4] y) { y = Relu(x) }"


def calling(bodies: Sequence[Sequence[str]]) -> ModelProto:
    """A model that calls the last of functions ``f0``, ``f1`` …, each of which calls the operators in its body one after another."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    model = model_of(MAIN)
    for number, body in enumerate(bodies):
        names = ["a", *(f"b{index}" for index in range(len(body) - 1)), "c"]
        nodes = [
            helper.make_node(op, [names[index]], [names[index + 1]], domain="local" if op.startswith("f") else "")
            for index, op in enumerate(body)
        ]
        model.functions.append(helper.make_function("local", f"f{number}", ["a"], ["c"], nodes, opsets))
    model.graph.node[0].op_type, model.graph.node[0].domain = f"f{len(bodies) - 1}", "local"
    del model.opset_import[:]
    model.opset_import.extend(opsets)
    return model


def doubling(depth: int) -> ModelProto:
    return calling([["Relu", "Sin"]] + [[f"f{number}"] * 2 for number in range(depth)])


def test_functions_are_inlined() -> None:
    model = doubling(3)
    check_model(model)
    made = inline_functions(model)
    assert [node.op_type for node in made.graph.node] == ["Relu", "Sin"] * 8
    assert not made.functions


OTHER_OPSETS = {
    "unchanged": (18, "o = MatMul(a, b)", ["MatMul"]),
    "unchanged in a body": (18, "c = Constant<value = bool {1}>()  o = If(c) <then_branch = t () => (o1) { o1 = MatMul(a, b) }, "
                            "else_branch = e () => (o2) { o2 = Sub(a, b) }>", ["Constant", "If"]),
    "changed": (13, "m = MatMul(a, b)  o = ReduceMean<axes = [1]>(m)", ["MatMul", "Constant", "ReduceMean"]),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHER_OPSETS)
def test_a_function_of_another_opset_than_the_model_is_inlined(case: str) -> None:
    version, body, wanted = OTHER_OPSETS[case]
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["" : 20, "d" : 1]>
        g (float[4,4] x) => (float[4,n] y) <float[4,4] w = {{1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}}> {{ y = d.f(x, w) }}
        <domain: "d", opset_import: ["" : {version}]> f (a, b) => (o) {{ {body} }}"""
    )
    made = inline_functions(model)
    check_model(made, full_check=True)
    assert [node.op_type for node in made.graph.node] == wanted
    assert [entry.version for entry in made.opset_import if not entry.domain] == [20]


@pytest.mark.parametrize(("depth", "said"), [(17, "262144 nodes, more than 100000"), (30, "more than 100000 nodes"), (3000, "more than")])
def test_functions_that_double_are_refused_before_they_grow(depth: int, said: str) -> None:
    with pytest.raises(CollageError, match=f"^the model has {said}") as caught:
        inline_functions(doubling(depth))
    assert caught.value.code == "too_big"


def test_functions_with_large_weights_are_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_functions, "MOST_BYTES", 10_000)
    with pytest.raises(CollageError, match="make more than 2 GiB of it"):
        inline_functions(doubling(10))


def test_functions_that_call_each_other_in_a_circle() -> None:
    with pytest.raises(CollageError, match=r"^the local function 'f0' calls itself, at once or by others$"):
        inline_functions(calling([["f1"], ["f0"]]))
