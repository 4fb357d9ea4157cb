"""How often bodies run: nested ones, branches, scans, none at all, and loops that would never end."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.model import body_runs
from collage_core.model.body_runs import NodeRuns, count_body_runs
from collage_core.model.onnx_model import OnnxModel, load_model
from tests.helpers.control_models import WIDTH, branches, lstm_loop, nested, scan
from tests.helpers.models import loaded, write


def inputs(model: OnnxModel, **given: Any) -> dict[str, np.ndarray]:
    return {**model.seeded_inputs(), **{name: np.array(value) for name, value in given.items()}}


def only(found: dict[int, NodeRuns]) -> NodeRuns:
    (node,) = found.values()
    return node


@pytest.mark.parametrize(("turns", "go", "runs", "typical"), [(7, True, 7, 3), (16, True, 16, 15), (1, True, 1, 0), (9, False, 0, 0)])
def test_a_loop(tmp_path: Path, turns: int, go: bool, runs: int, typical: int) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    node = only(count_body_runs(model, inputs(model, turns=turns, go=go)))
    assert (node.reason, node.runs, node.bodies["body"].runs) == ("", runs, runs)
    assert node.bodies["body"].inputs["i"] == typical
    assert node.bodies["body"].inputs["hs"].shape == (1, WIDTH)


def test_the_branch_that_ran_and_the_one_that_did_not(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, branches()))
    for sign, ran in ((1, [1, 0]), (-1, [0, 1])):
        x = sign * np.abs(model.seeded_inputs()["x"])
        node = only(count_body_runs(model, {"x": x}))
        assert [node.bodies[name].runs for name in ("then_branch", "else_branch")] == ran
        assert all(set(body.inputs) == {"x"} for body in node.bodies.values())


def test_a_scan(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, scan()))
    node = only(count_body_runs(model, model.seeded_inputs()))
    assert node.bodies["body"].runs == 5
    given = model.seeded_inputs()
    np.testing.assert_array_equal(node.bodies["body"].inputs["row"], given["x"][:, 4 - 3])


def test_bodies_in_bodies_are_counted_over_all_turns(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, nested()))
    node = only(count_body_runs(model, inputs(model, turns=5)))
    body = node.bodies["body"]
    inner = only(body.inner)
    assert (body.runs, inner.bodies["then_branch"].runs, inner.bodies["else_branch"].runs) == (5, 2, 3)


ENDLESS = """g (float[4] x, int64 turns) => (float[4] z) {
  z = Loop (turns, , x) <body = b (int64 i, bool c, v) => (bool d, w) { d = Identity(c) w = Sin(v) }>
}"""


@pytest.mark.parametrize(("runs", "limit_s", "said"), [(50, 1e9, "after 50 runs of bodies (50 of them its own)"), (999, 9.0, "after 9 s")])
def test_counting_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, limit_s: float, said: str) -> None:
    monkeypatch.setattr(body_runs, "MOST_RUNS", runs)
    monkeypatch.setattr(body_runs, "LONGEST_S", limit_s)
    ticks = count()
    model = loaded(tmp_path, ENDLESS)
    node = only(count_body_runs(model, {"x": np.ones(4, np.float32), "turns": np.array(60)}, clock=lambda: float(next(ticks))))
    assert said in node.reason
    assert "how often its bodies run is unknown" in node.reason


def test_a_state_that_grows_is_not_for_the_host(tmp_path: Path) -> None:
    text = """g (float[2] x, int64 turns) => (float[n] z) {
        z = Loop (turns, , x) <body = b (int64 i, bool c, v) => (bool d, w) { d = Identity(c) w = Concat<axis = 0>(v, v) }>
    }"""
    model = loaded(tmp_path, text)
    node = only(count_body_runs(model, {"x": np.ones(2, np.float32), "turns": np.array(3)}))
    assert node.reason == "'v' changes its shape from turn to turn: [2] and, in turn 1, [4]"


def test_bodies_that_are_nested_too_deeply_are_not_partitioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_runs, "MOST_DEPTH", 1)
    model = load_model(write(tmp_path, nested()))
    node = only(count_body_runs(model, inputs(model, turns=3)))
    assert node.bodies["body"].runs == 3
    assert only(node.bodies["body"].inner).reason == "it is nested in 1 bodies, at most 0 are partitioned"


def test_a_model_without_bodies_is_not_run(tmp_path: Path) -> None:
    assert count_body_runs(loaded(tmp_path, "g (float[4] x) => (float[4] y) { y = Relu(x) }"), {}) == {}
