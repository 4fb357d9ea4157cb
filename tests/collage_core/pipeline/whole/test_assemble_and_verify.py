"""Phase 4 takes packages from the phases before it; the rest of it is in `test_partition.py`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collage_core.model.reference.row_sets import RowSet
from collage_core.pipeline.whole import assemble_and_verify
from collage_core.pipeline.whole.assemble_and_verify import errors_of
from collage_core.rewrite.runtime.manifest import NAME
from tests.helpers.command import brief_collage


@pytest.mark.long
def test_what_was_built_to_be_measured_is_not_built_again_for_the_artifact(tmp_path: Path) -> None:
    """Of the plan, and of each baseline that is timed beside it."""
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    asked = "partition", "mini_mnist", "--targets", "counted", "--out", out
    done = brief_collage(home, *asked, COLLAGE_TOOLCHAINS="tests.helpers.plug_ins:Counted")
    assert done.returncode == 0, done.stderr
    built = (home / "builds.txt").read_text().split()
    assert len(built) == len(set(built)) > 0
    assert (out / NAME).is_file()
    assert not list((home / "scratch").glob("*/packages"))


BOXES = np.random.default_rng(3).uniform(0, 320, (200, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("runs", "least", "most"),
    [
        ([BOXES[6:], BOXES[6:]], 0.0099, 0.0101),
        ([BOXES, np.concatenate([BOXES, BOXES[:2] + 200])], 0.0, 0.0),
        ([BOXES, BOXES[:, [2, 3, 0, 1]]], 0.15, 1.0),
        ([BOXES[:50], BOXES], 0.7, 0.75),
    ],
    ids=["as far as the model moves and a bit", "less far", "swapped corners in the second run", "most are missing"],
)
def test_a_detector_is_right_as_far_as_the_model_itself_moves(
    runs: list[np.ndarray], least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter(runs)
    monkeypatch.setattr(assemble_and_verify, "run_in_worker", lambda *given, **more: {"boxes": next(made)})
    row_sets = {"boxes": RowSet(0, is_ordered=False, moves=0.02)}
    built: Any = SimpleNamespace(inputs={}, pool=None, reference={"boxes": BOXES}, row_sets=row_sets)
    assert least <= errors_of(built, "plan", Path("nowhere"))["boxes"] <= most
