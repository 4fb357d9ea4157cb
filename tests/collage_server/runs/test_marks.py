"""A run's name, note and star. All of it outlives the server, and old runs have none."""

from __future__ import annotations

from typing import Any

import pytest
from fake_engine import FakeEngine

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.runs import marks as run_marks
from collage_server.runs import run_store
from tests.helpers.live import Live


@pytest.fixture(scope="module")
def done(live: Live, model: str) -> str:
    return live.ended(live.start(model, "fast")["id"])["id"]


def mark(live: Live, run: str, **change: Any) -> dict[str, Any]:
    answer = live.http.patch(f"{live.address}api/v1/runs/{run}", json=change, timeout=30)
    return {"status": answer.status_code, **answer.json()}


def row(live: Live, run: str) -> dict[str, Any]:
    return next(one for one in live.get("runs")["runs"] if one["id"] == run)


def test_marks_are_kept_one_by_one(live: Live, done: str) -> None:
    assert (row(live, done)["name"], row(live, done)["note"], row(live, done)["is_starred"]) == ("", "", False)
    assert mark(live, done, name="  the  good\none ")["name"] == "the good one"
    mark(live, done, is_starred=True)
    assert mark(live, done, note="as of Monday,\n12 ms <b>") == {"status": 200, **row(live, done)}
    assert (row(live, done)["name"], row(live, done)["note"], row(live, done)["is_starred"]) == (
        "the good one",
        "as of Monday,\n12 ms <b>",
        True,
    )
    assert mark(live, done, name="", is_starred=False)["name"] == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "x" * 121}, "the name has 121 characters, 120 are accepted"),
        ({"note": "x" * 2001}, "the note has 2001 characters, 2000 are accepted"),
        ({"name": "bell \x07"}, "the name holds characters that cannot be shown"),
        ({"is_starred": "yes"}, "is_starred is 'yes', it must be a valid boolean"),
        ({"colour": "red"}, "'colour' is no field of RunMarks"),
    ],
)
def test_mistakes(live: Live, done: str, change: dict[str, Any], says: str) -> None:
    answer = mark(live, done, **change)
    assert (answer["status"], answer["error"]["code"]) == (400, "invalid")
    assert says in answer["error"]["message"]


def test_marks_outlive_the_server_and_damage(live: Live, done: str) -> None:
    mark(live, done, name="kept")
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    rows = made.test_client().get("/api/v1/runs").json["runs"]
    assert next(one for one in rows if one["id"] == done)["name"] == "kept"
    made.extensions["collage"].close()
    for text in ("", "[]", '{"name": 3}', '{"other": 1}'):
        (run_store.run_folder(done) / run_marks.MARKS).write_text(text)
        assert row(live, done)["name"] == ""


def test_a_row_says_who_takes_how_long_and_whether_it_is_right(live: Live, done: str) -> None:
    got = row(live, done)
    assert (got["by_target"], got["moves_s"], got["optimal"], got["recorded"]) == ({"fast": 0.01}, 0.0, True, False)
    assert got["verify"]["max_rel_error"] == 1e-7
