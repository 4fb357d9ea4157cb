"""Resource of a plan of the user's own on a run's costs."""

from __future__ import annotations

from dataclasses import dataclass

from collage_core.documents.compare import UnknownPart
from collage_core.documents.plan import PlanInfo


@dataclass(frozen=True)
class Against:
    """``POST /api/v1/runs/<id>/against``: a plan of the user's own, on the costs of the run. Nothing is measured, nothing is kept.

    Attributes:
        apparent_loss_s: The total of the run's plan less that of this one; None where a cost is not known.
        ignored: Names of the given plan that the model does not have.
    """

    run: str
    name: str
    plan: PlanInfo
    apparent_loss_s: float | None
    unknown: tuple[UnknownPart, ...]
    ignored: tuple[str, ...]
