"""The reference kernel."""

from __future__ import annotations

from collections.abc import Iterator

from collage_core.cost.measuring.reference_kernel import time_reference


def test_reference_is_the_fastest_of_a_few() -> None:
    ticks: Iterator[float] = iter([0.0, 5.0, 10.0, 12.0, 20.0, 21.0])
    assert time_reference(lambda: next(ticks)) == 1.0
