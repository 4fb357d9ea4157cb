"""Lists of workers that a scheduler sends; the connection itself is tested in `test_runner.py`."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.cost.fleet.client import MOST_WORKERS, Listed, listed


@pytest.mark.parametrize("info", [None, {}, {"workers": []}, {"workers": {"a": None}}, {"workers": {"a": {"collage": "{}"}}}])
def test_what_is_no_list_of_workers_is_refused(info: Any) -> None:
    with pytest.raises((TypeError, KeyError, AttributeError)):
        listed(info)


def test_of_a_scheduler_s_list_no_more_is_taken_than_a_run_can_use() -> None:
    about = "x" * 100_000
    workers = {f"tcp://{number}": {"name": "y" * 1000, "collage": about if number else 3} for number in range(1000)}
    found = listed({"workers": workers})
    assert len(found) == MOST_WORKERS
    assert found["tcp://0"] == Listed("y" * 300, b"")
    assert len(found["tcp://1"].about) < len(about)
