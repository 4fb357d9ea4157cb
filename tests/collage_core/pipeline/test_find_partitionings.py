"""Partitionings in a run: groups that a toolchain makes are candidates and a baseline, so no plan is worse; and those of `FuseOps`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from collage_core.cost.estimators.function import CostFunction
from collage_core.documents.run import BaselineInfo
from collage_core.errors import CollageError
from collage_core.events import Event, Note, ignore
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline import find_partitionings
from collage_core.pipeline.discover import CandidateSet, Phases
from collage_core.pipeline.find_partitionings import matched_tables, tvms_name
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.whole.differences import differences
from collage_core.rules.base_rules import OpPredicate, PatternTable
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.combinators import Primitive
from collage_core.rules.rule import PartitionRule
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability, ToolchainError
from tests.helpers.models import loaded, model_of, weights, write

needs_tvm = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

TEXT = """g (float[4,16] x) => (float[4,16] y) {
    [dense] d = Gemm(x, w, b) [relu] r = Relu(d) [second] s = MatMul(r, w) [top] y = Sigmoid(s)
}"""
CONSTANTS = {"w": weights(16, 16), "b": weights(16)}
GPU = """name = "gpu"
rule = {rule = "primitive", of = {rule = "pattern_table", prefix = "%s"}}
[cost]
launch_s = 5e-6
flops_per_s = 1e13
"""


def discovered(folder: Path, prefix: str) -> CandidateSet:
    (folder / "gpu.toml").write_text(GPU % prefix)
    model = write(folder, model_of(TEXT, CONSTANTS))
    options = Options(("gpu", "tvm"), costs="roofline", toolchain_files=(folder / "gpu.toml",))
    return CandidateSet(model, options, Phases(ignore), ignore)


@needs_tvm
@pytest.mark.long
def test_a_described_toolchain_takes_what_tvms_table_takes(tmp_path: Path) -> None:
    found = discovered(tmp_path, "cublas")
    made = {tuple(found.graph.nodes[index].name for index in one.inside): (one.rule, one.composites) for one in found.by_target["gpu"]}
    path = "gpu.primitive.pattern_table"
    assert made == {
        ("dense", "relu"): (path, ("cublas.matmul_bias_relu",)),
        ("dense",): (path, ("cublas.matmul_bias",)),
        ("second",): (path, ("cublas.matmul",)),
    }


@needs_tvm
def test_a_prefix_that_tvm_does_not_know_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"^TVM has no pattern table 'cublos'$") as raised:
        discovered(tmp_path, "cublos")
    assert raised.value.hint.startswith("TVM's are cublas, cudnn, cutlass")


class Refusing:
    """A worker in which TVM does not take the model."""

    def __enter__(self) -> Refusing:
        return self

    def __exit__(self, *given: object) -> None:
        pass

    def call(self, *given: object, timeout_s: float) -> object:
        raise ToolchainError("import", "tensors of dtype bfloat16 are not supported")


@needs_tvm
def test_a_model_that_tvm_does_not_take_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_partitionings, "tvm_worker", Refusing)
    said = "the rules of t name the pattern table 'cublas', and TVM could not match it: tensors of dtype bfloat16 are not supported"
    with pytest.raises(CollageError, match=said):
        matched_tables(loaded(tmp_path, TEXT, CONSTANTS), {"t": PatternTable("cublas")})


@needs_tvm
def test_of_a_model_without_an_operator_of_tvms_a_table_matches_nothing(tmp_path: Path) -> None:
    model = loaded(tmp_path, "g (float[1,4] x) => (float[1,4] y) { [celu] y = Celu(x) }")
    assert matched_tables(model, {"t": PatternTable("cublas")}) == {"cublas": []}


def test_without_tvm_a_table_is_one_clear_line_and_rules_without_one_ask_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing:
        def availability(self) -> Availability:
            return Availability(False, reason="the package apache-tvm is not installed", hint="pip install it")

    monkeypatch.setattr(find_partitionings, "get", lambda name: Missing())
    model = loaded(tmp_path, TEXT, CONSTANTS)
    assert matched_tables(model, {"t": OpPredicate()}) == {}
    with pytest.raises(CollageError, match="the rules of t name the pattern table 'cublas', which is TVM's: the package apache-tvm is"):
        matched_tables(model, {"t": PatternTable("cublas")})


SCRIPT = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 16), "float32"), w: R.Tensor((16, 16), "float32"), b: R.Tensor((16,), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            biased = R.add(product, b)
            silu = R.nn.silu(biased)
            last = R.nn.softmax(silu, axis=-1)
            R.output(last)
        return last
"""


