"""The sets of inputs that everything is compared on, and what decides whether the model bears them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from collage_core.graph.value_policy import ANY
from collage_core.model.model import DRAWN, EXTREME, NON_FINITE, OWN
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.bearing import fingerprint
from collage_core.model.reference.ort_session import OrtSession
from tests.helpers.detectors import detector
from tests.helpers.models import loaded, model_of, weights, write

RELU = "g (float[4,16] x) => (float[4,16] y) { y = Relu(x) }"


def test_the_users_own_inputs_stand_beside_the_others(tmp_path: Path) -> None:
    model = loaded(tmp_path, RELU)
    assert [one.name for one in model.input_sets(model.seeded_inputs()).all] == [DRAWN, EXTREME]
    own = {"x": np.full((4, 16), 7, np.float32)}
    sets = model.input_sets(own)
    assert [one.name for one in sets.all] == [OWN, DRAWN, EXTREME]
    assert sets.first.arrays is own
    assert model.input_sets(own) is sets, "the reference runs once for each set"


def test_drawn_inputs_that_the_model_does_not_bear_are_left_out_beside_the_users(tmp_path: Path) -> None:
    path = write(tmp_path, model_of("g (float[4,16] x) => (float[4,16] y) { s = Sub(x, m) y = Log(s) }", {"m": np.float32(5)}))
    own = {"x": np.full((4, 16), 7, np.float32)}
    sets = load_model(path, inputs=own).input_sets(own)
    assert [one.name for one in sets.all] == [OWN]
    assert sets.notes[0] == "nothing is checked on drawn inputs: its outputs would not be finite"


@pytest.mark.parametrize("seed", [0, 7])
def test_a_detector_runs_twice_for_inputs_that_it_bears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    onnx.save(detector(picks=True), tmp_path / "model.onnx")
    model = load_model(tmp_path / "model.onnx")
    inputs = model.seeded_inputs(seed)
    runs: list[str] = []
    run = OrtSession.run
    monkeypatch.setattr(OrtSession, "run", lambda *arguments: runs.append("run") or run(*arguments))
    names = [one.name for one in model.input_sets(inputs).all]
    assert (names, len(runs)) == (([DRAWN, EXTREME], 2) if seed == 0 else ([OWN, DRAWN, EXTREME], 4))


def test_rows_that_rounding_moves_are_borne_but_not_all_of_them(tmp_path: Path) -> None:
    """The sine of a number beyond 2^24 is as good as random: rounding makes every row another one."""
    text = "picks (float[64] x) => (float[n] rows) { s = Mul(x, k) w = Sin(s) b = Greater(w, zero) rows = Compress<axis=0>(w, b) }"
    calm, wild = (loaded(tmp_path, text, {"zero": np.float32(0), "k": np.float32(factor)}) for factor in (1, 1e9))
    assert [one.name for one in calm.input_sets(calm.seeded_inputs()).all] == [DRAWN, EXTREME]
    assert "rounding alone would move its outputs" in wild.input_sets(wild.seeded_inputs()).notes[0]


def test_a_body_is_compared_on_the_inputs_of_its_run_alone(tmp_path: Path) -> None:
    text = """g (float[4] x, bool c) => (float[4] y) {
        [pick] y = If(c) <then_branch = t () => (float[4] a) { a = Relu(x) }, else_branch = e () => (float[4] b) { b = Neg(x) }>
    }"""
    model = loaded(tmp_path, text)
    inputs = tuple(tensor for tensor in model.graph.inputs if tensor.name == "x")
    body = model.body(0, "then_branch", inputs)
    given = {"x": np.ones(4, np.float32)}
    assert [one.arrays for one in body.input_sets(given).all] == [given]


def test_nan_and_infinities_are_among_the_inputs_where_they_must_be_right(tmp_path: Path) -> None:
    model = loaded(tmp_path, RELU)
    sets = model.input_sets(model.seeded_inputs(), ANY)
    assert [one.name for one in sets.all] == [DRAWN, EXTREME, NON_FINITE]
    special = sets.further[-1].arrays["x"]
    assert (np.isnan(special).sum(), (special == np.inf).sum(), (special == -np.inf).sum()) == (1, 1, 1)


def test_inputs_on_which_rounding_decides_are_milder(tmp_path: Path) -> None:
    """The sine of large numbers is as good as random: within two units in the last place of 10,000 it moves by some thousandths."""
    model = loaded(tmp_path, "g (float[6,40] x) => (float[6,40] y) { y = Sin(x) }")
    sets = model.input_sets(model.seeded_inputs())
    assert sets.further[0].arrays["x"].max() == 100
    assert re.search(r"not of magnitudes from 0\.0001 to 10000: rounding alone would move its outputs by 0\.00\d+$", sets.notes[0])


def test_tensors_may_differ_by_what_rounding_moves_but_ties_do_not_move(tmp_path: Path) -> None:
    text = "g (float[4,40] x) => (float[4,5] y, int64[4,5] i, float[4,40] z) { y, i = TopK(x, k) s = Sub(x, m) z = Mul(s, h) }"
    model = loaded(tmp_path, text, {"k": np.array([5]), "m": np.float32(1), "h": weights(4, 40)})
    inputs = model.input_sets(model.seeded_inputs()).further[0].arrays
    noise = model.noise(inputs, model.activations(inputs, model.graph.outputs))
    assert noise["i"] == 0
    assert 0 < noise["z"] < 1e-4


def test_a_fingerprint_is_of_the_model_the_inputs_and_the_policy() -> None:
    one = {"x": np.zeros(4, np.float32)}
    assert fingerprint("a", one) == fingerprint("a", {"x": np.zeros(4, np.float32)})
    others = [
        fingerprint("b", one),
        fingerprint("a", {"x": np.ones(4, np.float32)}),
        fingerprint("a", {"x": np.zeros(4)}),
        fingerprint("a", one, ANY),
    ]
    assert len({fingerprint("a", one), *others}) == 5
