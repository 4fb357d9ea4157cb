"""Kernels of TVM's that call a library are right without Python, hold no weights, and say in one line what is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.model.model import SubModel  # noqa: E402
from collage_core.toolchains.conformance.small_models import drawn, reference  # noqa: E402
from collage_core.toolchains.libraries import tvm_library_calls  # noqa: E402
from collage_core.toolchains.libraries.library_functions import LibraryToolchain, call_of  # noqa: E402
from collage_core.toolchains.libraries.tvm_library_calls import EXTERNAL, add_native_function  # noqa: E402
from collage_core.toolchains.registry import get  # noqa: E402
from tests.collage_core.toolchains.libraries import test_blas, test_onednn  # noqa: E402

CASES: dict[str, tuple[str, Callable[[], SubModel], int]] = {
    **{f"blas: {name}": ("blas", model, 1) for name, model in test_blas.RIGHT.items()},
    **{f"onednn: {name}": ("onednn", model, 1) for name, model in test_onednn.RIGHT.items()},
    "onednn: two threads": ("onednn", test_onednn.RIGHT["a sum, and what is at least 0"], 2),
}
MOVED = "onednn: weights in a layout of another processor"
CASES[MOVED] = "onednn", test_onednn.RIGHT["a window of 3×3"], 1
USABLE = [name for name, (tool, _, _) in CASES.items() if get(tool).availability().usable]
pytestmark = pytest.mark.skipif(not USABLE, reason="neither library is here")


def kind_of(tensor: Any) -> Any:
    return relax.TensorType(tensor.type.shape, tensor.type.dtype)


def module_of(cases: list[str]) -> Any:
    """A module with a function for each case, called ``case0`` and so on."""
    builder, sources = relax.BlockBuilder(), {}
    for at, name in enumerate(cases):
        tool_name, make, threads = CASES[name]
        tool, model = get(tool_name), make()
        assert isinstance(tool, LibraryToolchain)
        function, call = call_of(tool.functions, model.onnx, model.inputs, model.outputs, threads)
        native = tool.native_call(call)
        assert native is not None
        if name == MOVED:
            native = replace(native, text=native.text.rpartition(" ")[0] + " 7")
        known = {tensor.name: relax.Var(tensor.name, kind_of(tensor)) for tensor in model.inputs}
        parameters, result = list(known.values()), kind_of(model.outputs[0])
        source = add_native_function(builder, f"case{at}", function.label, native, parameters, known, result)
        sources[source.inspect_source()] = source
    return builder.get().with_attr(EXTERNAL, list(sources.values()))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "module.so"
    tvm.compile(module_of(USABLE), tvm.target.Target({"kind": "llvm"})).export_library(str(path))
    return path


@pytest.fixture(scope="module")
def machine(library: Path) -> Any:
    return relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())


@pytest.mark.parametrize("name", [name for name in USABLE if name != MOVED])
def test_a_kernel_of_tvm_calls_the_library_right(machine: Any, name: str) -> None:
    """Also at a second call, with tensors elsewhere."""
    model = CASES[name][1]()
    inputs = drawn(model.inputs)
    for _ in range(2):
        made = machine[f"case{USABLE.index(name)}"](*[tvm.runtime.tensor(array) for array in inputs]).numpy()
        want = reference(model, inputs)[0]
        np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max()))
        inputs = [np.asarray(array * np.float32(0.5)) for array in inputs]


@pytest.mark.skipif(MOVED not in USABLE, reason="oneDNN is not here")
def test_weights_that_were_packed_otherwise_are_refused(machine: Any) -> None:
    given = [tvm.runtime.tensor(array) for array in drawn(CASES[MOVED][1]().inputs)]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the weights were packed for another processor or version of oneDNN"):
            machine[f"case{USABLE.index(MOVED)}"](*given)


def test_each_thread_calls_the_library_by_itself(library: Path) -> None:
    """At once, since a call leaves Python."""
    name = USABLE[-2] if USABLE[-1] == MOVED else USABLE[-1]
    model = CASES[name][1]()
    inputs = drawn(model.inputs)
    want = reference(model, inputs)[0]

    def called(_thread: int) -> bool:
        own = relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
        given = [tvm.runtime.tensor(array) for array in inputs]
        made = [own[f"case{USABLE.index(name)}"](*given).numpy() for _ in range(20)]
        return all(np.allclose(one, want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max())) for one in made)

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(called, range(3)))


MISSING = """
import sys, numpy as np, tvm
from tvm import relax
machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
assert not any(name.startswith("collage_core") for name in sys.modules)
shapes = [tuple(int(extent) for extent in shape.split(",")) for shape in sys.argv[3:]]
try:
    machine[sys.argv[2]](*[tvm.runtime.tensor(np.ones(shape, "float32")) for shape in shapes])
except RuntimeError as error:
    print(error)
"""


def ran(library: Path, name: str, environment: dict[str, str]) -> str:
    model = CASES[name][1]()
    shapes = [",".join(map(str, tensor.type.shape)) for tensor in model.inputs]
    command = [sys.executable, "-c", MISSING, str(library), f"case{USABLE.index(name)}", *shapes]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    assert ("/nowhere.so: cannot open shared object file" in done.stderr) == bool(environment)
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "variable", "said"),
    [
        ("onednn: a sum", "COLLAGE_ONEDNN", "oneDNN cannot be loaded: set COLLAGE_ONEDNN to its file"),
        ("blas: a bias", "COLLAGE_OPENBLAS", "OpenBLAS cannot be loaded: set COLLAGE_OPENBLAS to its file"),
    ],
)
def test_an_exported_library_runs_without_us_and_says_what_it_misses(library: Path, case: str, variable: str, said: str) -> None:
    if case not in USABLE:
        pytest.skip("the library is not here")
    assert ran(library, case, {}) == ""
    assert said in ran(library, case, {variable: "/nowhere.so"})


def test_equal_calls_share_a_kernel_and_keep_their_weights() -> None:
    def doubled(weights: np.ndarray) -> Any:
        x, builder = relax.Var("x", relax.TensorType((4, 8), "float32")), relax.BlockBuilder()
        with builder.function("main", [x]):
            with builder.dataflow():
                made = builder.emit_output(relax.op.matmul(x, relax.const(weights)))
            builder.emit_func_output(made)
        return tool.prepare(builder.get())

    tool = get("onednn" if get("onednn").availability().usable else "blas")
    made = [doubled(np.random.default_rng(seed).standard_normal((8, 5)).astype("float32")) for seed in range(2)]
    kernels = [{str(var.name_hint) for var in module.get_global_vars()} - {"main"} for module in made]
    assert kernels[0] == kernels[1]
    assert len(kernels[0]) == 1
    texts = [module["main"].script(show_meta=True) for module in made]
    assert texts[0] != texts[1], "the weights are arguments of the call"


def test_without_a_compiler_the_function_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm_library_calls.cc, "get_cc", lambda: None)
    x, builder = relax.Var("x", relax.TensorType((4, 8), "float32")), relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit_output(relax.op.matmul(x, relax.const(np.ones((8, 5), "float32"))))
        builder.emit_func_output(made)
    module = builder.get()
    assert get(USABLE[0].partition(":")[0]).prepare(module).same_as(module)
