"""Calls of libraries in kernels of TVM's: a Relax function becomes a call of a PrimFunc, which calls a function in C.

The C source goes with the module as one of its runtime modules, so the compiler that TVM links with compiles it into the library, and no
Python is needed to run that. The function gets a text that says what is computed, then the addresses of the operands and of the result,
and returns 0 or the number of a failure. It holds no weights.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, te, tirx
from tvm.ir import StringImm
from tvm.runtime import _ffi_api
from tvm.support import cc

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ...model.relax.flat_model import flat_model
from ..relax_attributes import EXTERNAL, THREADS
from ..toolchain import ToolchainError
from ..tvm.tvm_schedule import finished
from .native_call import NativeCall

_SHARED = Path(__file__).with_name("library_calls.h")

Native = Callable[[SubModel, int], tuple[str, NativeCall | None]]
"""A sub-model and its threads → the label of the library function that computes it, and its native call; None where it has none."""


def with_native_call(module: tvm.IRModule, target: str, native_of: Native) -> tvm.IRModule:
    """Return `module`, whose ``main`` is flat, with a ``main`` that calls one PrimFunc; as it is where that cannot be.

    What the toolchain `target` cannot take at all it says where its package is built.
    """
    main = module["main"]
    threads = int((main.attrs or {}).get(THREADS, 1))
    try:
        model, order = flat_model("main", main)
        label, native = native_of(model, threads)
    except (CollageError, ToolchainError):
        return module
    if native is None or not _has_compiler():
        return module
    parameters = [relax.Var(var.name, var.ty) for var in main.params]
    known = {tensor.name: parameters[index] for tensor, index in zip(model.inputs, order, strict=True)}
    return _module_of(f"{target}_{label}", native, parameters, known, main.ret_ty)


def native_module(model: SubModel, threads: int, target: str, native_of: Native) -> tvm.IRModule | None:
    """Return `model` as a module whose ``main`` takes its inputs and calls one PrimFunc; None without a native call, or a compiler.

    Raises:
        ToolchainError: the toolchain `target` cannot take `model`.
    """
    label, native = native_of(model, threads) if _has_compiler() else ("", None)
    if native is None:
        return None
    parameters = [relax.Var(f"x{at}", _type_of(tensor)) for at, tensor in enumerate(model.inputs)]
    known = {tensor.name: parameter for tensor, parameter in zip(model.inputs, parameters, strict=True)}
    return _module_of(f"{target}_{label}", native, parameters, known, _type_of(model.outputs[0]))


def linked(module: tvm.IRModule, runtime: Sequence[Any]) -> tvm.IRModule:
    """Return `module` with runtime modules to be linked with it; a C source that several functions call is linked once."""
    if not runtime:
        return module
    before = list((module.attrs or {}).get(EXTERNAL, []))
    known = {str(one.inspect_source()) for one in before if one.kind == "c"}
    for one in runtime:
        source = str(one.inspect_source()) if one.kind == "c" else ""
        if source not in known:
            before.append(one)
            known |= {source} - {""}
    return module.with_attr(EXTERNAL, before)


def _has_compiler() -> bool:
    return bool(shutil.which(cc.get_cc() or ""))


def _type_of(tensor: Tensor) -> relax.TensorType:
    return relax.TensorType(tensor.type.shape, tensor.type.dtype)


def _module_of(
    label: str, native: NativeCall, parameters: Sequence[relax.Var], known: Mapping[str, relax.Var], result: Any
) -> tvm.IRModule:
    """Return a module whose ``main`` makes the call `native`, with its C source; the arguments are those of `add_native_function`."""
    builder = relax.BlockBuilder()
    source = add_native_function(builder, "main", label, native, parameters, known, result)
    return builder.get().with_attr(EXTERNAL, [source])


def add_native_function(
    builder: relax.BlockBuilder,
    name: str,
    label: str,
    native: NativeCall,
    parameters: Sequence[relax.Var],
    known: Mapping[str, relax.Var],
    result: Any,
) -> Any:
    """Add a function that makes the call `native` to a module, and return the runtime module that has the C source.

    Args:
        builder: Has the module.
        name: The name of the function.
        label: What the name of its PrimFunc begins with; equal calls have one PrimFunc.
        parameters: Of the function.
        known: Name of each operand that is no constant → its parameter.
        result: The type of the result.
    """
    symbol, source = source_of(native)
    operands = [known[one] if isinstance(one, str) else relax.const(one, one.dtype.name) for one in native.operands]
    kernel = finished(_prim_func(symbol, native, [one.ty for one in operands], result))
    digest = hashlib.sha256(f"{symbol} {native.text} {[str(one.ty) for one in operands]}".encode()).hexdigest()[:16]
    var = builder.add_func(kernel, f"{label}_{digest}")
    with builder.function(name, list(parameters)):
        with builder.dataflow():
            made = builder.emit_output(relax.call_tir(var, operands, out_ty=result))
        builder.emit_func_output(made)
    return _ffi_api.CSourceModuleCreate(source, "c", [symbol], [])


def _prim_func(symbol: str, native: NativeCall, operands: Sequence[Any], result: Any) -> Any:
    """Return a PrimFunc of `operands` whose body is the call of `symbol`; a tensor that is read twice is one parameter for each."""
    given = [te.placeholder(_extents(kind), str(kind.dtype), f"x{at}") for at, kind in enumerate(operands)]

    def body(reads: Sequence[Any], made: Sequence[Any]) -> Any:
        addresses = [*(one.access_ptr("r") for one in reads), made[0].access_ptr("w")]
        status = tirx.Var("status", "int32")
        call = tirx.Bind(status, tirx.call_extern("int32", symbol, native.text, *addresses))
        checks = [_check(status != number, said) for number, said in enumerate(native.failures, 1)]
        return tirx.SeqStmt([call, *checks, _check(status == 0, f"{symbol} fails")])

    made = te.extern(_extents(result), given, body, name="made", dtype=str(result.dtype))
    return te.create_prim_func([*given, made]).without_attr("global_symbol")


def _check(holds: Any, otherwise: str) -> Any:
    return tirx.AssertStmt(holds, StringImm("RuntimeError"), [StringImm(otherwise)])  # in the order that 0.27's C++ takes


def _extents(kind: Any) -> list[int]:
    return [int(extent.value) for extent in kind.shape.values]


@cache
def _text(path: Path) -> str:
    return path.read_text()


def source_of(call: NativeCall) -> tuple[str, str]:
    """Return the symbol of a call's function, which no other source has, and the source."""
    text = _text(_SHARED) + _text(call.source)
    for word, value in call.words:
        text = text.replace(f"@{word}@", value.replace("\\", "\\\\").replace('"', '\\"'))
    symbol = f"collage_{call.source.stem}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return symbol, text.replace("@SYMBOL@", symbol)
