"""`Options`: what holds unless the user says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.options import Options


def test_costs_are_medians_of_measured_latencies_unless_told() -> None:
    assert (Options(("tvm",)).costs, Options(("tvm",)).percentile) == ("measure", 50.0)
    assert Options(("tvm",), percentile=90.0).to_json()["percentile"] == 90.0


def test_finite_values_count_unless_told() -> None:
    """Rules and the plan's file know it: a stricter run gives toolchains fewer calls."""
    for given, wanted in (({}, "finite"), ({"value_policy": "any"}, "any")):
        options = Options(("tvm",), **given)
        assert (options.rule_options("tvm").value_policy, options.to_json()["value_policy"]) == (wanted, wanted)
    with pytest.raises(CollageError, match=r"^unknown value policy 'all'$") as caught:
        Options(("tvm",), value_policy="all")
    assert caught.value.hint == "choose one of finite, any"


@pytest.mark.parametrize(
    ("given", "said"),
    [({"machine": "*EPYC*"}, "--machine names a machine of a fleet"), ({"fleet_keys": Path("keys")}, "--keys names the keys of a fleet")],
)
def test_what_says_something_of_a_fleet_needs_one(given: dict[str, Any], said: str) -> None:
    with pytest.raises(CollageError, match=f"{said}, and there is none") as caught:
        Options(("tvm",), **given)
    assert caught.value.hint == "name its scheduler with --fleet"
    assert Options(("tvm",), fleet="local:2", **given).fleet == "local:2"
