"""Which form an artifact gets, and why it cannot have another."""

from __future__ import annotations

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.rewrite.forms import form_for
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.registry import get
from tests.helpers.small_models import node, sub_model, tensor


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
