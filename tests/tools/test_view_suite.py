"""`make view-suite`: it compares point by point with Netron's own table, and names what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import view_suite
from onnx import helper, save
from view_suite import Comparison, compare, given_files, netron_definition, report

from collage_core.model.nodes import opset_versions
from tests.helpers import viewed_models as odd


def test_all_that_netron_shows_of_a_node_is_shown(tmp_path: Path) -> None:
    path, model, comparison = tmp_path / "m.onnx", odd.model([helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)]), Comparison()
    save(model, path)
    compare(model, path, comparison)
    assert comparison.netron == comparison.ours
    assert dict(comparison.netron) == {
        "description": 1,
        "attribute": 1,
        "attribute type": 1,
        "default": 1,
        "attribute description": 1,
        "input name": 1,
        "output name": 1,
    }


def test_what_is_not_shown_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_suite, "operator_definitions", lambda model: [])
    path, comparison = tmp_path / "m.onnx", Comparison()
    save(odd.damaged_weights(), path)
    compare(odd.damaged_weights(), path, comparison)
    text = report(1, ["bad.onnx: why"], comparison)
    assert text.startswith("1 of 2 models open\nbad.onnx: why\n")
    assert "description '' of MatMul" in text
    assert "values 'w' of MatMul" in text


def test_netrons_definition_is_that_of_the_models_opset() -> None:
    model = odd.model([helper.make_node("Relu", ["x"], ["y"])])
    assert netron_definition(model.graph.node[0], opset_versions(model))["version"] == 14
    assert netron_definition(odd.custom_operator().graph.node[0], {}) == {}


def test_folders_of_models_are_searched(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    save(odd.no_outputs(), tmp_path / "in" / "a.onnx")
    assert list(given_files([str(tmp_path), "b.onnx"])) == [tmp_path / "in" / "a.onnx", Path("b.onnx")]
