"""Phase 4 takes packages from the phases before it, and leaves a whole artifact or none; the rest of it is in `test_partition.py`."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.graph.value_policy import FINITE
from collage_core.model.model import DRAWN
from collage_core.model.row_sets import RowSet
from collage_core.pipeline.whole import assemble_and_verify
from collage_core.pipeline.whole.assemble_and_verify import errors_of
from collage_core.pipeline.whole.references import Reference
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
    model: Any = SimpleNamespace(reference=lambda inputs: {"boxes": BOXES}, row_sets=lambda inputs: row_sets)
    built: Any = SimpleNamespace(references=[Reference(model, DRAWN, {})], pool=None, plan=SimpleNamespace(value_policy=FINITE))
    assert least <= errors_of(built, "plan", Path("nowhere"))[DRAWN]["boxes"] <= most


@pytest.fixture
def built_and_earlier(tmp_path: Path) -> tuple[Path, Path]:
    """A folder as it was built on another disk, and one with an earlier artifact."""
    built, out = tmp_path / "built", tmp_path / "out"
    for folder, text in ((built, "new"), (out, "old")):
        (folder / "partitions").mkdir(parents=True)
        for name in ("artifact.json", "module.so", "partitions/0.bin"):
            (folder / name).write_text(text)
    (out / "plan.json").write_text("kept")
    return built, out


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def on_another_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Let nothing be renamed across, and let a disk be full after `room` files."""
    rename, copy2, left = Path.rename, shutil.copy2, count(room, -1)

    def renamed(source: Path, target: Path) -> Path:
        if "built" in source.parts:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source))
        return rename(source, target)

    def copied(source: Path, target: Path) -> object:
        if next(left) <= 0:
            target.write_text("ha")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        return copy2(source, target)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(assemble_and_verify.shutil, "copy2", copied)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_disk_that_is_full_leaves_the_earlier_artifact_as_it_was(
    built_and_earlier: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    built, out = built_and_earlier
    before = contents(out)
    on_another_disk(monkeypatch, room)
    with pytest.raises(CollageError) as caught:
        assemble_and_verify._move(built, out)
    assert caught.value.message == f"cannot write the artifact '{out}': No space left on device"
    assert caught.value.hint == "make room there, or give another folder with --out; what was measured is stored"
    assert contents(out) == before


@pytest.mark.parametrize("is_near", [True, False], ids=["same disk", "another disk"])
def test_an_artifact_takes_the_place_of_the_earlier_one(
    built_and_earlier: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, is_near: bool
) -> None:
    built, out = built_and_earlier
    if not is_near:
        on_another_disk(monkeypatch, 99)
    assemble_and_verify._move(built, out)
    assert contents(out) == dict.fromkeys(("artifact.json", "module.so", "partitions/0.bin"), "new") | {"plan.json": "kept"}


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_run_on_a_small_disk_is_one_line_and_leaves_no_artifact(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", disk], capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        done = brief_collage(tmp_path / "home", "partition", "mini_mnist", "--targets", "onnxruntime", "--out", disk / "out")
        left = sorted(path.name for path in (disk / "out").iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 2
    assert f"error: cannot write the artifact '{disk / 'out'}': No space left on device\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert left == ["plan.json", "run.json.gz"]
