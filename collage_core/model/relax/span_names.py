"""`with_names_of_spans`: a function whose variables are called as the spans of their values say, where these hold names.

An importer that knows where a call comes from says so in its span: the source is then a name of the model's, and the line is 0. The
spans of a script name its file and a line, and say nothing that the variables do not.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from .replacing import Replaced


def with_names_of_spans(module: tvm.IRModule, name: str) -> tvm.IRModule:
    """Return `module` with the variables of the function `name` called as their spans say; as it is where none says anything."""
    function = module[name]
    bindings = [binding for block in function.body.blocks for binding in block.bindings] if isinstance(function.body, relax.SeqExpr) else []
    renamed = {binding.var: _called(binding.var, said) for binding in bindings if (said := _name_of(binding))}
    if not renamed:
        return module
    replaced = Replaced(renamed)
    blocks = [type(block)([_renamed(binding, renamed, replaced) for binding in block.bindings]) for block in function.body.blocks]
    body = relax.SeqExpr(blocks, replaced.visit_expr(function.body.body))
    named = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    builder = relax.BlockBuilder(module)
    builder.update_func(module.get_global_var(name), named)
    return relax.transform.Normalize()(builder.get())


def _name_of(binding: Any) -> str:
    """Return the name that the span of a call has; empty where there is none. A slash would divide the name of a node."""
    span = getattr(binding.value, "span", None)
    if not isinstance(binding.value, relax.Call) or span is None or int(span.line) != 0:
        return ""
    return str(span.source_name.name).replace("/", ".").strip(".")


def _called(var: Any, name: str) -> Any:
    return (relax.DataflowVar if isinstance(var, relax.DataflowVar) else relax.Var)(name, var.ty)


def _renamed(binding: Any, renamed: dict[Any, Any], replaced: Replaced) -> Any:
    var, value = renamed.get(binding.var, binding.var), replaced.visit_expr(binding.value)
    return relax.MatchCast(var, value, binding.ty) if isinstance(binding, relax.MatchCast) else relax.VarBinding(var, value)
