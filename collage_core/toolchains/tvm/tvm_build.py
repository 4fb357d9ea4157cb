"""Lowers sub-models to Relax modules, and compiles Relax modules to shared libraries whose ``main`` writes into given buffers.

`lowered` imports, simplifies, legalises, fuses and schedules a sub-model, and `unscheduled` does all but the last. `compile_library`
compiles one lowered module as a package, or the assembled module that several were joined into.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, te
from tvm.ir import IRModule
from tvm.target.codegen import llvm_get_system_cpu

from ...model.model import SubModel
from ..border import one_line
from ..toolchain import ToolchainError
from .tvm_fusion_guards import KeepProjections, KeepSymbolicKernels
from .tvm_halves import SumHalvesInFloat32
from .tvm_import import import_onnx, output_types
from .tvm_packing import PackWeights
from .tvm_replay import ScheduleTuned
from .tvm_schedule import scheduled

BUFFERS = "buffers"
"""Name of the function of a library that allocates the buffers for ``main``."""


def cpu_target(threads: int) -> tvm.target.Target:
    """Return this machine's processor as a target."""
    return tvm.target.Target({"kind": "llvm", "mcpu": llvm_get_system_cpu(), "num-cores": threads})


def lowered(model: SubModel, threads: int) -> IRModule:
    """Return `model` as a Relax function ``main`` that calls fused, scheduled PrimFuncs.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    return with_schedules(unscheduled(model, threads), model.tuning, threads)


def with_schedules(module: IRModule, tuning: bytes, threads: int) -> IRModule:
    """Return `module` with a schedule for each PrimFunc, by the records of `tuning` (`SubModel.tuning`).

    Raises:
        ToolchainError: at stage ``build``.
    """
    try:
        with cpu_target(threads):
            return tvm.transform.Sequential([ScheduleTuned(tuning)])(module)
    except ToolchainError:
        raise
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error


def unscheduled(model: SubModel, threads: int) -> IRModule:
    """Return `model` as a Relax function ``main`` that calls fused PrimFuncs as TVM makes them.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    module = import_onnx(model)
    try:
        with cpu_target(threads):
            return tvm.transform.Sequential(_fusing_passes())(module)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error


def kernel_passes(tuning: bytes = b"") -> list[Any]:
    """Return the passes that make fused PrimFuncs of a module's operators, scheduled as `tuning` says. They run under `cpu_target`.

    Raises:
        ToolchainError: at stage ``build``; a record of `tuning` is for another target, or damaged.
    """
    return [*_fusing_passes(), ScheduleTuned(tuning)]


def _fusing_passes() -> list[Any]:
    transform = relax.transform
    guarded = [KeepSymbolicKernels(), transform.FuseOps(), KeepProjections(), transform.FuseTIR()]
    return [*before_fusion(), *guarded, transform.DeadCodeElimination()]


def before_fusion() -> list[Any]:
    """Return the passes that take an imported module to calls of PrimFuncs whose kinds `FuseOps` can read."""
    transform = relax.transform
    return [
        SumHalvesInFloat32(),
        transform.DecomposeOpsForInference(),
        PackWeights(),
        transform.CanonicalizeBindings(),
        transform.DeadCodeElimination(),
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
    ]


@tvm.transform.module_pass(opt_level=0, name="CollageDestinationPassing")
class DestinationPassing:
    """Passes the outputs' buffers to ``main`` as further parameters; it then returns a tuple of the other outputs only.

    Outputs of open shape and objects of Python have no buffers.

    The input is the result of TVM's `CallTIRRewrite`: plain binding blocks, in which ``main`` allocates every tensor that a call
    fills. An output that ``main`` allocates is written in place; any other (an input, a constant, a view, a branch, an output
    returned twice) is copied at the end.
    """

    def __init__(self, copies_scheduled: bool = True):
        self.copies_scheduled = copies_scheduled

    def transform_module(self, mod: IRModule, _context: Any) -> IRModule:
        main, builder = mod["main"], relax.BlockBuilder(mod)
        bindings = [binding for block in main.body.blocks for binding in block.bindings]
        bound = {binding.var: binding.value for binding in bindings}
        allocated = {binding.var for binding in bindings if _is_call(binding, "relax.builtin.alloc_tensor")}
        kinds = dict(enumerate(output_types(main)))
        outputs = {index: relax.Var(f"out{index}", kind) for index, kind in kinds.items() if _is_static(getattr(kind, "shape", None))}
        returned = [index for index in kinds if index not in outputs]
        placed: dict[relax.Var, relax.Var] = {}
        copies = []
        for index, output in outputs.items():
            origin = _origin(main.body.body, index if isinstance(main.ret_ty, relax.TupleType) else None, bound)
            if origin in allocated and origin not in placed:
                placed[origin] = output
            else:
                copies.append(_copy(builder, origin, output, self.copies_scheduled))
        blocks = [relax.BindingBlock([_with_output(binding, placed) for binding in block.bindings]) for block in main.body.blocks]
        fields = [_field(main.body.body, index, bound) for index in returned]
        body = relax.SeqExpr([*blocks, relax.BindingBlock(copies)], relax.Tuple(fields))
        returns = relax.TupleType([kinds[index] for index in returned])
        function = relax.Function([*main.params, *outputs.values()], body, returns, False, main.attrs)
        builder.update_func(mod.get_global_var("main"), function)
        return builder.get()


