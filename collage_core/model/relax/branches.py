"""`outline_branches`: the branches of every `If` as private functions of their own.

A module enters; an equal one leaves. The bindings of a branch are then those of a function, which can be partitioned. Besides, TVM plans
memory for a whole function at once, and then one branch of an `If` may write where the other has allocated, or what comes after it: that
crashes. Between functions it shares no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

BRANCHES = ("then", "else")
"""Parts of the names of the functions: those of the branches in ``main`` are ``main_then_1``, ``main_else_2`` and so on."""


def outline_branches(mod: tvm.IRModule) -> tvm.IRModule:
    """Return `mod` with each branch of an `If` as a call of a private function; itself where there is none to move.

    A branch with symbols in its shapes stays where it is: its function would not know them.
    """
    outliner = _Outliner(relax.BlockBuilder(mod))
    for var, function in mod.functions_items():
        if isinstance(function, relax.Function) and isinstance(function.body, relax.SeqExpr):
            outliner.function(var, function)
    return relax.transform.Normalize()(outliner.builder.get()) if outliner.moved else mod


class _Outliner:
    """Moves branches into functions of the module that `builder` has; `moved` counts them."""

    def __init__(self, builder: relax.BlockBuilder):
        self.builder = builder
        self.moved = 0
        self._name = ""

    def function(self, var: Any, function: relax.Function) -> None:
        """Write one function anew, if it has branches to move."""
        self._name, before = str(var.name_hint), self.moved
        body = self._body(function.body)
        if self.moved > before:
            rewritten = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
            self.builder.update_func(var, rewritten)

    def _body(self, body: relax.SeqExpr) -> relax.SeqExpr:
        if not any(isinstance(binding.value, relax.If) for block in body.blocks for binding in block.bindings):
            return body
        return relax.SeqExpr([type(block)([self._binding(one) for one in block.bindings]) for block in body.blocks], body.body)

    def _binding(self, binding: Any) -> Any:
        value = binding.value
        if not isinstance(value, relax.If):
            return binding
        branches = [self._branch(branch, name) for branch, name in zip((value.true_branch, value.false_branch), BRANCHES, strict=True)]
        return relax.VarBinding(binding.var, self.builder.normalize(relax.If(value.cond, *branches)))

    def _branch(self, branch: relax.SeqExpr, which: str) -> relax.SeqExpr:
        """Return `branch`, or one that only calls a function that does what it did."""
        values = [binding.value for block in branch.blocks for binding in block.bindings]
        if all(isinstance(getattr(value, "op", None), tvm.ir.GlobalVar) for value in values):
            return branch
        given = relax.analysis.free_vars(branch)
        body = self._body(branch)
        if any(isinstance(var.ty, tvm.ir.PrimType) for var in given):
            return body
        function = _as_function(given, body, branch.ty)
        if relax.analysis.free_symbolic_vars(function):
            return body
        self.moved += 1
        name = self.builder.add_func(function, f"{self._name}_{which}_{self.moved}")
        call = self.builder.normalize(relax.Call(name, list(given)))
        result = relax.Var(f"{which}_result", call.ty)
        return relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, call)])], result)


def _as_function(given: Sequence[Any], body: relax.SeqExpr, kind: Any) -> relax.Function:
    """Return `body` as a private function of the variables `given`, with new variables."""
    function = relax.Function(list(given), body, kind)
    if relax.analysis.contains_impure_call(function):
        function = relax.Function(list(given), body, kind, False)
    return relax.utils.copy_with_new_vars(function)
