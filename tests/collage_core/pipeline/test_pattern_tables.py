"""TVM's pattern tables in a run: a described toolchain names one as its rule, TVM matches it in a worker, and bad input is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.events import ignore
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline import pattern_tables
from collage_core.pipeline.discover import CandidateSet, Phases
from collage_core.pipeline.pattern_tables import matched_tables
from collage_core.rules.base_rules import OpPredicate, PatternTable
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
    monkeypatch.setattr(pattern_tables, "tvm_worker", Refusing)
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

    monkeypatch.setattr(pattern_tables, "get", lambda name: Missing())
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
