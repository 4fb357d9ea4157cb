"""`Known`: a folder of data in which some costs are known, and runs on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from collage_core.pipeline.record import read_record

from .command import brief_collage


def assert_right(found: dict[str, Any]) -> None:
    """The plan covers every node once, with costs that were measured, and computes what the model computes."""
    assert sorted(node for partition in found["plan"]["partitions"] for node in partition["nodes"]) == [0, 1, 2, 3]
    assert {partition["source"] for partition in found["plan"]["partitions"]} == {"measured"}
    assert found["verify"]["max_rel_error"] <= 1e-3
    assert found["search"]["optimal"]


class Known:
    """A folder of data in which some costs of the chain on ONNX Runtime are known."""

    def __init__(self, chain: Path, folder: Path):
        self.home, self.out = folder / "home", folder / "out"
        self.database = self.home / "costs.sqlite3"
        self.command = ["partition", str(chain), "--targets", "onnxruntime", "--no-fold", "--out", str(self.out)]

    def run(self, *more: str) -> tuple[dict[str, Any], str]:
        """What a right run found of its target, and what it said beside it."""
        done = brief_collage(self.home, *self.command, *more)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return self.found(), done.stderr

    def found(self) -> dict[str, Any]:
        """What the last run found of its target; it was right."""
        record = read_record(self.out / "run.json.gz").document
        assert_right(record)
        return record["targets"][0]

    def rows(self, of: str = "TRUE") -> int:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(f"SELECT count(*) FROM measurements WHERE {of}").fetchone()[0]

    def imported(self, said: str, shown: Callable[..., tuple[int, str, str]], folder: Path) -> int:
        """How many costs the file holds that `said` names as what could not be kept."""
        (file,) = self.home.glob("costs-not-saved-*.jsonl")
        assert f"costs could not be kept; they are in {str(file)!r}, which `collage costs import` reads" in said
        status, _, err = shown("costs", "import", file, "--db", folder / "imported.sqlite3", "--json")
        assert status == 0, err
        with closing(sqlite3.connect(folder / "imported.sqlite3")) as connection:
            return connection.execute("SELECT count(*) FROM measurements").fetchone()[0]
