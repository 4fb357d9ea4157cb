"""Traces of runs: made on demand, read chunk by chunk, stopped, dropped; errors are reported, and nothing is left behind."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from collage_core.trace.trace_file import FILE_NAME, PARTIAL_NAME
from collage_server.runs import run_store
from tests.helpers.live import Live, until

from ..routes.test_run_routes import error_of


@pytest.fixture(scope="module")
def base(live: Live, model: str) -> str:
    return str(live.ended(live.start(model, "fast")["id"])["id"])


def searched(live: Live, model: str, base: str, *targets: str) -> str:
    """A run over known costs, whose constraints say what becomes of its trace."""
    constraints = [{"kind": "veto", "target": target} for target in targets]
    return str(live.ended(live.start(model, "fast", base=base, constraints=constraints)["id"])["id"])


def answer_of(live: Live, method: str, path: str) -> requests.Response:
    return live.http.request(method, f"{live.address}api/v1/runs/{path}", timeout=30)


def traced(live: Live, run: str) -> dict[str, Any]:
    """Its `TraceState` when that is settled."""
    live.post(f"runs/{run}/trace")
    return until(lambda: (state := live.get(f"runs/{run}/trace"))["state"] != "tracing" and state, "the trace")


def test_a_trace_is_made_on_demand_and_read_in_chunks(live: Live, base: str) -> None:
    assert live.get(f"runs/{base}/trace") == {"run": base, "state": "none", "steps": 0, "facts": None, "error": None}
    status, error = error_of(live, "GET", f"runs/{base}/trace/chunks/0")
    assert (status, error["code"]) == (404, "no_trace")
    state = traced(live, base)
    assert (state["state"], state["error"]) == ("ready", None)
    facts = state["facts"]
    assert (facts["steps"], facts["chunk_steps"], facts["reasons"]) == (4, 2, ["overlaps"])
    assert facts["size_bytes"] == (run_store.run_folder(base) / FILE_NAME).stat().st_size
    assert [walk["result"] and walk["result"]["total_s"] for walk in facts["searches"]] == [None, 0.01]
    assert [live.get(f"runs/{base}/trace/chunks/{number}") for number in (1, 0)] == [
        {"first": 2, "kinds": "pe"},
        {"first": 0, "kinds": "bt"},
    ]
    again = answer_of(live, "POST", f"{base}/trace")
    assert (again.status_code, again.json()) == (200, state), "it is not made twice"


def test_chunks_come_compressed_to_those_who_take_it(live: Live, base: str) -> None:
    traced(live, base)
    address = f"{live.address}api/v1/runs/{base}/trace/chunks/0"
    packed = live.http.get(address, headers={"Accept-Encoding": "gzip"}, timeout=30)
    bare = live.http.get(address, headers={"Accept-Encoding": ""}, timeout=30)
    assert (packed.headers.get("Content-Encoding"), bare.headers.get("Content-Encoding")) == ("gzip", None)
    assert packed.json() == bare.json()


@pytest.mark.parametrize(
    ("number", "status", "code"), [("2", 404, "no_chunk"), ("x", 400, "invalid"), ("-1", 400, "invalid"), ("²", 400, "invalid")]
)
def test_chunks_that_there_are_not(live: Live, base: str, number: str, status: int, code: str) -> None:
    traced(live, base)
    found, error = error_of(live, "GET", f"runs/{base}/trace/chunks/{number}")
    assert (found, error["code"]) == (status, code)


def test_one_that_takes_longer_is_asked_for_again_and_is_the_only_one(live: Live, model: str, base: str) -> None:
    run = searched(live, model, base, "slow")
    first = answer_of(live, "POST", f"{run}/trace")
    assert (first.status_code, first.json()["state"]) == (202, "tracing")
    assert until(lambda: live.get(f"runs/{run}/trace")["steps"]) == 2
    assert live.post(f"runs/{run}/trace")["state"] == "tracing", "asking twice is asking once"
    other = searched(live, model, base)
    status, error = error_of(live, "POST", f"runs/{other}/trace")
    assert (status, error["code"], error["message"]) == (409, "busy", f"the search of the run {run!r} is being traced")
    (run_store.run_folder(run) / "go").touch()
    assert until(lambda: (state := live.get(f"runs/{run}/trace"))["state"] != "tracing" and state)["state"] == "ready"


def test_stopping_leaves_nothing(live: Live, model: str, base: str) -> None:
    run = searched(live, model, base, "slow")
    live.post(f"runs/{run}/trace")
    assert answer_of(live, "DELETE", f"{run}/trace").status_code == 204
    assert live.get(f"runs/{run}/trace")["state"] == "none"
    folder = run_store.run_folder(run)
    assert not (folder / FILE_NAME).exists()
    assert not (folder / PARTIAL_NAME).exists()
    live.post(f"runs/{run}/trace")
    assert answer_of(live, "DELETE", run).status_code == 204, "a run that is being traced can be deleted"
    assert not folder.exists()


def test_a_trace_is_dropped(live: Live, model: str, base: str) -> None:
    run = searched(live, model, base)
    assert traced(live, run)["state"] == "ready"
    assert answer_of(live, "DELETE", f"{run}/trace").status_code == 204
    assert live.get(f"runs/{run}/trace")["state"] == "none"


def test_what_fails_is_said_and_can_be_tried_again(live: Live, model: str, base: str) -> None:
    state = traced(live, searched(live, model, base, "untraceable"))
    assert (state["state"], state["error"]["message"]) == ("failed", "the searcher 'old' is not known here")
    state = traced(live, searched(live, model, base, "deadly"))
    assert (state["state"], state["error"]["code"]) == ("failed", "internal")
    assert state["error"]["message"].startswith("tracing failed: ")
    run = searched(live, model, base)
    (run_store.run_folder(run) / FILE_NAME).write_bytes(b"no zip")
    state = live.get(f"runs/{run}/trace")
    assert (state["state"], state["error"]["code"], state["error"]["hint"]) == ("failed", "bad_trace", "trace the search again")
    assert traced(live, run)["state"] == "ready"


def test_tracing_gives_way_to_a_run_that_measures(live: Live, model: str, base: str) -> None:
    run = searched(live, model, base, "slow")
    assert live.post(f"runs/{run}/trace")["state"] == "tracing"
    measuring = live.start(model, "wait")["id"]
    state = until(lambda: (got := live.get(f"runs/{run}/trace"))["state"] != "tracing" and got)
    assert (state["state"], state["error"]["code"]) == ("failed", "gave_way")
    status, error = error_of(live, "POST", f"runs/{run}/trace")
    assert (status, error["code"], error["message"]) == (409, "busy", "a run is measuring, and tracing would spoil its times")
    (run_store.run_folder(measuring) / "go").touch()
    assert live.ended(measuring)["state"] == "done"


def test_a_run_without_a_plan_has_nothing_to_trace(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "crash")["id"])["id"]
    status, error = error_of(live, "POST", f"runs/{run}/trace")
    assert (status, error["code"]) == (409, "no_record")
