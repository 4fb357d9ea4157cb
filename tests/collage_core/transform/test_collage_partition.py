"""The pass inside TVM: what is written into a module, and that the module computes what it computed."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402
from tvm_ffi import structural_equal  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.events import Note  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks  # noqa: E402
from collage_core.transform.collage_partition import Report  # noqa: E402
from tests.collage_core.model.relax.test_realized_devices import hinted_module  # noqa: E402
from tests.helpers.fresh_modules import computed  # noqa: E402

RANDOM = np.random.default_rng(0)


def picture_module() -> Any:
    """A convolution with its bias and Relu, a split whose parts are added, a softmax."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 3, 8, 8), "float32"))
    weight = relax.const(RANDOM.standard_normal((4, 3, 3, 3)).astype("float32"))
    bias = relax.const(RANDOM.standard_normal((1, 4, 1, 1)).astype("float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            conv = builder.emit(relax.op.nn.conv2d(x, weight, padding=1), "conv")
            shifted = builder.emit(relax.op.add(conv, bias), "shifted")
            halves = builder.emit(relax.op.split(builder.emit(relax.op.nn.relu(shifted), "relu"), 2, 1), "halves")
            total = builder.emit(relax.op.add(relax.TupleGetItem(halves, 0), relax.TupleGetItem(halves, 1)), "total")
            out = builder.emit_output(relax.op.nn.softmax(total, axis=1), "out")
        builder.emit_func_output(out)
    return builder.get()


PICTURE = RANDOM.standard_normal((1, 3, 8, 8)).astype("float32")


def run(module: Any, *arrays: np.ndarray, name: str = "main") -> list[np.ndarray]:
    return computed(module, arrays, name)


def functions_of(module: Any, attribute: str) -> dict[str, Any]:
    found = {str(var.name_hint): function for var, function in module.functions_items() if isinstance(function, relax.Function)}
    return {name: function for name, function in found.items() if function.attrs and attribute in function.attrs}


PINS = tuple({"kind": "pin", "op": op, "target": target} for op, target in (("Conv", "onnxruntime"), ("Softmax", "tvm")))


@pytest.fixture(scope="module")
def partitioned() -> tuple[Any, Any, Report]:
    module, report = picture_module(), Report()
    chosen = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, report=report, constraints=PINS)
    return module, tvm.transform.Sequential([chosen])(module), report


def test_a_partition_is_a_private_function_of_its_codegen(partitioned: tuple[Any, Any, Report]) -> None:
    _, module, report = partitioned
    (name,) = functions_of(module, "Codegen")
    function = module[name]
    assert (function.attrs["Codegen"], function.attrs["global_symbol"]) == ("onnxruntime", name)
    inner = function.body.blocks[0].bindings[0].value
    assert inner.attrs["Composite"] == "onnxruntime.partition"
    body = module["main"].script()
    assert "softmax" in body
    assert "conv2d" not in body
    assert [one.function for one in report.regions] == ["main"]
    assert report.left == {"main": []}


def test_the_module_is_one_as_any_other(partitioned: tuple[Any, Any, Report]) -> None:
    _, module, _ = partitioned
    relax.analysis.well_formed(module)
    assert structural_equal(tvm.ir.load_json(tvm.ir.save_json(module)), module)
    assert structural_equal(tvm.script.from_source(module.script(show_meta=True)), module)


@pytest.mark.long
def test_codegens_build_what_the_module_computes(partitioned: tuple[Any, Any, Report], tmp_path: Path) -> None:
    module, made, _ = partitioned
    expected = run(module, PICTURE)[0]
    built = relax.transform.RunCodegen()(made)
    assert not functions_of(built, "Codegen")
    assert np.allclose(run(built, PICTURE)[0], expected, atol=1e-5)
    tvm.compile(built, tvm.target.Target({"kind": "llvm"})).export_library(str(tmp_path / "module.so"))
    np.savez(tmp_path / "given.npz", picture=PICTURE, expected=expected)
    done = subprocess.run([sys.executable, "-c", FRESH, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


FRESH = """
import sys, numpy as np, tvm
from tvm import relax
folder = sys.argv[1]
with np.load(folder + "/given.npz") as given:
    picture, expected = given["picture"], given["expected"]
machine = relax.VirtualMachine(tvm.runtime.load_module(folder + "/module.so"), tvm.cpu())
try:
    machine["main"](tvm.runtime.tensor(picture))
    raise SystemExit("it ran without the toolchain")
except RuntimeError as error:
    assert "import collage_core.transform" in str(error), error
import collage_core.transform
for _ in range(2):
    assert np.allclose(machine["main"](tvm.runtime.tensor(picture)).numpy(), expected, atol=1e-5)
"""


def test_one_switch_leaves_the_module_untouched() -> None:
    module = picture_module()
    assert CollagePartition(["onnxruntime"], enabled=False)(module).same_as(module)


@pytest.mark.long
@pytest.mark.parametrize(("conv", "softmax"), [("onnxruntime", "tvm"), ("tvm", "onnxruntime")])
def test_every_kernel_is_a_primitive_function_with_the_older_encoding(conv: str, softmax: str) -> None:
    """Also where TVM's own kernels have weights."""
    module = picture_module()
    pins = tuple({"kind": "pin", "op": op, "target": target} for op, target in (("Conv", conv), ("Softmax", softmax)))
    chosen = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, encoding="primitive", constraints=pins)
    made = chosen(module)
    kinds = {function.attrs.get("Codegen", "tvm") for function in functions_of(made, "Primitive").values()}
    assert kinds == {"onnxruntime", "tvm"}
    assert np.allclose(run(relax.transform.RunCodegen()(made), PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)


@functools.cache
def several() -> Any:
    """Two public functions, a call between them, an `If`, tuples, and a symbolic batch."""

    @I.ir_module
    class Several:
        @R.function
        def doubled(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            n = T.int64()  # noqa: F841 - a symbol of the types
            with R.dataflow():
                y = R.add(x, x)
                z = R.nn.relu(y)
                R.output(z)
            return z

        @R.function
        def main(x: R.Tensor((2, 4), "float32"), flag: R.Tensor((), "bool")) -> R.Tuple(
            R.Tensor((2, 4), "float32"), R.Tensor((2, 2), "float32")
        ):
            cls = Several
            with R.dataflow():
                a = R.exp(x)
                b = cls.doubled(a)
                c = R.multiply(a, R.sigmoid(b))
                halves = R.split(c, 2, axis=1)
                R.output(c, halves)
            if flag:  # noqa: SIM108 - this is no Python
                chosen = R.negative(c)
            else:
                chosen = R.sqrt(R.abs(c))
            with R.dataflow():
                last = R.tanh(R.add(chosen, c))
                pair = (last, halves[1])
                R.output(pair)
            return pair

    return Several


@pytest.mark.long
def test_what_no_toolchain_can_take_stays_and_divides() -> None:
    report, notes = Report(), list[str]()
    told = {"report": report, "emit": lambda event: notes.append(event.text) if isinstance(event, Note) else None}
    made = CollagePartition(["onnxruntime"], costs="roofline", threads=1, budget_s=12, **told)(several())
    parts = [found for found in (re.fullmatch(r"region main\.\d, \d of 3: (.*) s of 12 s for its run", note) for note in notes) if found]
    seconds = [float(found[1]) for found in parts]
    assert seconds == sorted(seconds), "nothing is measured, so all that one leaves goes to the next"
    assert seconds[0] < seconds[-1] == 12
    relax.analysis.well_formed(made)
    assert [one.function for one in report.regions].count("main") == 3, "before and after the call, and after the If"
    reasons = {one.name: one.reason for one in report.left["main"]}
    assert any("doubled" in reason for reason in reasons.values()), reasons
    assert any("outside of a dataflow block" in reason for reason in reasons.values()), reasons
    assert all("open shape" in one.reason for one in report.left["doubled"])
    built = relax.transform.RunCodegen()(made)
    x = RANDOM.standard_normal((2, 4)).astype("float32")
    for flag in (True, False):
        given = (x, np.array(flag))
        for found, expected in zip(run(built, *given), run(several(), *given), strict=True):
            assert np.allclose(found, expected, atol=1e-5)


@pytest.mark.long
def test_the_branches_of_a_function_with_tuples_are_planned_after_it() -> None:
    report = Report()
    made = CollagePartition(["onnxruntime"], costs="roofline", threads=1, report=report, codegen=True)(several())
    assert {"main", "main_then_1", "main_else_2"} <= {one.function for one in report.regions}
    x = RANDOM.standard_normal((2, 4)).astype("float32")
    for flag in (True, False):
        given = (x, np.array(flag))
        for got, expected in zip(run(relax.transform.RunCodegen()(made), *given), run(several(), *given), strict=True):
            assert np.allclose(got, expected, atol=1e-5)


@pytest.mark.long
def test_calls_of_a_library_are_composite_only() -> None:
    """They have the label of the library's function. TVM can compute them, and the library does after `RunHooks`, called by a PrimFunc."""
    module = picture_module()
    pins = ({"kind": "pin", "op": "Conv", "target": "onednn"},)
    made = CollagePartition(["onednn", "tvm"], costs="roofline", threads=1, constraints=pins)(module)
    (function,) = functions_of(made, "Composite").values()
    assert str(function.attrs["Composite"]).startswith("onednn.conv")
    assert not functions_of(made, "Codegen")
    expected = run(module, PICTURE)[0]
    assert np.allclose(run(made, PICTURE)[0], expected, atol=1e-5)
    lowered = RunHooks()(made)
    (kernel,) = [str(var.name_hint) for var, one in lowered.functions_items() if isinstance(one, tvm.tirx.PrimFunc)]
    assert kernel.startswith("onednn_conv")
    assert "collage_onednn_calls" in str(lowered[kernel])
    assert np.allclose(run(lowered, PICTURE)[0], expected, atol=1e-5)


@pytest.mark.long
def test_it_stands_between_other_passes() -> None:
    """A pass before it, TVM's fusion after it, and an instrument that sees all of them."""
    seen: list[str] = []

    @tvm.ir.instrument.pass_instrument
    class Names:
        def run_before_pass(self, _module: Any, info: Any) -> None:
            seen.append(str(info.name))

    module = picture_module()
    passes = [
        relax.transform.FoldConstant(),
        CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=PINS),
        relax.transform.RunCodegen(),
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ]
    with tvm.transform.PassContext(instruments=[Names()]):
        made = tvm.transform.Sequential(passes)(module)
    assert seen.index("FoldConstant") < seen.index("CollagePartition") < seen.index("FuseOps")
    assert np.allclose(run(made, PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)


@pytest.mark.long
def test_what_is_left_to_tvm_is_fused_by_it_over_the_border_of_two_partitions() -> None:
    builder, report = relax.BlockBuilder(), Report()
    x = relax.Var("x", relax.TensorType((2, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.nn.relu(builder.emit(relax.op.negative(builder.emit(relax.op.exp(x))))))
        builder.emit_func_output(out)
    apart = ({"kind": "veto", "target": "onnxruntime"}, {"kind": "cut", "between": [0, 1]})
    made = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, report=report, constraints=apart)(builder.get())
    assert [part.target for part in report.regions[0].record.plan.partitions] == ["tvm", "tvm"]
    assert not functions_of(made, "Primitive")
    fusion = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), relax.transform.FuseTIR()]
    fused = tvm.transform.Sequential(fusion)(made)
    assert [str(var.name_hint) for var, _ in fused.functions_items()] == ["fused_tir_exp_tir_negative_relu", "main"]


@pytest.mark.long
def test_one_line_is_enough() -> None:
    module = picture_module()
    made = CollagePartition(["onnxruntime"], costs="roofline", threads=1, codegen=True)(module)
    assert np.allclose(run(made, PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)


def test_a_function_has_one_shape() -> None:
    with pytest.raises(CollageError, match="several shapes are given, and only `collage partition` plans for more than one"):
        CollagePartition(["onnxruntime"], shapes={"x": "3,{4,8}"})  # type: ignore[dict-item]


@pytest.mark.long
def test_symbols_are_fixed_by_shapes() -> None:
    report = Report()
    made = CollagePartition(["onnxruntime"], functions=["doubled"], shapes={"x": (3, 4)}, costs="roofline", report=report)(several())
    assert [one.function for one in report.regions] == ["doubled"]
    assert [int(size) for size in made["doubled"].params[0].ty.shape.values] == [3, 4]


@pytest.mark.long
def test_symbols_stay_where_all_of_a_function_is_left_to_tvm() -> None:
    report = Report()
    made = CollagePartition(["tvm"], functions=["doubled"], shapes={"x": (3, 4)}, costs="roofline", report=report)(several())
    assert report.regions[0].record.graph.inputs[0].type.shape == (3, 4)
    relax.analysis.well_formed(made)
    x = RANDOM.standard_normal((5, 4)).astype("float32")
    assert np.allclose(run(made, x, name="doubled")[0], np.maximum(x + x, 0), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": []}, "no target was given"),
        ({"targets": ["onnxruntime"], "functions": ["nothing"]}, "has no Relax function 'nothing'"),
        ({"targets": ["onnxruntime"], "encoding": "odd"}, "unknown encoding 'odd'"),
        ({"targets": ["onnxruntime"], "colour": "red"}, "colour"),
        ({"targets": ["onnxruntime"], "shapes": {"x": (1, 2)}}, "the shape"),
        ({"targets": ["onnxruntime"], "shapes": {"other": (1, 2)}}, "a parameter .other."),
        ({"targets": ["tvm"], "costs": "measure", "tune_s": 0.0}, "--tune is 0, it must be more than 0"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CollageError, match=message):
        CollagePartition(**{"costs": "roofline", **options})(picture_module())


@functools.cache
def on_devices() -> Any:
    """Tensors on the processor, by a hint or by their types, and one on a GPU."""

    @I.ir_module
    class OnDevices:
        I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0), I.vdevice({"kind": "cuda", "arch": "sm_90"}, 0)]})

        @R.function
        def main(x: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                free = R.exp(x)
                hinted = R.negative(free)
                known = R.hint_on_device(hinted, R.device(1, 0), "global")
                bent = R.tanh(known)
                there = R.to_vdevice(bent, "llvm:0")
                typed = R.abs(there)
                last = R.sigmoid(R.to_vdevice(typed, "cuda:0"))
                R.output(last)
            return last

    return OnDevices


@pytest.mark.long
def test_devices_of_the_user_bound_who_may_have_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """No node on the processor goes to a toolchain of another device, and nodes on another device stay with TVM."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "tests.collage_core.transform.hooked_toolchains:Elsewhere")
    report = Report()

    def cost(candidate: Any) -> float:
        return len(candidate.inside) * (1e-6 if candidate.target == "elsewhere" else 1e-3)

    targets = ["elsewhere", "onnxruntime"]
    CollagePartition(targets, costs="mine", cost_function=cost, report=report, accuracy=1e-3)(on_devices())
    placed = {name: one.target for found in report.regions for one in found.record.plan.partitions for name in one.names}
    assert placed == {"free": "elsewhere", "hinted": "onnxruntime", "bent": "elsewhere", "typed": "onnxruntime"}
    left = {one.name: one.reason for one in report.left["main"]}
    assert "on the device cuda" in left["last"]


def test_what_a_hint_at_a_device_reaches_stays_with_tvm_and_is_copied_back_for_a_toolchain() -> None:
    report = Report()
    made = CollagePartition(["onnxruntime"], costs="roofline", accuracy=1e-3, report=report)(hinted_module())
    assert [one.name for one in report.left["main"]] == ["begin", "product", "bent", "back"]
    assert {str(device.target.kind.name) for device in made.global_infos["vdevice"]} == {"cuda", "llvm"}
    assert "R.to_vdevice(bent" in made["main"].script()
    assert [str(one.attrs["Codegen"]) for one in made.functions.values() if "Codegen" in (one.attrs or {})] == ["onnxruntime"]


def test_the_branches_of_an_if_are_planned() -> None:
    from tests.collage_core.model.relax.test_branches import X, expected, nested

    report = Report()
    made = CollagePartition(["onnxruntime"], costs="roofline", accuracy=1e-3, functions=["main"], report=report, codegen=True)(nested())
    nodes = {name for region in report.regions for part in region.record.plan.partitions for name in part.names}
    assert {"inside", "bent", "grown", "last"} <= nodes
    made = relax.transform.RunCodegen()(made)
    for first, second in ((True, True), (True, False), (False, True)):
        assert np.allclose(run(made, X, np.array(first), np.array(second))[0], expected(first, second), atol=1e-5)


def test_a_module_that_is_not_well_formed_is_one_line() -> None:
    kind = relax.TensorType((2, 4), "float32")
    x, lost, out = (relax.Var(name, kind) for name in ("x", "lost", "out"))
    total = relax.BlockBuilder().normalize(relax.op.add(x, lost))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(out, total)])], out)
    function = relax.Function([x], body, kind).with_attr("global_symbol", "main")
    with pytest.raises(CollageError, match="the function 'main', binding 'out', is not well-formed: Var lost is not defined") as raised:
        CollagePartition(["onnxruntime"], costs="roofline")(tvm.IRModule({"main": function}))
    assert "\n" not in raised.value.message


def test_a_search_without_a_plan_is_one_line() -> None:
    """Although the error has a class of its own, and TVM carries only the classes that it knows."""
    vetoes = ({"kind": "veto", "op": "Softmax", "target": "onnxruntime"},)
    with pytest.raises(CollageError, match=r"veto of onnxruntime for out. cannot hold"):
        CollagePartition(["onnxruntime"], costs="roofline", constraints=vetoes)(picture_module())
