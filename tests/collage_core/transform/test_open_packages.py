"""Modules that keep their symbols: toolchains build a kernel for each shape that comes."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.relax import dpl  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.base.isolation.worker import Worker  # noqa: E402
from collage_core.errors import CollageError  # noqa: E402
from collage_core.transform import CollagePartition, open_packages  # noqa: E402
from collage_core.transform.collage_partition import Report  # noqa: E402
from collage_core.transform.open_packages import OpenPackage, open_package  # noqa: E402
from tests.helpers.fresh_modules import computed  # noqa: E402

from .test_collage_partition import functions_of  # noqa: E402
from .test_symbols import sizes_of  # noqa: E402

RANDOM = np.random.default_rng(8)


@functools.cache
def attention() -> Any:
    """Two symbols, which products of them and a cast repeat."""

    @I.ir_module
    class Attention:
        @R.function
        def main(x: R.Tensor(("n", "s", 32), "float32"), w: R.Tensor((32, 32), "float32")):
            n = T.int64()
            s = T.int64()
            with R.dataflow():
                risen = R.nn.relu(R.matmul(x, w))
                heads = R.permute_dims(R.reshape(risen, R.shape([n, s, 4, 8])), axes=[0, 2, 1, 3])
                weights = R.nn.softmax(R.matmul(heads, R.permute_dims(heads, axes=[0, 1, 3, 2])), axis=-1)
                rows = R.reshape(weights, R.shape([n * 4 * s, s]))
                sums = R.max(rows, axis=[1])
                out = R.match_cast(R.tanh(R.reshape(sums, R.shape([n, 4, s]))), R.Tensor((n, 4, s), "float32"))
                R.output(out)
            return out

    return Attention


@functools.cache
def rows_module() -> Any:
    @I.ir_module
    class Rows:
        @R.function
        def main(x: R.Tensor(("n", 32), "float32"), w: R.Tensor((32, 32), "float32")) -> R.Tensor(("n", 32), "float32"):
            n = T.int64()  # noqa: F841 - a symbol of the types
            with R.dataflow():
                out = R.nn.softmax(R.nn.relu(R.matmul(x, w)), axis=-1)
                R.output(out)
            return out

    return Rows


SHAPES = {"x": (2, 5, 32)}


def given(n: int, s: int) -> list[np.ndarray]:
    return [RANDOM.standard_normal(shape).astype("float32") for shape in ((n, s, 32), (32, 32))]


def rows(n: int) -> list[np.ndarray]:
    return [RANDOM.standard_normal(shape).astype("float32") for shape in ((n, 32), (32, 32))]


def check_equal(made: Any, module: Any, arrays: list[np.ndarray]) -> None:
    for found, wanted in zip(computed(made, arrays), computed(module, arrays), strict=True):
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6), np.abs(found - wanted).max()


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("onnxruntime", {}),
        ("onnxruntime", {"codegen": True}),
        ("onnxruntime", {"codegen": True, "encoding": "primitive"}),
        ("openvino", {}),
        ("tvm@fusion", {"codegen": True}),
    ],
)
def test_a_module_keeps_its_symbols_and_computes_the_same_for_each_shape(target: str, options: dict[str, Any]) -> None:
    report = Report()
    module = CollagePartition([target], shapes=SHAPES, keep_symbols=True, costs="roofline", threads=1, report=report, **options)(
        attention()
    )
    relax.analysis.well_formed(module)
    assert {one.target for one in report.regions[0].record.plan.partitions} == {target}
    assert sizes_of(module["main"].params[0]) == ["n", "s", 32]
    built = module if options else relax.transform.RunCodegen()(module)
    for n, s in ((2, 5), (3, 7), (1, 2)):
        check_equal(built, attention(), given(n, s))


@pytest.mark.long
@pytest.mark.parametrize("target", ["onednn", "blas"])
def test_a_library_computes_for_each_shape_too(target: str) -> None:
    pins, report = ({"kind": "pin", "op": "MatMul", "target": target},), Report()
    options: dict[str, Any] = {"costs": "roofline", "threads": 1, "constraints": pins, "codegen": True, "report": report}
    module = CollagePartition([target, "tvm"], shapes={"x": (3, 32)}, keep_symbols=True, **options)(rows_module())
    assert {one.target for one in report.regions[0].record.plan.partitions} == {target, "tvm"}
    for batch in (3, 5):
        check_equal(module, rows_module(), rows(batch))


@pytest.mark.long
def test_a_part_whose_inputs_do_not_give_its_symbols_stays_with_tvm() -> None:
    """The last `reshape` reads a tensor whose one size is a product of both symbols."""
    report = Report()
    CollagePartition(["onnxruntime"], shapes=SHAPES, costs="roofline", threads=1, report=report)(attention())
    names = [node.name for node in report.regions[0].record.graph.nodes]
    last = names[-2:]
    pins = tuple({"kind": "pin", "node": name, "target": "onnxruntime" if name in last else "tvm"} for name in names)
    chosen = CollagePartition(["onnxruntime", "tvm"], shapes=SHAPES, keep_symbols=True, costs="roofline", threads=1, constraints=pins)
    module = chosen(attention())
    relax.analysis.well_formed(module)
    assert functions_of(module, "Codegen") == {}
    check_equal(module, attention(), given(3, 4))


def product(n: Any) -> relax.Function:
    """A flat function: the first argument of `n` rows times the second."""
    builder = relax.BlockBuilder()
    x, w = relax.Var("x", relax.TensorType((n, 4), "float32")), relax.Var("w", relax.TensorType((4, 3), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.matmul(x, w)))
        builder.emit_func_output(result)
    return builder.get()["main"]


def called(function: Any, count: int) -> None:
    arrays = [RANDOM.standard_normal(shape).astype("float32") for shape in ((count, 4), (4, 3))]
    tensors = [tvm.runtime.tensor(array) for array in (*arrays, np.zeros((count, 3), "float32"))]
    function(*tensors)
    assert np.allclose(tensors[2].numpy(), arrays[0] @ arrays[1], atol=1e-5)


def test_the_planned_shape_is_there_and_others_are_built_when_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    function = product(tvm.tirx.Var("n", "int64")).with_attr("collage.shapes", "[[2, 4], [4, 3]]")
    with Worker() as worker:
        made = open_package("onnxruntime", "rows", function, 1, worker)
    package = OpenPackage.read(made.data, made.about())
    assert package == made
    built: list[Any] = []
    build = open_packages.built_package

    def counted(*arguments: Any) -> Any:
        built.append(arguments)
        return build(*arguments)

    monkeypatch.setattr(open_packages, "built_package", counted)
    monkeypatch.setattr(open_packages, "MOST_KERNELS", 2)
    kernels = package.function()
    called(kernels, 2)
    assert built == []
    for count in (5, 2, 5, 7, 5):  # 7 takes the place of 2, the oldest
        called(kernels, count)
    assert len(built) == 2
    called(kernels, 2)
    assert len(built) == 3


def test_a_shape_that_the_toolchain_cannot_take_is_one_line() -> None:
    """ncnn reduces no dimension of one element."""
    n = tvm.tirx.Var("n", "int64")
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((4, n), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.sum(x, axis=[1])))
        builder.emit_func_output(result)
    with Worker() as worker:
        package = open_package("ncnn", "sums", builder.get()["main"], 1, worker)
    kernels = package.function()
    tensors = [tvm.runtime.tensor(np.ones(shape, "float32")) for shape in ((4, 3), (4,))]
    kernels(*tensors)
    assert np.allclose(tensors[1].numpy(), 3)
    with pytest.raises(CollageError, match=r"ncnn cannot take the function 'sums'.*with inputs of the shapes \(4, 1\)"):
        kernels(*(tvm.runtime.tensor(np.ones(shape, "float32")) for shape in ((4, 1), (4,))))


def test_a_blocked_layout_keeps_no_symbols() -> None:
    with pytest.raises(CollageError, match="ncnn@nchw16c computes in a blocked layout, and can keep no symbols"):
        CollagePartition(["ncnn@nchw16c", "tvm"], keep_symbols=True)


@pytest.mark.long
def test_a_function_that_others_have_partitioned_may_have_symbols_too() -> None:
    """Nobody has planned it, so that its first kernel is built at its first call."""
    patterns = [("onnxruntime.product", dpl.is_op("relax.nn.relu")(dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard())))]
    passes = [relax.transform.FuseOpsByPattern(patterns), relax.transform.MergeCompositeFunctions(), relax.transform.RunCodegen()]
    module = tvm.transform.Sequential(passes)(rows_module())
    assert "call_dps_packed" in module.script()
    for batch in (3, 2):
        check_equal(module, rows_module(), rows(batch))


FRESH = """
import sys, numpy as np, tvm
from tvm import relax
import collage_core.transform
folder = sys.argv[1]
machine = relax.VirtualMachine(tvm.runtime.load_module(folder + "/module.so"), tvm.cpu())
for at in "01":
    with np.load(f"{folder}/{at}.npz") as held:
        found = machine["main"](tvm.runtime.tensor(held["x"]), tvm.runtime.tensor(held["w"])).numpy()
        assert np.allclose(found, held["expected"], atol=1e-5), at
"""


@pytest.mark.long
def test_an_exported_library_builds_for_other_shapes_in_another_process(tmp_path: Path) -> None:
    made = CollagePartition(["onnxruntime"], shapes=SHAPES, keep_symbols=True, costs="roofline", threads=1)(attention())
    built = relax.transform.RunCodegen()(made)
    tvm.compile(built, tvm.target.Target({"kind": "llvm"})).export_library(str(tmp_path / "module.so"))
    for at, sizes in enumerate(((2, 5), (4, 3))):
        x, w = given(*sizes)
        np.savez(tmp_path / f"{at}.npz", x=x, w=w, expected=computed(attention(), [x, w])[0])
    done = subprocess.run([sys.executable, "-c", FRESH, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
