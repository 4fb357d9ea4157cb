"""Resources of how long partitions take inside the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InsideTime:
    """A partition inside the whole, or several functions of the module in a row, which are timed together.

    Attributes:
        id: The ids of its partitions, joined by ``+``.
        nodes: How many.
        first: Name of its first node.
        partitions: How many.
        seconds: Measured inside the whole.
        predicted_s, interval_s: As the plan says; None where it does not.
        difference_s: The measured less the predicted time.
    """

    id: str
    target: str
    nodes: int
    first: str
    partitions: int
    seconds: float
    predicted_s: float | None
    interval_s: float | None
    difference_s: float | None


@dataclass(frozen=True)
class InsideTimes:
    """``POST /api/v1/runs/<id>/profile``: what ``collage run ARTIFACT --profile`` tells; the artifact is run for about a second.

    Attributes:
        whole_s: Of one inference.
        rest_s: What belongs to no partition: calls, and copies.
        predicted_between_s: What the plan counts for transitions.
    """

    run: str
    whole_s: float
    rest_s: float
    predicted_s: float | None
    predicted_between_s: float | None
    partitions: list[InsideTime]
