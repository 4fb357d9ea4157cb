"""`ErrorLimit`: up to where a target that errs too much on the whole model may compute it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.index_set import IndexSet


@dataclass(frozen=True)
class ErrorLimit:
    """The outcome of a run of `inside` on the target, on the tensors of the reference: what its own values do to the outputs of the model.

    Attributes:
        last: The last node up to which the target can compute, the reference the rest, and the outputs stay within the accuracy; None
            where there is no such node.
        own_error: Relative error of the target's values at the next boundary after `last`.
        error: Relative error of the outputs of the model where the target computes up to there.
        accuracy: The largest that it may be.
    """

    target: str
    inside: IndexSet
    last: int | None
    own_error: float
    error: float
    accuracy: float

    @property
    def reason(self) -> str:
        """Say why nothing that goes beyond `last` counts as right."""
        own = f"in a run of the target its own values there erred by {self.own_error:.2g} of the largest"
        return f"not tried: {own}, and with them the outputs of the model err by {self.error:.2g}, at most {self.accuracy:g} may be"
