"""`Options`: what holds unless the user says otherwise."""

from __future__ import annotations

from collage_core.options import Options


def test_costs_are_medians_of_measured_latencies_unless_told() -> None:
    assert (Options(("tvm",)).costs, Options(("tvm",)).percentile) == ("measure", 50.0)
    assert Options(("tvm",), percentile=90.0).to_json()["percentile"] == 90.0
