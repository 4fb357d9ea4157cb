"""Relax functions around regions: which function is meant, its symbols fixed, a region as a function of its own.

TVM modules enter and leave; none is changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from onnx import ModelProto, TensorProto, helper
from tvm import relax

from ...errors import CollageError
from ..types.dtypes import elem_type
from .operators.call_writer import plain
from .regions import Region, is_on_processor
from .replacing import Replaced


def function_of(module: tvm.IRModule, name: str | None) -> str:
    """Return the name of the function that is meant: the given one, ``main``, or the only one.

    Raises:
        CollageError: there is none of that name, or several and none is called ``main``.
    """
    functions = {str(var.name_hint): function for var, function in module.functions_items() if isinstance(function, relax.Function)}
    if name in functions:
        return name
    names = [name for name, function in functions.items() if "global_symbol" in (function.attrs or {})] or list(functions)
    if name is not None:
        raise CollageError(f"the module has no Relax function {name!r}", f"it has {', '.join(names) or 'none'}", "not_relax")
    if "main" in names or len(names) == 1:
        return "main" if "main" in names else names[0]
    found = f"has the Relax functions {', '.join(names)}, and none is called 'main'" if names else "has no Relax function"
    raise CollageError(f"the module {found}", "keep one of them, or call it main", "not_relax")


def stub(function: relax.Function) -> ModelProto:
    """Return the parameters of `function` as the inputs of an ONNX model without nodes, symbols among their sizes.

    Raises:
        CollageError: a parameter is no tensor, or its number of dimensions is not known.
    """
    inputs = []
    for var in function.params:
        shape = getattr(var.ty, "shape", None)
        if not isinstance(var.ty, relax.TensorType) or not isinstance(shape, relax.ShapeExpr):
            hint = "only functions whose parameters are tensors of known rank can be partitioned"
            raise CollageError(f"the parameter {var.name!r} is {str(var.ty)[:60]}", hint, "unsupported")
        sizes = [int(size.value) if isinstance(size, tvm.tirx.IntImm) else str(size) for size in shape.values]
        inputs.append(helper.make_tensor_value_info(var.name, _elem_type(str(var.ty.dtype)), sizes))
    return helper.make_model(helper.make_graph([], "stub", inputs, []))


def check_shape(var: relax.Var, shape: Sequence[int]) -> None:
    """Raise CollageError unless `shape` fits the parameter `var`."""
    declared = getattr(var.ty, "shape", None)
    fixed = [plain(size) for size in declared.values] if isinstance(declared, relax.ShapeExpr) else None
    fits = fixed is not None and len(fixed) == len(shape) and all(size > 0 for size in shape)
    if not fits or any(isinstance(size, int) and size != given for size, given in zip(fixed or (), shape, strict=True)):
        sizes = ",".join(map(str, shape))
        raise CollageError(f"the shape {sizes!r} does not fit the parameter {var.name!r}, which is {var.ty}", "give another one", "shape")


def _elem_type(dtype: str) -> int:
    try:
        return elem_type(dtype)
    except KeyError:
        return int(TensorProto.FLOAT)


def prepared(module: tvm.IRModule, name: str, sizes: Mapping[str, Sequence[int]]) -> tvm.IRModule:
    """Return `module` with the symbols of the function `name` fixed by the shapes of its parameters, and its bindings in simple form.

    Raises:
        CollageError: the module is not well-formed.
    """
    try:
        relax.analysis.well_formed(module)
        module = fixed_alike(module, name, sizes)
        passes = [relax.transform.ConvertToDataflow(min_size=1), relax.transform.CanonicalizeBindings()]
        prepared_module = tvm.transform.Sequential(passes)(module)
        # The passes would take variables of a function that is planned already for dead, though a later block of it reads them.
        builder = relax.BlockBuilder(module)
        builder.update_func(module.get_global_var(name), prepared_module[name])
        return _with_plain_bindings(builder.get(), name)
    except Exception as error:  # any exception of TVM is its reason
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise CollageError(f"{_culprit(module, name)} is not well-formed: {reason[:300]}", "mend the module", "not_relax") from error


def fixed_alike(module: tvm.IRModule, name: str, sizes: Mapping[str, Sequence[int]]) -> tvm.IRModule:
    """Return `module` with the symbols of the function `name` fixed; of one that `prepared` has made, each binding is in its place."""
    values = symbol_sizes(module[name], [sizes.get(var.name, ()) for var in module[name].params])
    return relax.transform.BindSymbolicVars(values, name)(module) if values else module


def _culprit(module: tvm.IRModule, name: str) -> str:
    """Return which function, and which of its bindings, makes a module not well-formed; the function `name` where that is not plain."""
    functions = [(str(var.name_hint), one) for var, one in module.functions_items() if isinstance(one, relax.Function)]
    for function, one in sorted(functions, key=lambda item: item[0] != name):
        binding = _unsound_binding(one)
        if binding:
            return f"the function {function!r}, binding {binding!r},"
    return f"the function {name!r}"


def _unsound_binding(function: relax.Function) -> str:
    """Return the first binding that reads what nothing before it binds, or binds a variable again; empty where there is none."""
    known = set(function.params)
    for binding in (binding for block in getattr(function.body, "blocks", ()) for binding in block.bindings):
        if binding.var in known or not known.issuperset(relax.analysis.free_vars(binding.value)):
            return str(binding.var.name)
        known.add(binding.var)
    return ""


def _with_plain_bindings(module: tvm.IRModule, name: str) -> tvm.IRModule:
    """Return `module` with shapes of the function `name` where it reads them, in the place of variables that hold them.

    Hints that a value is the processor's are left out too, and a call inside a `match_cast` gets a binding of its own.
    """
    function = module[name]
    known: dict[Any, Any] = {}
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    for binding in bindings:
        plainer = _plain_shape(binding) or _hinted(binding)
        if plainer is not None:
            known[binding.var] = known.get(plainer, plainer)
    if not known and not any(isinstance(one, relax.MatchCast) and isinstance(one.value, relax.Call) for one in bindings):
        return module
    replaced = Replaced(known)
    blocks = []
    for block in function.body.blocks:
        kept = [binding for binding in block.bindings if binding.var not in known]
        values = [replaced.visit_expr(binding.value) for binding in kept]
        blocks.append(type(block)([simple for pair in zip(kept, values, strict=True) for simple in _with_value(*pair)]))
    body = relax.SeqExpr(blocks, replaced.visit_expr(function.body.body))
    builder = relax.BlockBuilder(module)
    made = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    builder.update_func(module.get_global_var(name), made)
    return builder.get()


def _plain_shape(binding: Any) -> relax.ShapeExpr | None:
    """Return the shape that a binding of a dataflow block holds; None where it holds anything else."""
    value = binding.value
    if not isinstance(binding.var, relax.DataflowVar) or not isinstance(binding.var.ty, relax.ShapeType):
        return None
    if isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.shape_of":
        value = getattr(value.args[0].ty, "shape", None)
    return value if isinstance(value, relax.ShapeExpr) else None


def _hinted(binding: Any) -> Any:
    """Return what a binding of a dataflow block says to be on the processor; None where it says anything else."""
    value = binding.value
    if not isinstance(binding.var, relax.DataflowVar) or not isinstance(value, relax.Call):
        return None
    is_hint = getattr(value.op, "name", "") == "relax.hint_on_device"
    return value.args[0] if is_hint and int(value.attrs.device_type) == tvm.cpu().dlpack_device_type() else None


def bound_to_processor(function: relax.Function) -> frozenset[str]:
    """Return the names of the variables that the user binds to the processor, by `hint_on_device` or a `VDevice` in their types."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    hinted = [_hinted(binding) for binding in bindings]
    placed = [
        binding.var for binding in bindings if getattr(binding.var.ty, "vdevice", None) is not None and is_on_processor(binding.var.ty)
    ]
    return frozenset(var.name for var in (*hinted, *placed) if isinstance(var, relax.Var))


