"""`Known`: a data folder in which some costs are known, and runs on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from collage_core.documents.json_form import to_json
from collage_core.pipeline.record.record import read_record

from .command import brief_collage


def assert_right(found: dict[str, Any]) -> None:
    """Assert that the plan covers every node once, that its costs were measured, and that it computes what the model computes."""
    assert sorted(node for partition in found["plan"]["partitions"] for node in partition["nodes"]) == [0, 1, 2, 3]
    sources = {partition["source"] for partition in found["plan"]["partitions"]}
    assert sources == {"measured"}, found["plan"]["partitions"]
    assert found["verify"]["max_rel_error"] <= 1e-3
    assert found["search"]["optimal"]


class Known:
    """A data folder in which some costs of the chain on ONNX Runtime are known."""

    def __init__(self, chain: Path, folder: Path):
        self.home, self.out = folder / "home", folder / "out"
        self.database = self.home / "costs.sqlite3"
        self.command = ["partition", str(chain), "--targets", "onnxruntime", "--no-fold", "--budget", "10m", "--out", str(self.out)]

    def run(self, *more: str) -> tuple[dict[str, Any], str]:
        """Run once, and return what it found of its target, and its standard error; the run must be right."""
        done = brief_collage(self.home, *self.command, *more)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return self.found(), done.stderr

    def found(self) -> dict[str, Any]:
        """Return what the last run found of its target; it must have been right."""
        record = to_json(read_record(self.out / "run.json.gz").document)
        assert_right(record)
        return record["targets"][0]

    def rows(self, of: str = "TRUE") -> int:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(f"SELECT count(*) FROM measurements WHERE {of}").fetchone()[0]

    def imported(self, stderr: str, run: Callable[..., tuple[int, str, str]], folder: Path) -> int:
        """Return how many costs are in the file of costs that could not be kept, which `stderr` names."""
        (file,) = self.home.glob("costs-not-saved-*.jsonl")
        assert f" could not be kept; they are in {str(file)!r}, which `collage costs import` reads" in stderr
        status, _, err = run("costs", "import", file, "--db", folder / "imported.sqlite3", "--json")
        assert status == 0, err
        with closing(sqlite3.connect(folder / "imported.sqlite3")) as connection:
            return connection.execute("SELECT count(*) FROM measurements").fetchone()[0]
