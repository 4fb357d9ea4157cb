"""Toolchains that are right on small numbers and wrong on others are found out before anything is exported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.errors import AccuracyError
from collage_core.graph.index_set import IndexSet
from collage_core.graph.value_policy import ANY, FINITE
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.models import loaded, model_of, write
from tests.helpers.paths import PLUGINS

FAULTS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "saturates": ("Saturates", "g (uint8[64] a, uint8[64] b) => (uint8[64] y) { [add] y = Add(a, b) }", {}),
    "truncates": ("Truncates", "g (int64[8,8] x) => (int64[8,8] y) { [turn] y = Transpose(x) }", {}),
    "truncates_pairs": ("TruncatesPairs", "g (int64[64] a, int64[64] b) => (bool[64] y) { [equal] y = Equal(a, b) }", {}),
    "holds_integers_as_doubles": (
        "HoldsIntegersAsDoubles",
        "g (int64[64] a, int64[64] b) => (bool[64] y) { [equal] y = Equal(a, b) }",
        {},
    ),
    "reorders_ties": (
        "ReordersTies",
        "g (float[4,40] x) => (float[4,5] y, int64[4,5] i) { [top] y, i = TopK(x, k) }",
        {"k": np.array([5])},
    ),
    "drops_nan": ("DropsNan", "g (float[4,16] x) => (float[4,16] y) { [relu] y = Relu(x) }", {}),
    "computes_in_float32": ("ComputesInFloat32", "g (double[4,16] x) => (double[4,16] y) { [neg] y = Neg(x) }", {}),
}
"""Name of a toolchain of `inexact_toolchains` → its class, a model on whose drawn inputs it is right, and its constants."""


def policy_of(fault: str) -> str:
    return ANY if fault == "drops_nan" else FINITE


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A faulty toolchain, within reach of this process and its workers."""
    monkeypatch.syspath_prepend(str(PLUGINS))
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", f"inexact_toolchains:{FAULTS[request.param][0]}")
    return str(request.param)


def test_its_candidate_fails_and_the_reason_names_the_inputs(fault: str, tmp_path: Path) -> None:
    model = loaded(tmp_path, *FAULTS[fault][1:])
    limits = TrialLimits(timing=TimingLimits(fewest=3, interval=1.0, longest_s=0.1))
    database = CostDatabase(tmp_path / "costs.sqlite3")
    estimator = MeasureEstimator(model, model.seeded_inputs(), 1, database, 1e-3, limits=limits, value_policy=policy_of(fault))
    try:
        candidate = CandidatePartition(model.graph, fault, IndexSet([0]), "test")
        ((_, cost, _),) = estimator.measure([candidate])
    finally:
        estimator.close()
    kind = "non-finite" if fault == "drops_nan" else "extreme"
    assert (cost.source, cost.stage) == ("invalid", "numerics"), cost
    assert cost.reason.startswith(f"on {kind} inputs: its output "), cost.reason


def test_nothing_is_exported_where_nobody_tried_its_candidates(fault: str, tmp_path: Path) -> None:
    """The costs are given, so only the whole is compared: on drawn inputs it is right."""
    path, out = write(tmp_path, model_of(*FAULTS[fault][1:])), tmp_path / "out"
    options = Options((fault,), threads=1, out=out, costs="python:cheap", value_policy=policy_of(fault))
    with pytest.raises(AccuracyError, match=r"on (extreme|non-finite) inputs, 0\.001 is allowed; nothing was exported"):
        partition(path, options, function=lambda candidate: 1e-3)
    assert not (out / "artifact.json").exists()