def _origin(expr: Any, field: int | None, bound: dict[Any, Any]) -> Any:
    """Return the expression that `expr`, or its field `field`, is another name of."""
    while True:
        if isinstance(expr, relax.Tuple) and field is not None:
            expr, field = expr.fields[field], None
        elif isinstance(expr, relax.TupleGetItem) and field is None:
            expr, field = expr.tuple_value, expr.index
        elif isinstance(bound.get(expr), relax.Var | relax.Tuple | relax.TupleGetItem):
            expr = bound[expr]
        else:
            return expr if field is None else relax.TupleGetItem(expr, field)


def _field(expr: Any, index: int, bound: dict[Any, Any]) -> Any:
    """Return the field `index` of the tuple `expr`, or of the tuple that the variable `expr` is another name of."""
    while not isinstance(expr, relax.Tuple):
        expr = bound[expr]
    return expr.fields[index]


def _with_output(binding: Any, placed: dict[relax.Var, relax.Var]) -> Any:
    return relax.VarBinding(binding.var, placed[binding.var]) if binding.var in placed else binding


def _copy(builder: relax.BlockBuilder, source: Any, target: relax.Var, is_scheduled: bool) -> Any:
    """Return a call that copies `source` into `target`."""
    kind = target.ty
    read = te.placeholder([int(extent.value) for extent in kind.shape.values], kind.dtype, "source")
    function = te.create_prim_func([read, te.compute(read.shape, lambda *at: read[at], name="copy")]).without_attr("global_symbol")
    name = builder.add_func(scheduled(function) if is_scheduled else function, "copy")
    return relax.VarBinding(relax.Var("_", relax.TupleType([])), relax.Call(name, [source, target]))


@tvm.transform.module_pass(opt_level=0, name="CollageHoistBuffers")
class HoistBuffers:
    """Passes the intermediate buffers to ``main`` as further parameters, and adds the function `BUFFERS` that allocates them.

    So they are allocated once and not at every call, and the called functions get the same addresses each time. The input is the
    result of TVM's `StaticPlanBlockMemory` and `LowerAllocTensor`.
    """

    def transform_module(self, mod: IRModule, _context: Any) -> IRModule:
        main, builder = mod["main"], relax.BlockBuilder(mod)
        bindings = [binding for block in main.body.blocks for binding in block.bindings]
        tensors = [binding for binding in bindings if _is_call(binding, "relax.memory.alloc_tensor")]
        fixed = {
            binding.var for binding in bindings if _is_call(binding, "relax.memory.alloc_storage") and _is_static(binding.value.args[0])
        }
        fixed -= {binding.value.args[0] for binding in tensors if not _is_static(binding.value.args[2])}
        tensors = [binding for binding in tensors if binding.value.args[0] in fixed]
        hoisted = fixed | {binding.var for binding in tensors}
        blocks = [relax.BindingBlock([b for b in block.bindings if b.var not in hoisted]) for block in main.body.blocks]
        parameters = [*main.params, *(binding.var for binding in tensors)]
        function = relax.Function(parameters, relax.SeqExpr(blocks, main.body.body), main.ret_ty, False, main.attrs)
        builder.update_func(mod.get_global_var("main"), function)
        builder.add_func(_allocating([b for b in bindings if b.var in hoisted], [b.var for b in tensors]), BUFFERS)
        return builder.get()


def _allocating(bindings: list[Any], tensors: list[relax.Var]) -> relax.Function:
    body = relax.SeqExpr([relax.BindingBlock(bindings)], relax.Tuple(tensors))
    kind = relax.TupleType([tensor.ty for tensor in tensors])
    attributes = tvm.ir.make_node("ir.DictAttrs", **{"global_symbol": BUFFERS, "relax.force_pure": True})
    return relax.utils.copy_with_new_vars(relax.Function([], body, kind, False, attributes))


def _is_call(binding: Any, name: str) -> bool:
    return isinstance(binding.value, relax.Call) and getattr(binding.value.op, "name", "") == name


def _is_static(shape: Any) -> bool:
    return isinstance(shape, relax.ShapeExpr) and all(isinstance(extent, tvm.tirx.IntImm) for extent in shape.values)


def compile_library(module: IRModule, target: int | tvm.target.Target, schedules: tvm.transform.Pass | None = None) -> bytes:
    """Return `module`, which `lowered` made or several such modules were joined into, as a shared library that `tvm.entry` loads.

    Args:
        target: That of its kernels; a number for this machine's processor with so many threads.
        schedules: Schedules the kernels that have none yet, copies of outputs among them; on the processor they have theirs.

    Raises:
        ToolchainError: at stage ``build``.
    """
    transform = relax.transform
    pipeline = tvm.transform.Sequential(
        [
            transform.InlinePrivateFunctions(),
            transform.RewriteDataflowReshape(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            DestinationPassing(copies_scheduled=schedules is None),
            *([] if schedules is None else [schedules]),
            transform.StaticPlanBlockMemory(),
            transform.LowerAllocTensor(),
            HoistBuffers(),
            transform.KillAfterLastUse(),
            transform.LowerRuntimeBuiltin(),
            transform.ComputePrimValue(),
            transform.VMShapeLower(),
            transform.AttachGlobalSymbol(),
        ]
    )
    try:
        if isinstance(target, int):
            executable = tvm.compile(module, cpu_target(target), relax_pipeline=pipeline)
        else:
            with target:  # the schedules ask for it
                executable = tvm.compile(module, target, relax_pipeline=pipeline)
        with tempfile.TemporaryDirectory(prefix="collage-tvm-") as folder:
            path = Path(folder) / "module.so"
            executable.export_library(str(path), workspace_dir=folder)
            return path.read_bytes()
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error
