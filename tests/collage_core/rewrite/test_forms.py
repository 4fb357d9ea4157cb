"""Which form an artifact gets, and why it cannot have another."""

from __future__ import annotations

import numpy as np
import pytest

from collage_core.documents.plan import PlanPartition
from collage_core.errors import CollageError
from collage_core.rewrite.forms import form_for, why_not_forms
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.plan import Plan, PlannedModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.registry import get
from tests.helpers.graphs import graph


def part(target: str, reads: str = "x", makes: str = "y") -> PartitionModel:
    model = sub_model([node("Relu", reads, makes)], [tensor(reads, (2,))], [tensor(makes, (2,))])
    return PartitionModel(target, (makes,), model, f"p_{makes}")


def found(asked: str, parts: list[PartitionModel], outputs: list[str], constants: dict[str, np.ndarray] | None = None) -> str:
    tools = {one.target: get(one.target) for one in parts if one.target != "host"}
    return form_for(asked, parts, outputs, tools, constants or {})


@pytest.mark.parametrize(
    ("targets", "form"),
    [
        (["onnxruntime"], "native"),
        (["openvino"], "native"),
        (["ncnn"], "native"),
        (["openvino@bf16"], "native"),
        (["onednn"], "pieces"),
        (["ncnn@nchw16c"], "pieces"),
        (["onnxruntime@nchw16c"], "pieces"),
        (["onnxruntime", "openvino"], "pieces"),
        (["tvm"], "module"),
        (["onnxruntime", "tvm"], "module"),
        (["onnxruntime", "tvm@fusion"], "module"),
    ],
)
def test_the_form_needs_as_little_as_the_plan_allows(targets: list[str], form: str):
    names = ["x", *(f"t{index}" for index in range(len(targets)))]
    parts = [part(target, names[index], names[index + 1]) for index, target in enumerate(targets)]
    assert found("auto", parts, [names[-1]]) == form
    assert found(form, parts, [names[-1]]) == form
    assert found("module", parts, [names[-1]]) == "module"


@pytest.mark.parametrize(
    ("form", "parts", "outputs", "said"),
    [
        ("native", [part("onnxruntime"), part("openvino", "y", "z")], ["z"], "its plan has 2 partitions"),
        ("native", [part("onednn")], ["y"], "onednn has no files of its own"),
        ("native", [part("host")], ["y"], "host has no files of its own"),
        ("native", [part("onnxruntime")], ["y", "x"], "its output 'x' is not made by onnxruntime"),
        (
            "pieces",
            [part("onnxruntime"), part("tvm", "y", "z")],
            ["z"],
            "partition p_z is on tvm, whose kernels are compiled",
        ),
    ],
)
def test_a_form_that_a_plan_cannot_have_is_refused_with_the_reason(form: str, parts: list[PartitionModel], outputs: list[str], said: str):
    with pytest.raises(CollageError) as caught:
        found(form, parts, outputs)
    assert caught.value.message.startswith(f"the artifact cannot be {form}: {said}")
    assert "the form auto" in caught.value.hint
    assert found("auto", parts, outputs) != form


def why_not(lines: list[str], parts: list[tuple[str, tuple[int, ...]]]) -> dict[str, str]:
    """The reasons that are told of a plan for the graph of `lines`; `parts` are its partitions, each a target with its nodes."""
    of = graph(lines)
    known = {"cost_s": 1.0, "source": "mock"}
    placed = []
    for index, (target, nodes) in enumerate(parts):
        names, ops = tuple(of.nodes[node].name for node in nodes), tuple(of.nodes[node].op for node in nodes)
        placed.append(PlanPartition(id=f"p{index}", target=target, nodes=nodes, names=names, ops=ops, **known))
    plan = Plan(model=PlannedModel(name="m", hash="0"), targets=(), total_s=1.0, partitions=tuple(placed))
    return why_not_forms(plan, of)


CHAIN = ["a: Relu <- x", "b: Relu <- a", "c: Relu <- b"]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([("onnxruntime", (0, 1, 2))], {}),
        ([("onnxruntime", (0, 1)), ("openvino", (2,))], {"native": "its plan has 2 partitions"}),
        ([("onednn", (0, 1, 2))], {"native": "onednn has no files of its own"}),
        ([("tvm", (0, 1, 2))], {"native": "tvm has no files of its own", "pieces": "partition p0 is on tvm, whose kernels"}),
        ([("described", (0, 1, 2))], {"native": "described has no files of its own"}),
    ],
)
def test_the_reasons_are_known_before_anything_is_built(parts: list[tuple[str, tuple[int, ...]]], said: dict[str, str]):
    found = why_not(CHAIN, parts)
    assert set(found) == set(said)
    assert all(found[form].startswith(reason) for form, reason in said.items())


def test_an_output_that_the_partition_only_renames_keeps_the_plan_from_being_native():
    assert why_not(["a: Relu <- x", "b: Identity <- a"], [("onnxruntime", (0,)), ("host", (1,))])["native"].startswith("its plan has 2")


def test_a_constant_that_is_no_plain_memory_stays_in_a_module():
    assert found("auto", [], ["c"], {"c": np.array(["a"], object)}) == "module"
    assert found("auto", [], ["c"], {"c": np.array([1])}) == "pieces"


def test_a_form_that_does_not_exist_is_refused():
    with pytest.raises(CollageError) as caught:
        found("statue", [part("onnxruntime")], ["y"])
    assert (caught.value.message, caught.value.hint) == (
        "there is no form 'statue' of an artifact",
        "give one of auto, module, pieces, native",
    )
