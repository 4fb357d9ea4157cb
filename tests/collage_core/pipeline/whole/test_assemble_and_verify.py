"""Phase 4 takes packages from the phases before it; the rest of it is in `test_partition.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

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
