"""Drawn variants of the nine networks: the same for a seed, of all kinds, and models that run."""

from __future__ import annotations

from pathlib import Path

import onnx
from drawn import drawn
from suite import NETWORKS

from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.pipeline.record.record import read_record
from tests.helpers.paths import ROOT

RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"


def test_a_seed_draws_the_same_and_nine_in_a_row_have_all_kinds() -> None:
    cases = drawn(20, seed=7)
    assert [case.name for case in cases] == [case.name for case in drawn(20, seed=7)]
    assert [case.name for case in cases] != [case.name for case in drawn(20, seed=8)]
    kinds = [case.name.partition("-")[0] for case in cases]
    assert sorted(kinds[:9]) == sorted(kinds[9:18]) == sorted(network.name for network in NETWORKS)
    assert len({case.name for case in cases}) == 20
    assert {case.accuracy for case in cases if case.name.startswith("speech_lstm")} == {5e-2}


def test_a_drawn_model_has_the_sizes_of_its_name(tmp_path: Path) -> None:
    crnn = next(case for case in drawn(9, seed=1) if case.name.startswith("crnn-"))
    across = int(crnn.name.partition("across=")[2].partition("-")[0])
    (image,) = onnx.load(crnn.written(tmp_path).source).graph.input
    assert [dim.dim_value for dim in image.type.tensor_type.shape.dim] == [1, 1, 32, across]


def test_the_samples_are_what_they_were_before_their_sizes_could_be_drawn() -> None:
    """Recorded runs name a sample by its bytes."""
    for name in ("crnn", "speech_lstm"):
        recorded = read_record(RECORDED / f"{name}.json.gz")
        assert load_model(resolve(name)).hash == recorded.document.model.hash