def _with_value(binding: Any, value: Any) -> list[Any]:
    """Return `binding` with another value: two bindings for a cast of a call."""
    if not isinstance(binding, relax.MatchCast):
        return [relax.VarBinding(binding.var, value)]
    if not isinstance(value, relax.Call):
        return [relax.MatchCast(binding.var, value, binding.ty)]
    var = type(binding.var)(binding.var.name, value.ty)
    return [relax.VarBinding(var, value), relax.MatchCast(binding.var, var, binding.ty)]


def symbol_sizes(function: relax.Function, shapes: Sequence[Sequence[int]]) -> dict[Any, int]:
    """Return symbol → size for parameters of these shapes; empty shapes are skipped. Other symbols stay as they are."""
    pairs = (pair for var, shape in zip(function.params, shapes, strict=True) for pair in zip(var.ty.shape.values, shape, strict=False))
    return {extent: int(size) for extent, size in pairs if isinstance(extent, tvm.tirx.Var)}


def region_function(region: Region) -> relax.Function:
    """Return the region as a function: its inputs are the parameters, a tuple of its outputs is the result."""
    builder = relax.BlockBuilder()
    parameters = [relax.Var(name, var.ty) for name, var in region.inputs.items()]
    known = dict(zip(region.inputs.values(), parameters, strict=True))
    replaced = Replaced(known)
    with builder.function("main", parameters):
        with builder.dataflow():
            for binding in region.bindings.values():
                value = replaced.visit_expr(binding.value)
                if isinstance(binding, relax.MatchCast):
                    known[binding.var] = builder.match_cast(value, binding.ty)
                else:
                    known[binding.var] = builder.emit(value, binding.var.name)
            result = builder.emit_output(relax.Tuple([part for var in region.outputs for part in _leaves(known[var], builder)]))
        builder.emit_func_output(result)
    return builder.get()["main"]


def region_module(region: Region) -> tvm.IRModule:
    """Return a module whose ``main`` is `region_function`."""
    return tvm.IRModule({"main": region_function(region)})


def _leaves(expr: Any, builder: relax.BlockBuilder) -> list[Any]:
    if not isinstance(expr.ty, relax.TupleType):
        return [expr]
    return [leaf for at in range(len(expr.ty.fields)) for leaf in _leaves(builder.emit(relax.TupleGetItem(expr, at)), builder)]
