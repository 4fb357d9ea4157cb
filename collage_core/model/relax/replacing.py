"""`Replaced`: an expression with other expressions in the place of variables, or of the functions that it calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax


@relax.expr_functor.mutator
class Replaced(relax.PyExprMutator):
    """Puts other expressions in the place of the variables that a mapping names."""

    def __init__(self, known: Mapping[Any, Any]):
        super().__init__()
        self._known = known

    def visit_var_(self, var: Any) -> Any:
        return self._known.get(var, var)

    def visit_global_var_(self, var: Any) -> Any:
        return self._known.get(var, var)

    def visit_dataflow_var_(self, var: Any) -> Any:
        return self._known.get(var, var)
