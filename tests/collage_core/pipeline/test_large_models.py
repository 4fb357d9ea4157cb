"""A run over a model whose weights stay in files: from the command line to an artifact that needs these files no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collage_core.model.files import external_data
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.manifest import WEIGHTS
from collage_core.toolchains.registry import get
from tests.helpers.large_models import Sizes, write_transformer

pytestmark = [pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason), pytest.mark.long]

SIZES = Sizes(layers=1, width=256)


def test_a_large_model_becomes_an_artifact_with_each_weight_once(
    shown: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    model, out = write_transformer(tmp_path, SIZES), tmp_path / "out"
    status, printed, said = shown("partition", str(model), "--targets", "onnxruntime", "--costs", "roofline", "--out", str(out), "--json")
    assert status == 0, said
    document = json.loads(printed)
    assert document["verify"]["max_rel_error"] < 1e-4
    assert f"the artifact holds {SIZES.weight_bytes / 1e9:.2f} GB of weights, as weights.bin" in said
    assert (out / WEIGHTS).stat().st_size == SIZES.weight_bytes
    assert not list((tmp_path / "home" / "scratch").rglob("*.bin"))
    inputs = {"x": np.random.default_rng(0).standard_normal((1, 8, 256), np.float32)}
    before = Artifact.open(out).run(inputs)["y"]
    for path in tmp_path.glob("transformer*"):
        path.unlink()
    assert np.array_equal(Artifact.open(out).run(inputs)["y"], before)
