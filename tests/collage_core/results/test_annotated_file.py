"""The user's ONNX file with the plan in it: otherwise as it was, right to ONNX's checker, and made of no other model."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from collage_core.errors import CollageError
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.discover import load_as_planned
from collage_core.pipeline.partition import partition
from collage_core.results.annotated_file import annotated_file
from collage_core.results.node_rows import regret_texts, regrets_by_node
from collage_core.rewrite.export.annotated import annotate_original
from tests.collage_core.results.conftest import Kept
from tests.helpers.models import model_of, write


def told(node: onnx.NodeProto | onnx.ModelProto) -> dict[str, str]:
    assert len({entry.key for entry in node.metadata_props}) == len(node.metadata_props)
    return {entry.key.removeprefix("collage "): entry.value for entry in node.metadata_props}


def without_facts(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for one in (made, *made.graph.node):
        del one.metadata_props[:]
    return made


def test_each_node_says_its_target_partition_cost_and_regrets(kept: Kept) -> None:
    made = onnx.ModelProto.FromString(annotated_file(kept.record, kept.model))
    onnx.checker.check_model(made, full_check=True)
    assert without_facts(made) == onnx.load(kept.model)
    plan, graph = kept.record.plan, kept.record.graph
    assert told(made)["predicted"] == f"{plan.total_s * 1e3:.4g} ms"
    regrets, told_of = regrets_by_node(kept.record), {output: told(node) for node in made.graph.node for output in node.output}
    for number, part in enumerate(plan.partitions, 1):
        for index in part.nodes:
            facts = told_of[graph.nodes[index].outputs[0].name]
            assert (facts["target"], facts["partition"]) == (part.target, f"{number} of {len(part.nodes)} nodes")
            assert part.cost_s is not None
            assert facts["cost"].startswith(f"{part.cost_s * 1e3:.4g} ms")
            for target, regret in regrets[index].items():
                assert facts[f"regret of {target}"] == f"{(regret.exact_s or 0) * 1e3:.4g} ms"
    constant = next(node for node in made.graph.node if node.op_type == "Constant")
    assert told(constant) == {"folded": "constant, or without effect"}


def test_a_node_that_was_fused_has_the_facts_of_the_one_that_took_it(kept: Kept) -> None:
    record = partition("mini_mnist", Options(("onnxruntime",), costs=f"mock:{kept.folder / 'mock.json'}", threads=1))
    made = onnx.ModelProto.FromString(annotated_file(record, None))
    assert [node.name for node in made.graph.node] == [node.name for node in onnx.load(resolve("mini_mnist")).graph.node]
    facts = {node.name: told(node) for node in made.graph.node}
    fused = [name for name, one in facts.items() if one.get("folded", "").startswith("into ")]
    assert fused
    for name in fused:
        into = facts[facts[name]["folded"].removeprefix("into ")]
        assert {key: value for key, value in facts[name].items() if key != "folded"} == into


def test_facts_of_an_earlier_plan_are_replaced(kept: Kept) -> None:
    first = annotated_file(kept.record, kept.model)
    model = onnx.ModelProto.FromString(first)
    annotate_original(model, load_as_planned(kept.record.plan, kept.model), kept.record.plan, regret_texts(kept.record))
    assert model.SerializeToString(deterministic=True) == first


def test_another_model_and_none_are_refused(kept: Kept, tmp_path: Path) -> None:
    other = write(tmp_path, model_of("g (float[1,4] x) => (float[1,4] y) { [a] y = Relu(x) }"))
    with pytest.raises(CollageError, match=r"with other content than .* has") as error:
        annotated_file(kept.record, other)
    assert error.value.hint == "give the file that was partitioned"
    with pytest.raises(CollageError, match="the run keeps no copy of its model") as error:
        annotated_file(kept.record, None)
    assert "--model" in error.value.hint
