"""Every border takes its seeds, and some damage to them; `make slow` goes on for a minute each."""

from __future__ import annotations

import pytest

from collage_core.cost.database.import_export import read_file
from collage_core.pipeline.record.record import read_record
from tests.fuzz.__main__ import CORPUS, attempt, made_input, seeds
from tests.fuzz.borders import BORDERS, MODEL_S, WORKER
from tests.fuzz.server_borders import SERVERS

TURNS = {"model": 4, "relax": 4, "loaded": 10, "record": 15, "row": 20, "access": 8, "api": 8, "sockets": 8, "serving": 8}


def test_every_border_has_seeds_and_all_of_them_are_small() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(BORDERS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 200_000


def test_seeds_of_records_and_of_costs_are_whole() -> None:
    """A seed that is refused at once leads the fuzzer nowhere."""
    assert read_record(CORPUS / "record" / "run.json.gz").candidates
    for name in ("costs.sqlite3", "export.jsonl"):
        assert read_file(str(CORPUS / "row" / name)).records


@pytest.mark.parametrize("name", BORDERS)
def test_whatever_comes_is_read_or_is_a_clear_error(name: str) -> None:
    kept = seeds(name)
    with WORKER, SERVERS:
        _attempt_all(name, kept)


def _attempt_all(name: str, kept: list[bytes]) -> None:
    for turn in range(len(kept) + TURNS.get(name, 40)):
        said = attempt(BORDERS[name], made_input(name, kept, 0, turn), MODEL_S)
        assert not said, f"turn {turn} of seed 0 (`python -m tests.fuzz --only {name} --seed 0` makes it again)"