@needs_tvm
@pytest.mark.long
def test_of_a_relax_module_the_bindings_are_matched_as_they_are(tmp_path: Path) -> None:
    """The `silu` of TVM's is two nodes of ONNX, which TVM's importer would read as two calls."""
    (tmp_path / "gpu.toml").write_text(GPU % "tensorrt")
    (tmp_path / "module.py").write_text(SCRIPT)
    options = Options(("gpu", "tvm"), costs="roofline", toolchain_files=(tmp_path / "gpu.toml",))
    found = CandidateSet(tmp_path / "module.py", options, Phases(ignore), ignore)
    names = [node.name for node in found.graph.nodes]
    assert names == ["product", "biased", "silu/0", "silu", "last"]
    made = {one.composites[0]: [names[index] for index in one.inside] for one in found.by_target["gpu"] if one.composites}
    assert made == {
        "tensorrt.nn.batch_matmul": ["product"],
        "tensorrt.add": ["biased"],
        "tensorrt.nn.silu": ["silu/0", "silu"],
        "tensorrt.nn.softmax": ["last"],
    }
    (partitioning,) = found.partitionings
    assert (partitioning.name, partitioning.groups) == ("gpu:partition_for_tensorrt", (IndexSet(range(5)),))


PLUG_IN = "collage_test_toolchains:Partitions"


def one_each(candidate: CandidatePartition) -> float:
    """Every kernel takes a second: the fewer, the better."""
    return 1.0


def run(source: Path, target: str, function: CostFunction, events: list[Event] | None = None) -> RunRecord:
    return partition(source, Options((target,), costs="function:given"), (events if events is not None else []).append, function)


def row(record: RunRecord, name: str) -> BaselineInfo:
    return next(row for row in record.document.baselines if row.name == name)


