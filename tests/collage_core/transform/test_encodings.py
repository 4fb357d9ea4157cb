"""Functions of partitions: their layouts, their threads and their labels, and what the codegens make of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.toolchains.registry import get  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks, codegens  # noqa: E402
from collage_core.transform.packages import Package, runtime_module  # noqa: E402

from .test_collage_partition import PINS, picture_module, run  # noqa: E402

RANDOM = np.random.default_rng(0)
IMAGE = RANDOM.standard_normal((1, 16, 6, 5)).astype("float32")
FIRST, SECOND = (RANDOM.standard_normal(shape).astype("float32") * 0.1 for shape in ((32, 16, 3, 3), (32, 32, 3, 3)))
BLOCKED = ("onnxruntime@nchw16c", "ncnn@nchw16c")
needs_blocked = pytest.mark.skipif(
    not all(get(name).availability().usable for name in BLOCKED), reason="the blocked targets are not usable here"
)


def convolutions() -> Any:
    """Two convolutions in a row, whose second has two readers, and a Sigmoid that reads the first one too."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE.shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            one = builder.emit(relax.op.nn.conv2d(x, relax.const(FIRST), padding=1), "one")
            two = builder.emit(relax.op.nn.conv2d(one, relax.const(SECOND), padding=1), "two")
            turned = builder.emit(relax.op.sigmoid(one), "turned")
            out = builder.emit_output(relax.op.add(two, turned), "out")
        builder.emit_func_output(out)
    return builder.get()


def on_blocked(encoding: str = "byoc") -> Any:
    placed = zip(("one", "two", "turned", "out"), (*BLOCKED, "tvm", "tvm"), strict=True)
    pins = tuple({"kind": "pin", "node": node, "target": target} for node, target in placed)
    return CollagePartition([*BLOCKED, "tvm"], costs="roofline", threads=1, constraints=pins, encoding=encoding)(convolutions())


def convolved(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nihwyx,oiyx->nohw", windows, weight)


ONE = convolved(IMAGE, FIRST)
EXPECTED = convolved(ONE, SECOND) + 1 / (1 + np.exp(-ONE))


def calls_of(module: Any) -> list[Any]:
    """The calls in ``main`` of other functions, in order."""
    bindings = [one for block in module["main"].body.blocks for one in block.bindings]
    return [one.value for one in bindings if isinstance(one.value, relax.Call) and isinstance(one.value.op, tvm.ir.GlobalVar)]


@needs_blocked
@pytest.mark.parametrize(
    "hooks", [pytest.param(False, id="RunCodegen", marks=pytest.mark.long), pytest.param(True, id="RunHooks", marks=pytest.mark.long)]
)
def test_blocked_targets_get_blocked_images_and_share_a_boundary(hooks: bool) -> None:
    made = on_blocked()
    relax.analysis.well_formed(made)
    placed = [str(call.op.name_hint) for call in calls_of(made)]
    reorder, plain = "main_onnxruntime_0", "main_onnxruntime_1"
    first, second = "main_onnxruntime_nchw16c_0", "main_ncnn_nchw16c_0"
    assert [name for name in placed if name != plain] == [reorder, first, second], "the input is moved, and nothing between the two"
    assert placed.count(plain) == 2, "each result is moved for its plain reader"
    built = (RunHooks if hooks else relax.transform.RunCodegen)()(made)
    assert np.allclose(run(built, IMAGE)[0], EXPECTED, atol=1e-5)


@needs_blocked
@pytest.mark.long
def test_blocked_targets_with_the_older_encoding_and_after_saving() -> None:
    made = tvm.ir.load_json(tvm.ir.save_json(on_blocked("primitive")))
    assert np.allclose(run(relax.transform.RunCodegen()(made), IMAGE)[0], EXPECTED, atol=1e-5)


@needs_blocked
def test_a_plain_function_for_a_blocked_target_is_one_line() -> None:
    module = convolutions()
    module.update_func(module.get_global_var("main"), module["main"].with_attr({"Codegen": BLOCKED[0], "global_symbol": "main"}))
    with pytest.raises(CollageError, match=f"a function for {BLOCKED[0]} reads 'x' as a plain image") as raised:
        codegens.kernel_function(BLOCKED[0], module["main"])
    assert raised.value.hint == "mark it for onnxruntime, or let CollagePartition write it"


@pytest.mark.parametrize(("options", "threads"), [(None, 1), pytest.param({"onnxruntime": {"threads": 2}}, 2, marks=pytest.mark.long)])
def test_kernels_get_the_threads_of_their_plan(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any] | None, threads: int) -> None:
    """Unless `RunCodegen` is told otherwise."""
    packages: list[Package] = []

    def kept(symbol: str, package: Package) -> Any:
        packages.append(package)
        return runtime_module(symbol, package)

    monkeypatch.setattr(codegens, "usable_cores", lambda: 7)
    monkeypatch.setattr(codegens, "runtime_module", kept)
    made = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=PINS)(picture_module())
    relax.transform.RunCodegen(options)(made)
    assert [package.threads for package in packages] == [threads]
