"""`Twins`: a function whose symbols are fixed, in which costs are found, beside the one that the module keeps, binding by binding.

Where the module keeps fixed shapes too, both are the same function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvm import relax

from ..errors import CollageError
from ..model.relax.operators.call_writer import shape_of
from ..model.relax.regions import Region


class Twins:
    """Finds what a function keeps for what is in its twin of fixed shapes.

    Args:
        fixed: The function with fixed shapes, made by `module_functions.fixed_alike` of `kept`.
        kept: The function of the module.

    Raises:
        CollageError: fixing the shapes has left other bindings.
    """

    def __init__(self, fixed: relax.Function, kept: relax.Function):
        counts = [[len(block.bindings) for block in one.body.blocks] for one in (fixed, kept)]
        if counts[0] != counts[1]:
            reason = "the symbols of a function cannot be kept: with fixed shapes it has other bindings"
            raise CollageError(reason, "leave out keep_symbols", "open_shape")
        blocks = zip(fixed.body.blocks, kept.body.blocks, strict=True)
        self._bindings = {one.var: own for ours, theirs in blocks for one, own in zip(ours.bindings, theirs.bindings, strict=True)}
        self._vars = dict(zip(fixed.params, kept.params, strict=True)) | {var: own.var for var, own in self._bindings.items()}
        self._fixed = {own: var for var, own in self._vars.items()}

    def binding(self, one: Any) -> Any:
        """Return the binding that the module keeps for one of the fixed function."""
        return self._bindings[one.var]

    def region(self, region: Region) -> Region:
        """Return a region of the fixed function with the bindings that the module keeps; its graph is that of the fixed shapes."""
        return replace(
            region,
            bindings={at: self.binding(one) for at, one in region.bindings.items()},
            inputs={name: self._vars[var] for name, var in region.inputs.items()},
            outputs=[self._vars[var] for var in region.outputs],
        )

    def shape(self, own: Any) -> list[int]:
        """Return the fixed shape of a tensor that is a variable of the function that the module keeps."""
        return shape_of(self._fixed[own])
