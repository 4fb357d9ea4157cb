"""A solver in a child process answers, and ends when it must."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.search.problem_json import problem_from_json
from collage_core.search.searcher import SearchRun
from collage_core.search.searchers import milp as milp_module
from collage_core.search.searchers.call_in_child import call_in_child
from collage_core.search.solve import solve


def endless() -> None:
    threading.Event().wait()


def children() -> list[str]:
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()


def test_the_answer_comes_back() -> None:
    assert call_in_child(lambda: {"x": os.getpid()}, lambda: False)["x"] != os.getpid()
    assert call_in_child(lambda: "a" * 5_000_000, lambda: False) == "a" * 5_000_000


def test_a_call_without_an_end_is_left_and_its_process_is_gone() -> None:
    before = children()
    assert call_in_child(endless, lambda: True) is None
    assert children() == before


def test_ctrl_c_ends_the_wait_and_the_child() -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt):
        call_in_child(endless, lambda: signal.raise_signal(signal.SIGINT) or False)
    assert children() == before


def test_a_child_that_dies_is_one_line() -> None:
    with pytest.raises(CollageError, match="the solver ended before its answer"):
        call_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: False)


def test_the_time_of_a_search_bounds_a_solver_that_does_not_look_at_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.optimize

    monkeypatch.setattr(milp_module, "SMALL_PROGRAM", 0)
    monkeypatch.setattr(scipy.optimize, "milp", lambda **_: endless())
    edges = [[-1, 0, 4], [0, 1, 4]]
    candidates = [{"nodes": [node], "target": target, "cost_s": 1.0} for node in (0, 1) for target in ("a", "b")]
    problem = problem_from_json({"schema": 1, "nodes": 2, "edges": edges, "candidates": candidates})
    found = milp_module.milp(problem, range(4), SearchRun(should_stop=iter([False] * 3 + [True] * 99).__next__))
    assert (found.chosen, found.optimal) == ((), False)
    assert len(solve(problem, search="milp", run=SearchRun(should_stop=iter([False] * 3 + [True] * 99).__next__)).chosen) == 2
