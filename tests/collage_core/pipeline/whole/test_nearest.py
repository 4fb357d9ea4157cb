"""The toolchain that alone comes nearest, where it parts from the reference, and what is said of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from collage_core.cli.each_text import wrong_told
from collage_core.documents.json_form import from_json
from collage_core.documents.verify import Nearest, Verify
from collage_core.errors import AccuracyError
from collage_core.pipeline.apply import check_accuracy
from collage_core.pipeline.whole.nearest import accuracy_for, first_parting, nearest_hint, nearest_text
from tests.helpers.documents import run_document
from tests.helpers.graphs import graph

GRAPH = graph(["a: Conv <- x", "b: Relu <- a", "c: MatMul <- b", "d: Add <- c, b"])
FOUND: dict[str, Any] = {
    "target": "openvino",
    "error": 0.0284,
    "accuracy": 0.029,
    "begins": {"tensor": "c", "node": "mul", "op": "MatMul", "input_error": 1e-7, "error": 0.025},
    "errors": {"openvino": 0.0284, "ncnn": None},
}
NEAREST = from_json(Nearest, FOUND)


def test_the_first_tensor_over_the_accuracy_is_where_it_begins() -> None:
    parting = first_parting(GRAPH, {"a": 1e-7, "b": 2e-7, "c": 0.1, "d": 0.3}, 1e-3)
    assert parting is not None
    assert (parting.tensor, parting.op, parting.input_error, parting.error) == ("c", "MatMul", 2e-7, 0.1)


def test_where_none_is_over_it_the_error_begins_where_it_grows_most() -> None:
    parting = first_parting(GRAPH, {"a": 1e-4, "b": 1e-4, "c": 8e-4, "d": 9e-4}, 1e-3)
    assert parting is not None
    assert parting.tensor == "c"


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_an_error_that_is_no_number_begins_too(error: float) -> None:
    parting = first_parting(GRAPH, {"a": 1e-7, "b": error, "c": error, "d": error}, 1e-3)
    assert parting is not None
    assert (parting.tensor, parting.error) == ("b", None)


def test_it_begins_nowhere_where_every_tensor_is_right() -> None:
    assert first_parting(GRAPH, dict.fromkeys("abcd", 0.0), 1e-3) is None


@pytest.mark.parametrize(
    ("error", "accuracy"), [(0.0284, 0.029), (0.0301, 0.031), (0.010000071, 0.011), (1.21e-3, 1.3e-3), (0.996, 1.0), (12.3, 13)]
)
def test_the_accuracy_has_two_digits_and_takes_the_error(error: float, accuracy: float) -> None:
    assert accuracy_for(error) == pytest.approx(accuracy)
    assert accuracy_for(error) >= error


def test_the_error_says_what_comes_nearest_where_it_parts_and_what_takes_it() -> None:
    with pytest.raises(AccuracyError) as caught:
        check_accuracy(Verify(max_rel_error=0.05, nearest=NEAREST), 0.02)
    assert caught.value.message == (
        "the partitioned model is wrong: its largest relative error is 0.05, 0.02 is allowed; nothing was exported; "
        "of the toolchains alone openvino comes nearest, off by 0.0284; it parts from the reference at 'c', which MatMul 'mul' makes: "
        "its inputs are right within 1e-07, it is off by 0.025"
    )
    assert caught.value.hint == "--accuracy 0.029 takes openvino alone; or name other targets with --targets"
    assert caught.value.nearest == NEAREST


def test_what_no_accuracy_takes_is_said() -> None:
    found = replace(NEAREST, error=None, accuracy=None, begins=None)
    assert nearest_text(found).endswith("openvino comes nearest, with NaN, infinity or another shape where there are numbers")
    assert nearest_hint(found) == "no accuracy takes openvino alone: name other targets with --targets"


def test_the_command_prints_the_document_of_a_run_that_found_no_right_plan(capsys: pytest.CaptureFixture[str]) -> None:
    error = AccuracyError("wrong", "", nearest=NEAREST)
    wrong = {"max_rel_error": math.inf, "errors": {"y": math.inf, "z": 0.5}, "sets": {"drawn": {"y": math.nan, "z": 0.5}}, "nearest": FOUND}
    error.document = run_document(verify=wrong)
    with pytest.raises(AccuracyError), wrong_told(as_json=True):
        raise error
    verify = json.loads(capsys.readouterr().out)["verify"]
    told = {"max_rel_error": None, "errors": {"y": None, "z": 0.5}, "sets": {"drawn": {"y": None, "z": 0.5}}, "nearest": FOUND}
    assert {name: verify[name] for name in told} == told
    with pytest.raises(AccuracyError), wrong_told(as_json=False):
        raise error
    assert capsys.readouterr().out == ""