def test_a_group_that_no_rule_finds_is_a_candidate_and_the_plan_of_the_groups_a_baseline(
    chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", PLUG_IN)
    events: list[Event] = []
    record = run(chain, "partitions", one_each, events)
    said = "no rule of partitions finds 1 of the 1 group that everything makes for it"
    assert said in [event.text for event in events if isinstance(event, Note)]
    assert [part.nodes for part in record.plan.partitions] == [(0, 1, 2, 3)]
    assert {item.candidate["rule"] for item in record.candidates} == {"partitions.op_predicate", "partitions.everything"}
    found = row(record, "partitions:everything")
    assert (found.total_s, [list(part.nodes) for part in found.partitions or ()]) == (1.0, [[0, 1, 2, 3]])


def test_a_plan_is_the_partitioning_or_better(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels of two nodes take 3 s each, single ones 1 s, and all as one 9 s."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", PLUG_IN)
    monkeypatch.setenv("COLLAGE_TEST_GROUPS", "relu+add sigmoid+mul")
    record = run(chain, "partitions", lambda candidate: {1: 1.0, 2: 3.0}.get(len(candidate.inside), 9.0))
    assert row(record, "partitions:everything").total_s == 6.0
    assert record.plan.total_s == 4.0


def test_a_group_that_is_not_valid_is_rejected_and_its_nodes_go_to_the_rest(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", PLUG_IN)
    monkeypatch.setenv("COLLAGE_TEST_GROUPS", "relu+sigmoid add+mul")
    events: list[Event] = []
    record = run(chain, "partitions", one_each, events)
    assert not [one for one in record.document.baselines if one.name == "partitions:everything"], "no group is left"
    reasons = {item["reason"] for item in record.rejected if item["rule"] == "everything"}
    assert reasons == {"exits: 2 of its nodes are read outside, at most 1 may be"}


def test_a_toolchain_that_fails_to_make_its_groups_has_none(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", PLUG_IN)
    monkeypatch.setenv("COLLAGE_TEST_GROUPS", "fail")
    events: list[Event] = []
    record = run(chain, "partitions", one_each, events)
    assert {item.candidate["rule"] for item in record.candidates if not item.is_merged} == {"partitions.op_predicate"}
    notes = [event.text for event in events if isinstance(event, Note)]
    assert "partitions has no groups from elsewhere for this model: out of ideas" in notes


BASELINE_GPU = """name = "gpu"
rule = {rule = "pattern_table", prefix = "cublas"}
[cost]
launch_s = 1e-6
flops_per_s = 1e12
"""
GEMMS = """g (float[4,16] x) => (float[4,16] y) {
    [dense] d = Gemm(x, w, b) [relu] r = Relu(d) [second] s = MatMul(r, w) [top] y = Sigmoid(s)
}"""


@needs_tvm
@pytest.mark.long
def test_what_tvm_does_not_take_is_left_out_and_no_group_reaches_across_it(tmp_path: Path) -> None:
    """A recurrent cell, which TVM does not import, between chains; a sum reads what is before and what is behind it."""
    text = """g (float[2,1,4] x) => (float[2,1,4] y) {
        [before] a = Relu(x) [scaled] b = Sigmoid(a) [cell] c, last = RNN <hidden_size: int = 4> (b, w, r)
        [flat] d = Squeeze(c, axis) [behind] e = Tanh(d) [sum] f = Add(e, b) [top] y = Exp(f)
    }"""
    model = model_of(text, {"w": weights(1, 4, 4), "r": weights(1, 4, 4), "axis": np.array([1])})
    found = CandidateSet(write(tmp_path, model), Options(("tvm@fusion",), costs="roofline"), Phases(ignore), ignore)
    names = [node.name for node in found.graph.nodes]
    groups = {tuple(names[index] for index in inside) for one in found.partitionings for inside in one.groups}
    assert {name for group in groups for name in group} <= set(names) - {"cell"}
    assert ("before", "scaled") in groups
    assert all(len({"before", "scaled"} & set(group)) in (0, len(group)) for group in groups)


@needs_tvm
@pytest.mark.long
def test_tvms_own_partitioning_is_a_baseline_of_a_described_toolchain_and_the_rest_is_tvms(tmp_path: Path) -> None:
    (tmp_path / "gpu.toml").write_text(BASELINE_GPU)
    model = write(tmp_path, model_of(GEMMS, {"w": weights(16, 16), "b": weights(16)}))
    options = Options(("openvino", "gpu", "tvm"), costs="roofline", toolchain_files=(tmp_path / "gpu.toml",))
    record = partition(model, options)
    found = row(record, "gpu:partition_for_cublas")
    parts = {(part.target, tuple(part.nodes)) for part in found.partitions or ()}
    assert parts == {("gpu", (0, 1)), ("gpu", (2,)), ("tvm", (3,))}
    assert record.plan.total_s is not None
    assert found.total_s is not None
    assert record.plan.total_s <= found.total_s
    (told,) = differences(record)
    assert (told.name, told.is_estimate, told.is_measured) == ("gpu:partition_for_cublas", True, False)
    assert told.apparent_loss_s == record.plan.total_s - found.total_s <= 0


@pytest.mark.parametrize(
    ("name", "rule", "tvms"),
    [
        ("tensorrt", OpPredicate(), "tensorrt"),
        ("cublas@half", OpPredicate(), "cublas"),
        ("gpu", Primitive(PatternTable("cudnn.conv2d")), "cudnn"),
        ("gpu", PatternTable("openclml"), ""),
        ("ncnn", OpPredicate(), ""),
    ],
)
def test_tvms_function_is_that_of_the_name_or_of_the_pattern_table(name: str, rule: PartitionRule, tvms: str) -> None:
    toolchain = SimpleNamespace(name=name, partition_for="")
    assert tvms_name(toolchain, rule) == tvms  # type: ignore[arg-type]


def test_tensorrt_for_rtx_is_compared_with_that_of_tensorrt() -> None:
    assert tvms_name(get("tensorrt_rtx"), OpPredicate()) == "tensorrt"


@needs_tvm
def test_fuse_ops_fuses_more_than_the_search_looks_for_and_the_plan_is_no_worse(tmp_path: Path) -> None:
    """Six calls in a row: one kernel of `FuseOps`, and more than the depth to which the search's own candidates go."""
    ops = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp"]
    names = ["x", "a", "b", "c", "d", "e", "y"]
    lines = " ".join(f"[{op.lower()}] {names[at + 1]} = {op}({names[at]})" for at, op in enumerate(ops))
    model = write(tmp_path, model_of(f"g (float[1,4] x) => (float[1,4] y) {{ {lines} }}"))
    record = run(model, "tvm@fusion", one_each)
    found = {tuple(item.inside): item.candidate["rule"] for item in record.candidates}
    assert max(len(nodes) for nodes, rule in found.items() if rule != "tvm@fusion.FuseOps") == 4
    assert found[tuple(range(6))] == "tvm@fusion.FuseOps"
    assert record.plan.total_s == row(record, "tvm@fusion:FuseOps").total_s == 1.0


@needs_tvm
@pytest.mark.long
def test_the_kernels_of_fuse_ops_are_measured_whole_beside_the_plan(tmp_path: Path) -> None:
    options = Options(("tvm@fusion",), threads=1, budget_s=300.0, costs_db=str(tmp_path / "costs.sqlite3"))
    record = partition("mini_mnist", options)
    found = row(record, "tvm@fusion:FuseOps")
    assert (found.reason, found.measured_s is not None) == ("", True)
    (told,) = differences(record)
    assert told.is_measured
