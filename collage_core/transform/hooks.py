"""`RunHooks` and `RunTirHooks`: the passes in which toolchains lower their own functions of a module, by the hooks of RFC 10.

The order is fixed. Before legalisation, for each function with a hint (``Codegen``, or ``Composite`` alone): `prepare` on that function
only, the constants out of it, `constant_updater`, then `relax_to_tir`, or else `relax_to_runtime`, unless `prepare` has left nothing but
calls of PrimFuncs. After legalisation, for the PrimFuncs that a toolchain marked with ``Codegen``, or whose target has its name among the
keys: `tir_to_runtime`. A hint that is left behind, or a hook that returns nothing, is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm_ffi import structural_equal

from ..base.processor import usable_cores
from ..errors import CollageError
from ..model.relax.lifting import lifted
from ..model.relax.replacing import Replaced
from ..toolchains import registry
from ..toolchains.abilities import BuildsTir, LowersToRuntime, LowersToTir, PreparesRelax, UpdatesConstants
from ..toolchains.libraries.tvm_library_calls import linked
from ..toolchains.relax_attributes import EXTERNAL, THREADS, TUNING
from ..toolchains.toolchain import Toolchain, ToolchainError
from ..toolchains.tvm.tvm_schedule import finished
from .building import refused
from .codegens import runtime_of
from .encodings import CODEGEN, COMPOSITE, kernel_function, threads_of
from .pass_errors import carried
from .region_rewriter import names_of
from .symbols import planned_as


@tvm.transform.module_pass(opt_level=0, name="CollageRunHooks")
class RunHooks:
    """Lowers every function that has the hint of one of our toolchains. Comes before legalisation."""

    @carried
    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        hinted = [(var, function, target) for var, function in mod.functions_items() if (target := target_of(function))]
        builder = relax.BlockBuilder(mod)
        runtime: list[Any] = []
        helpers = _Helpers(builder, names_of(mod))
        for var, function, target in sorted(hinted, key=lambda one: str(one[0].name_hint)):
            made = _Lowering(str(var.name_hint), target, function, str((mod.attrs or {}).get(TUNING, "")))
            try:
                builder.update_func(var, made.lowered(builder, helpers, runtime))
            except ToolchainError as error:
                raise refused(target, made.name, kernel_function(target, function), str(error)) from error
        return linked(builder.get(), runtime)


@tvm.transform.module_pass(opt_level=0, name="CollageRunTirHooks")
class RunTirHooks:
    """Hands the PrimFuncs that wait for a toolchain (`builder_of`) to its `tir_to_runtime`. Comes after legalisation."""

    @carried
    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        marked = [(var, function) for var, function in mod.functions_items() if builder_of(function)]
        by_target: dict[str, dict[Any, Any]] = {}
        for var, function in marked:
            by_target.setdefault(builder_of(function), {})[var] = function
        runtime = []
        for target, functions in by_target.items():
            tool = _tool(target, next(iter(functions)).name_hint)
            module = tvm.IRModule({name: one.without_attr(CODEGEN) for name, one in functions.items()})
            made = tool.tir_to_runtime(module) if isinstance(tool, BuildsTir) else None
            if made is None:
                raise _nothing(target, "tir_to_runtime", [str(name.name_hint) for name in functions])
            runtime.append(made)
        return linked(_called_outside(mod, {var for var, _ in marked}), runtime)


def target_of(function: Any) -> str:
    """Return the toolchain whose hint a Relax function has; empty where it has none of ours."""
    if not isinstance(function, relax.Function):
        return ""
    attributes = function.attrs or {}
    hint, composite = str(attributes.get(CODEGEN, "")), str(attributes.get(COMPOSITE, ""))
    targets = [name for name in registry.names() if name == hint or (not hint and composite.startswith(f"{name}."))]
    return max(targets, key=len, default="")


def builder_of(function: Any) -> str:
    """Return the toolchain that builds a PrimFunc: by its mark, or by the keys of its target; empty for any other function."""
    if not isinstance(function, tvm.tirx.PrimFunc):
        return ""
    attributes = function.attrs or {}
    if CODEGEN in attributes:
        return str(attributes[CODEGEN])
    target, known = attributes.get("target"), registry.names()
    keys = map(str, target.keys) if isinstance(target, tvm.target.Target) else ()
    return next((key for key in keys if key in known and isinstance(registry.get(key), BuildsTir)), "")


def _tool(target: str, function: str) -> Toolchain:
    if target not in registry.names():
        raise CollageError(f"the function {function!r} is for {target!r}, which is no toolchain here", "install it", "unavailable_target")
    return registry.get(target)


def _nothing(target: str, hook: str, functions: Sequence[str]) -> CollageError:
    return CollageError(f"{target}: its hook {hook} returns nothing for {', '.join(functions)}", "mend the toolchain", "bad_hook")


class _Helpers:
    """The functions that preparations add to a module, each under a name of its own.

    Args:
        builder: Has the module.
        taken: Names in the module.
    """

    def __init__(self, builder: relax.BlockBuilder, taken: Collection[str]):
        self._builder, self._taken = builder, taken
        self._added: dict[str, tuple[str, Any, Any]] = {}

    def add(self, target: str, name: str, function: Any) -> Any:
        """Return the variable of `function` in the module, to which it is added unless `target` has added an equal one before."""
        owner, var, known = self._added.get(name, ("the module itself" if name in self._taken else "", None, None))
        if owner == target and structural_equal(known, function):
            return var
        if owner:
            reason = f"the preparations of {target} and {owner} collide: both have a function {name!r}"
            raise CollageError(reason, "leave one of them out", "bad_hook")
        added = self._builder.add_func(function, name)
        self._added[name] = target, added, function
        return added


class _Lowering:
    """Lowers one function; `tuning` has the schedules of kernels of the module that were tuned."""

    def __init__(self, name: str, target: str, function: relax.Function, tuning: str):
        self.name, self.target, self.tool, self._function = name, target, _tool(target, name), function
        self._tuning = tuning
        self._symbol = f"{name}_kernel"

    def lowered(self, builder: relax.BlockBuilder, helpers: _Helpers, runtime: list[Any]) -> relax.Function:
        """Return the function whose body is a call of what the toolchain made; its runtime modules go into `runtime`."""
        prepared = self._prepared(helpers, runtime)
        inner, constants = lifted(prepared)
        arrays = self._updated(constants)
        given = [relax.const(array, array.dtype.name) for array in arrays]
        if _is_lowered(inner):
            return self._with_constants(inner, given)
        module = self.tool.relax_to_tir(inner) if isinstance(self.tool, LowersToTir) else None
        if module is not None:
            return self._calls_tir(builder, module, inner, given)
        made = self.tool.relax_to_runtime(self._symbol, inner) if isinstance(self.tool, LowersToRuntime) else None
        if made is None:
            prepared = planned_as(self._function, prepared)
            runtime.append(runtime_of(self.target, self.name, self._symbol, prepared, threads_of(self._function, usable_cores())))
            return self._calls_symbol(inner, [])
        runtime.append(made)
        return self._calls_symbol(inner, given)

    def _updated(self, constants: Sequence[Any]) -> Sequence[Any]:
        """Return the constants as the kernel wants them."""
        if not isinstance(self.tool, UpdatesConstants):
            return constants
        arrays = [self.tool.constant_updater(f"{self.name}.{at}", array) for at, array in enumerate(constants)]
        if any(array is None for array in arrays):
            raise _nothing(self.target, "constant_updater", [self.name])
        return arrays

    def _prepared(self, helpers: _Helpers, runtime: list[Any]) -> relax.Function:
        """Run `prepare` on this function alone. What it adds to the module must have a name of its own."""
        known = {THREADS: threads_of(self._function, usable_cores()), **({TUNING: self._tuning} if self._tuning else {})}
        flat = kernel_function(self.target, self._function).with_attr(known)
        module = tvm.IRModule({"main": flat})
        if isinstance(self.tool, PreparesRelax):
            module = self.tool.prepare(module)
        if module is None or "main" not in names_of(module):
            raise _nothing(self.target, "prepare", [self.name])
        runtime.extend((module.attrs or {}).get(EXTERNAL, []))  # with += an array of TVM's would take the list's place
        main = module["main"].without_attr(THREADS).without_attr(TUNING)
        if target_of(main):
            raise CollageError(f"{self.target}: its hook prepare leaves its attribute on {self.name}", "mend the toolchain", "bad_hook")
        added = {var: function for var, function in module.functions_items() if str(var.name_hint) != "main"}
        return Replaced({var: helpers.add(self.target, str(var.name_hint), one) for var, one in added.items()}).visit_expr(main)

    def _calls_tir(self, builder: relax.BlockBuilder, module: tvm.IRModule, inner: relax.Function, given: list[Any]) -> relax.Function:
        if "main" not in names_of(module) or not isinstance(module["main"], tvm.tirx.PrimFunc):
            raise _nothing(self.target, "relax_to_tir", [self.name])
        kernel = module["main"].without_attr("global_symbol")
        if "op_pattern" not in (kernel.attrs or {}):  # a kernel of a toolchain is what it was costed as
            kernel = finished(kernel)
        var = builder.add_func(kernel, f"{self.name}_tir")
        return self._body(inner, given, lambda arguments: relax.call_tir(var, arguments, out_ty=_outputs(inner)))

    def _calls_symbol(self, inner: relax.Function, given: list[Any]) -> relax.Function:
        return self._body(
            inner, given, lambda arguments: relax.call_dps_packed(self._symbol, relax.Tuple(arguments), out_ty=_outputs(inner))
        )

    def _with_constants(self, inner: relax.Function, given: list[Any]) -> relax.Function:
        """Return `inner` with the constants `given` in the place of the parameters behind its own."""
        count = len(self._function.params)
        body = Replaced(dict(zip(inner.params[count:], given, strict=True))).visit_expr(inner.body)
        return relax.Function(inner.params[:count], body, inner.ret_ty)

    def _body(self, inner: relax.Function, given: list[Any], call: Any) -> relax.Function:
        count = len(self._function.params)
        parameters = [relax.Var(var.name, var.ty) for var in inner.params[:count]]
        builder = relax.BlockBuilder()
        with builder.function("main", parameters):
            with builder.dataflow():
                result = builder.emit_output(call([*parameters, *given]))
            builder.emit_func_output(result)
        return builder.get()["main"].without_attr("global_symbol")


def _is_lowered(function: relax.Function) -> bool:
    """Return whether a flat function does nothing but call PrimFuncs."""
    calls = [one.value for block in function.body.blocks for one in block.bindings if isinstance(one.value, relax.Call)]
    return bool(calls) and all(getattr(call.op, "name", "") == "relax.call_tir" for call in calls)


def _outputs(function: relax.Function) -> Any:
    kind = function.ret_ty
    return list(kind.fields) if isinstance(kind, relax.TupleType) else kind


def _called_outside(mod: tvm.IRModule, gone: set[Any]) -> tvm.IRModule:
    """Return `mod` without the PrimFuncs `gone`; what called them calls functions of these names in the runtime modules."""
    if not gone:
        return mod
    outside = _Outside(gone)
    kept = {var: function for var, function in mod.functions_items() if var not in gone}
    made = {var: outside.visit_expr(function) if isinstance(function, relax.Function) else function for var, function in kept.items()}
    return tvm.IRModule(made, attrs=mod.attrs)


@relax.expr_functor.mutator
class _Outside(relax.PyExprMutator):
    def __init__(self, gone: set[Any]):
        super().__init__()
        self._gone = {str(var.name_hint) for var in gone}

    def visit_call_(self, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        if getattr(call.op, "name", "") == "relax.call_tir" and str(call.args[0].name_hint) in self._gone:
            return relax.call_dps_packed(str(call.args[0].name_hint), call.args[1], out_ty=_listed(call.ty_args[0]))
        return call


def _listed(kind: Any) -> Any:
    return list(kind.fields) if isinstance(kind, relax.TupleType) else kind
