"""Cores of the workers of an embedded fleet; the fleet itself is tested in `test_runner.py`."""

from __future__ import annotations

import pytest

from collage_core.cost.fleet.local import _shares


def test_workers_of_an_embedded_fleet_have_cores_of_their_own_where_there_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 3, 4})
    assert _shares(2) == [{0, 1}, {2, 3}]
    assert _shares(6) == [None] * 6
