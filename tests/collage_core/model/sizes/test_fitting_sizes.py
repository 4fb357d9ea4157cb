"""Sizes that fit each other: what the model accepts, and which dimensions it takes only together."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from collage_core.model.sizes import fitting_sizes as fitting
from collage_core.model.sizes.fitting_sizes import Fitting, Unknown, find
from tests.helpers.models import model_of
from tests.helpers.speech_models import speech_model

JOINED = """g (float[a,t] x, float[2,b,4] s) => (float[a,n] y) { r = ReduceSum<keepdims = 0>(s, axes) y = Concat<axis = 1>(x, r) }"""
CHECKED = "g (float[a,t] x, float[a,4] s) => (float[a,m] y) { p = MatMul(x, w) y = Concat<axis = 1>(p, s) }"


def joined() -> ModelProto:
    """Return a model that joins two inputs, whose batches must be equal."""
    return model_of(JOINED, {"axes": np.array([0])})


BATCHES = [Unknown("a", (("x", 0),), 1, False), Unknown("t", (("x", 1),), 128, True)]
STATE = Unknown("b", (("s", 1),), 128, True)


def test_sizes_that_belong_together_are_found_though_no_symbol_says_so() -> None:
    unknown = [*BATCHES, STATE]
    assert find(joined().SerializeToString(), {"x": (1, 128), "s": (2, 128, 4)}, unknown, {}) == Fitting((1, 128, 1), ((0, 2),))


def test_a_size_that_is_known_of_one_input_is_tried_for_another() -> None:
    assert find(joined().SerializeToString(), {"x": (5, 7), "s": (2, 128, 4)}, [STATE], {}) == Fitting((5,))


def test_another_length_is_tried_where_the_likely_one_does_not_fit() -> None:
    model = model_of(CHECKED, {"w": np.ones((64, 3), np.float32)})
    unknown = [Unknown("a", (("x", 0), ("s", 0)), 1, False), BATCHES[1]]
    assert find(model.SerializeToString(), {"x": (1, 128), "s": (1, 4)}, unknown, {}) == Fitting((1, 64))


def test_values_decide_which_sizes_fit() -> None:
    unknown = [Unknown("batch", (("x", 0),), 1, False), Unknown("length", (("x", 1),), 128, True)]
    shapes = {"x": (1, 128), "rate": ()}
    for rate, length in ((16000, 8), (8000, 4)):
        found = find(speech_model().SerializeToString(), shapes, unknown, {"rate": np.array(rate)})
        assert found is not None
        assert found.sizes == (1, length)


def test_a_model_that_accepts_nothing_or_too_late_has_no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(CHECKED, {"w": np.ones((7, 3), np.float32)}).SerializeToString()
    unknown = [Unknown("a", (("x", 0), ("s", 0)), 1, False), BATCHES[1]]
    assert find(model, {"x": (1, 128), "s": (1, 4)}, unknown, {}) is None
    monkeypatch.setattr(fitting, "LONGEST_S", -1.0)
    assert find(joined().SerializeToString(), {"x": (1, 128), "s": (2, 128, 4)}, [*BATCHES, STATE], {}) is None
    assert find(b"", {}, [], {}) is None
