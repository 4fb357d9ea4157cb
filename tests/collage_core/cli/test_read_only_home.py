"""Commands that keep nothing work where nothing can be kept, and a run says at its start that it keeps nothing."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from collage_core.base import home as home_module
from collage_core.base.home import home, home_path, temporary_folder, why_nothing_is_kept, writable_home
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from tests.helpers.command import brief_collage
from tests.helpers.cost_records import KEY, RECORD

UNKEPT = "cannot keep data in '{}': it is not writable"


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    """A home in which a cost is kept, and an artifact."""
    kept, out = tmp_path / "home", tmp_path / "out"
    kept.mkdir()
    with CostDatabase(kept / FILE_NAME) as database:
        database.put(KEY, RECORD)
    model = sub_model([node("Relu", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("onnxruntime", ("r",), model, "p")], model.inputs, ["y"], out, 1, form="native")
    return kept, out


@pytest.fixture
def read_only(run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """The same, where no file of the home may be made or changed; the tests may run as root, whom no mode of a folder holds up."""
    kept, out = run
    before = {path: path.stat().st_mtime_ns for path in kept.rglob("*")}
    access = home_module.os.access
    monkeypatch.setattr(home_module.os, "access", lambda path, mode: Path(path) != kept and access(path, mode))
    yield kept, out
    assert {path: path.stat().st_mtime_ns for path in kept.rglob("*")} == before


@pytest.mark.parametrize("words", [("run", "OUT"), ("costs", "show"), ("candidates", "mini_mnist", "--targets", "onnxruntime")])
def test_what_keeps_nothing_works_where_nothing_can_be_kept(words: tuple[str, ...], read_only: tuple[Path, Path]) -> None:
    kept, out = read_only
    done = brief_collage(kept, *(word.replace("OUT", str(out)) for word in words))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_report_and_a_session_are_written_where_nothing_can_be_kept(read_only: tuple[Path, Path], tmp_path: Path) -> None:
    kept, _ = read_only
    made = tmp_path / "made"
    given = "--targets", "onnxruntime", "--costs", "roofline", "--out", made
    for words in (("partition", "mini_mnist", *given), ("report", made, "-o", made / "report.html"), ("export", made, "--as", "session")):
        done = brief_collage(kept, *words)
        assert done.returncode == 0, done.stderr
    assert (made / "report.html").stat().st_size > 100_000
    assert (made / "run.collage").is_file()


def test_a_run_says_at_its_start_that_it_keeps_nothing(read_only: tuple[Path, Path], tmp_path: Path) -> None:
    kept, _ = read_only
    given = "--targets", "onnxruntime", "--costs", "roofline"
    done = brief_collage(kept, "partition", "mini_mnist", *given)
    assert done.returncode == 0, done.stderr
    said = f"note: {UNKEPT.format(kept)}: nothing of this run is stored there, and later runs cannot use its measurements"
    assert done.stderr.splitlines()[0] == said
    assert "is kept there" not in brief_collage(tmp_path, "partition", "mini_mnist", *given).stderr


def test_a_home_that_cannot_be_made_is_no_hindrance_either(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = brief_collage(tmp_path / "file" / "home", "partition", "mini_mnist", "--targets", "onnxruntime", "--costs", "roofline", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plan"]["partitions"]


def test_what_is_kept_is_seen_in_the_writable_home(read_only: tuple[Path, Path]) -> None:
    kept, _ = read_only
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(kept))
        assert why_nothing_is_kept() == UNKEPT.format(kept)
        with writable_home():
            assert home_path() != kept
            assert why_nothing_is_kept() == ""
            folder = home_path()
        assert home_path() == kept
        assert not folder.exists()


def test_a_container_whose_disks_are_read_only_works_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(home_module.tempfile, "gettempdir", none)
    monkeypatch.setattr(home_module, "_IN_MEMORY", str(tmp_path))
    assert temporary_folder().parent == tmp_path


def test_the_folder_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other accounts of the machine read no models; a folder that is there already, perhaps shared, stays as it is."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "new"))
    assert stat.S_IMODE(home().stat().st_mode) == 0o700
    home().chmod(0o755)
    assert stat.S_IMODE(home().stat().st_mode) == 0o755
