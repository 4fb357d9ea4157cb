"""Up to where a target that errs too much on a model may compute it: by its own values, and by what the reference makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.error_limit import ErrorLimit
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.errors import Cancelled
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.models import loaded
from tests.helpers.paths import PLUGINS

CHAIN = """m (float[4, 16] x) => (float[4, 16] y) {
  [relu] a = Relu(x) [tanh] b = Tanh(a) [mul] c = Mul(b, twenty) [exp] d = Exp(c) [neg] y = Neg(d)
}"""
RELU, TANH, MUL, _, NEG = range(5)


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGINS))
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    names = "inexact_toolchains:Coarse,failing_toolchains:SegfaultsAtBuild"
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", names)


def limits_of(tmp_path: Path, text: str, accuracy: float, target: str = "coarse", **options: Any) -> list[ErrorLimit]:
    model = loaded(tmp_path, text, {"twenty": np.float32(20)})
    estimator = MeasureEstimator(model, model.seeded_inputs(), 1, CostDatabase(tmp_path / "costs.sqlite3"), accuracy, **options)
    try:
        whole = CandidatePartition(model.graph, target, IndexSet(range(len(model.graph))), "test")
        return list(estimator.error_limits(whole, range(len(model.graph))))
    finally:
        estimator.close()


def test_an_error_counts_as_what_the_reference_makes_of_it(tmp_path: Path) -> None:
    """Behind the tangent the target errs by half of what may be; the exponential makes ten times that of it."""
    before, behind = limits_of(tmp_path, CHAIN, 1e-3)
    assert (before.inside, before.last) == (IndexSet(range(5)), RELU)
    assert before.own_error == pytest.approx(5e-4, rel=0.01)
    assert 5e-3 < before.error < 2e-2
    assert (behind.inside, behind.last) == (IndexSet(range(MUL, 5)), NEG)


def test_what_vanishes_on_the_way_sets_no_limit(tmp_path: Path) -> None:
    (limit,) = limits_of(tmp_path, CHAIN.replace("[neg] y = Neg(d)", "[clip] y = Sign(d)"), 1e-3)
    assert limit.last == NEG


def test_the_reason_names_both_errors(tmp_path: Path) -> None:
    limit = limits_of(tmp_path, CHAIN, 1e-3)[0]
    assert limit.reason.startswith(
        "not tried: in a run of the target its own values there erred by 0.0005 of the largest, and with them the"
    )
    assert limit.reason.endswith(", at most 0.001 may be")


def test_no_reference_runs_when_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[IndexSet] = []
    run_part = OnnxModel.run_part
    monkeypatch.setattr(OnnxModel, "run_part", lambda model, inside, values: runs.append(inside) or run_part(model, inside, values))
    with pytest.raises(Cancelled):
        limits_of(tmp_path, CHAIN, 1e-3, should_stop=lambda: bool(runs))
    assert len(runs) == 2, "one boundary on two sets of inputs"


def test_a_target_that_does_not_run_has_no_limits(tmp_path: Path) -> None:
    assert limits_of(tmp_path, CHAIN, 1e-3, "segfaults_at_build") == []
