"""Runs from their start to whatever they end in: done, cancelled, dead, failed; one measures at a time, searches wait for nobody."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from flask import Flask

from collage_core.documents.plan import PlanInfo
from collage_core.documents.verdict import Verdict
from collage_server.config import ServerConfig
from collage_server.messages.requests import RunRequest
from collage_server.messages.runs import VerifyInfo
from collage_server.runs import live_run, run_store
from collage_server.shared.run_files import ARTIFACT, STOP
from tests.helpers.live import DEADLINE_S, Live, put_model, until

from ..runs.test_state import START


def error_of(live: Live, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str]]:
    answer = live.http.request(method, live.address + "api/v1/" + path, json=body, timeout=30)
    return answer.status_code, answer.json()["error"]


@pytest.fixture(scope="module")
def done(live: Live, model: str) -> dict[str, Any]:
    """A run that went well."""
    made = live.start(model, "fast", "other", accuracy=0.5, time_limit_s=60)
    return live.ended(made["id"])


def test_created(live: Live, model: str) -> None:
    made = live.start(model, "fast")
    assert made["state"] in ("queued", "running", "done")
    assert (made["model"], made["model_name"], made["targets"]) == (model, "tiny", ["fast"])
    live.ended(made["id"])


def test_done(live: Live, done: dict[str, Any]) -> None:
    assert (done["state"], done["error"], done["artifact"], done["machine"]) == ("done", None, True, "the fake machine")
    assert done["plan"]["total_s"] == done["best_s"] == 0.01
    assert done["plan"]["transitions"] == [{"from": "host", "to": "fast", "tensor": "x", "bytes": 12, "cost_s": 0.0}]
    assert done["verify"]["reference"] == "fake"
    assert done["notes"] == ["tiny.onnx ['x'] 0.5 60"]
    assert (done["done"], done["total"]) == (2, 2)


def test_the_list_has_it(live: Live, done: dict[str, Any]) -> None:
    row = next(row for row in live.get("runs")["runs"] if row["id"] == done["id"])
    assert (row["state"], row["total_s"], row["constraints"], row["artifact"]) == ("done", 0.01, 0, True)


def test_events_are_kept_and_numbered(live: Live, done: dict[str, Any]) -> None:
    text = live.http.get(f"{live.address}api/v1/runs/{done['id']}/events", timeout=30).text
    items = [json.loads(line) for line in text.splitlines()]
    assert [item["seq"] for item in items] == list(range(1, done["seq"] + 1))
    assert [item["event"]["state"] for item in items if item["event"]["type"] == "RunStateChanged"] == ["queued", "running", "done"]
    progress = next(item["event"] for item in items if item["event"]["type"] == "SearchProgress")
    assert progress["best_s"] is None, "infinity is no JSON"


def test_the_log_has_the_decisions(live: Live, model: str, done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    log = live.get(f"runs/{done['id']}/log")
    types = [item["event"]["type"] for item in log["items"]]
    assert (types[0], types[-1], log["is_cut"]) == ("RunStateChanged", "RunStateChanged", False)
    assert {"CandidateCosted", "Note", "Verified"} <= set(types)
    assert not {"CandidateBuilding", "SearchProgress"} & set(types)
    clocks = [item["at_s"] for item in log["items"]]
    assert clocks == sorted(clocks)
    monkeypatch.setattr("collage_server.runs.service.LOG_ITEMS", 3)
    cut = live.get(f"runs/{done['id']}/log")
    assert (cut["items"], cut["is_cut"]) == (log["items"][-3:], True)


def test_the_log_of_a_run_that_goes_on_is_up_to_date(live: Live, model: str) -> None:
    run = live.start(model, "hang")["id"]
    until(lambda: len(live.get(f"runs/{run}")["notes"]) == 2)
    assert live.get(f"runs/{run}/log")["items"][-1]["event"]["text"].startswith("child")
    live.post(f"runs/{run}/cancel")


def test_candidates(live: Live, done: dict[str, Any]) -> None:
    got = live.get(f"runs/{done['id']}/candidates?node=1")
    assert (got["node"], got["candidates"][0]["id"], got["candidates"][0]["cost"]["seconds"]) == (1, "c0", None)
    for node in ("", "x", "-1", "1.5", "²", "9" * 30):
        status, error = error_of(live, "GET", f"runs/{done['id']}/candidates?node={node}")
        assert (status, error["code"]) == (400, "invalid")


def test_plan_and_document(live: Live, done: dict[str, Any]) -> None:
    targets = [{"name": name, "version": "1.0"} for name in done["targets"]]
    assert live.get(f"runs/{done['id']}/plan") == {"schema": 1, "targets": targets, "constraints": []}
    document = live.get(f"runs/{done['id']}/document")
    assert document["plan"]["total_s"] == 0.01
    bare = live.http.get(f"{live.address}api/v1/runs/{done['id']}/document", headers={"Accept-Encoding": ""}, timeout=30)
    assert "Content-Encoding" not in bare.headers
    assert bare.json() == document


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        ({"targets": []}, 400, "no_target", "no target was given"),
        ({"model": "nothing"}, 404, "unknown_model", "the model 'nothing' is not open here"),
        ({"model": "../../etc"}, 404, "unknown_model", "the model '../../etc' is not open here"),
        ({"accuracy": 0}, 400, "invalid", "'accuracy' is 0, it must be more than 0"),
        ({"budget_s": 0}, 400, "invalid", "'budget_s' is 0, it must be more than 0"),
        ({"time_limit_s": -1}, 400, "invalid", "'time_limit_s' is -1, it must be more than 0"),
        ({"base": "nothing"}, 404, "unknown_run", "there is no run 'nothing'"),
    ],
)
def test_mistakes(live: Live, model: str, body: dict[str, Any], status: int, code: str, message: str) -> None:
    got, error = error_of(live, "POST", "runs", {"model": model, "targets": ["fast"], **body})
    assert (got, error["code"], error["message"]) == (status, code, message)
    assert error["hint"]


def test_stale_model(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "changes.onnx"
    model = put_model(file, b"one")
    file.write_bytes(b"another")
    assert live.get(f"models/{model}")["stale"] is True
    status, error = error_of(live, "POST", "runs", {"model": model, "targets": ["fast"]})
    assert (status, error["code"]) == (409, "stale_model")
    assert error["message"] == f"the model file '{file}' was changed or removed since it was opened"


@pytest.mark.parametrize(
    ("target", "code", "message", "hint"),
    [
        ("crash", "died", r"the run's process crashed with SIGSEGV.*", "run it again: what was measured is stored"),
        ("exit", "died", r"the run's process ended with exit status 3; its last output: 'cannot allocate a grain of sand'", "error.log"),
        ("fault", "internal", "the run failed: RuntimeError: a wheel came off", "this is a fault of ours"),
        ("mistake", "unknown_target", "no toolchain is called 'mistake'", "these are known: fast"),
        ("infeasible", "infeasible", "no plan covers the model", "add a target"),
    ],
)
def test_a_run_that_fails_says_why_and_the_server_goes_on(live: Live, model: str, target: str, code: str, message: str, hint: str) -> None:
    end = live.ended(live.start(model, target)["id"])
    assert (end["state"], end["error"]["code"]) == ("failed", code)
    assert re.fullmatch(message, end["error"]["message"])
    assert hint in end["error"]["hint"]
    assert end["uncovered"] == ([1] if target == "infeasible" else [])
    assert end["notes"], "what was told before is kept"
    status, error = error_of(live, "GET", f"runs/{end['id']}/candidates?node=0")
    assert (status, error["code"]) == (409, "no_record")
    assert live.ended(live.start(model, "fast")["id"])["state"] == "done"


def test_the_traceback_of_a_fault_is_kept(live: Live, model: str) -> None:
    end = live.ended(live.start(model, "fault")["id"])
    assert "RuntimeError: a wheel came off" in (run_store.run_folder(end["id"]) / "error.log").read_text()


def test_a_wrong_plan_is_shown_as_wrong(live: Live, model: str) -> None:
    end = live.ended(live.start(model, "wrong")["id"])
    assert (end["state"], end["error"]["code"], end["artifact"]) == ("failed", "over_accuracy", False)
    assert "; of the toolchains alone fast comes nearest, off by 0.25; it parts from the reference at 'x'" in end["error"]["message"]
    assert end["error"]["hint"] == "--accuracy 0.25 takes fast alone; or name other targets with --targets"
    assert (end["verify"]["max_rel_error"], end["verify"]["errors"]) == (None, {"x": 0.5, "y": None}), "infinity is no JSON"
    assert end["plan"]["partitions"][0]["cost_s"] == 0.01
    assert live.get(f"runs/{end['id']}/candidates?node=0")["candidates"]


def test_cancel_ends_everything_that_the_run_started(live: Live, model: str) -> None:
    made = live.start(model, "hang")
    note = until(lambda: next(iter(live.get(f"runs/{made['id']}")["notes"][1:]), None), "the child")
    child = psutil.Process(int(note.split()[-1]))
    answer = live.post(f"runs/{made['id']}/cancel")
    assert answer["state"] == "cancelled"
    assert answer["plan"] is not None, "what was found is kept"
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the child's end")
    assert live.post(f"runs/{made['id']}/cancel")["state"] == "cancelled"


def test_a_cancelled_run_keeps_its_best_plan_with_its_costs_and_says_what_is_missing(live: Live, model: str) -> None:
    run = live.start(model, "stoppable")["id"]
    until(lambda: live.get(f"runs/{run}")["plan"] is not None, "a plan")
    live.post(f"runs/{run}/cancel")
    end = live.ended(run)
    assert (end["state"], end["error"], end["artifact"]) == ("cancelled", None, False)
    assert [part["cost_s"] for part in end["plan"]["partitions"]] == [0.01]
    assert end["cancelled"]["phase"] == "merge"
    assert end["cancelled"]["missing"][0] == "3 of 9 candidates have no known cost"
    assert live.get(f"runs/{run}/candidates?node=0")["candidates"], "its costs can be asked for"
    assert run_store.load(run) == live.services.runs.get(run), "the same after a restart"
    assert not (run_store.run_folder(run) / STOP).exists()
    built = live.post(f"runs/{run}/artifact")
    assert live.ended(built["id"])["artifact"] is True


def test_a_run_that_does_not_end_by_itself_is_ended(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "STOP_S", 0.2)
    run = live.start(model, "deaf")["id"]
    until(lambda: live.get(f"runs/{run}")["plan"] is not None, "a plan")
    assert live.post(f"runs/{run}/cancel")["state"] == "cancelled"


def test_a_run_whose_process_is_stopped_is_cancelled_at_once(live: Live, model: str) -> None:
    run = live.start(model, "deaf")["id"]
    until(lambda: live.get(f"runs/{run}")["plan"] is not None, "a plan")
    stopped = [process for worker in live.services.pool._all if worker.pid for process in (psutil.Process(worker.pid),)]
    stopped += [server for process in stopped if (server := process.parent()) is not None and server.pid != os.getpid()]
    for process in stopped:
        process.suspend()
    assert live.post(f"runs/{run}/cancel")["state"] == "cancelled", "it does not wait for half a minute"
    again = live.start(model, "fast")["id"]
    ended = live.ended(again)
    assert ended["state"] == "done", ended["error"]


def test_one_measures_at_a_time_and_searches_do_not_wait(live: Live, model: str, done: dict[str, Any]) -> None:
    first, second, third = (live.start(model, "wait")["id"] for _ in range(3))
    until(lambda: live.get(f"runs/{first}")["state"] == "running")
    assert live.get(f"runs/{second}")["state"] == "queued"
    assert live.post(f"runs/{second}/cancel")["state"] == "cancelled"
    again = live.start(model, "fast", base=done["id"])
    assert live.ended(again["id"])["state"] == "done"
    assert live.get(f"runs/{third}")["state"] == "queued"
    status, error = error_of(live, "DELETE", f"models/{model}")
    assert (status, error["code"]) == (409, "busy")
    status, error = error_of(live, "DELETE", f"runs/{third}")
    assert (status, error["message"]) == (409, f"the run {third!r} is queued")
    for run in (first, third):
        (run_store.run_folder(run) / "go").touch()
        assert live.ended(run)["state"] == "done"
    assert live.get(f"runs/{second}")["state"] == "cancelled"


def test_an_export_says_what_it_waits_for_and_can_be_cancelled(live: Live, model: str, done: dict[str, Any]) -> None:
    kept = live.ended(live.start(model, "fast", base=done["id"])["id"])["id"]
    runs = [live.start(model, "wait")["id"] for _ in range(2)]
    until(lambda: live.get(f"runs/{runs[0]}")["state"] == "running")
    assert live.post(f"runs/{kept}/artifact")["state"] == "queued"
    assert [live.get(f"runs/{run}")["waits_for"] for run in (*runs, kept)] == ["", "the run on tiny", "the run on tiny and 1 more"]
    assert live.post(f"runs/{runs[1]}/cancel")["state"] == "cancelled"
    assert live.get(f"runs/{kept}")["waits_for"] == "the run on tiny", "as soon as it changes"
    end = live.post(f"runs/{kept}/cancel")
    assert (end["state"], end["artifact"], end["waits_for"]) == ("done", False, "")
    assert end["plan"] is not None
    assert live.post(f"runs/{runs[0]}/cancel")["state"] == "cancelled"


def test_a_plan_is_built_and_timed_once_more(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "gap")["id"])
    assert run["verify"]["gap"].startswith("timed end to end, the plan takes 30 ms")
    assert live.post(f"runs/{run['id']}/artifact") == live.get(f"runs/{run['id']}"), "it is there"
    assert live.post(f"runs/{run['id']}/artifact?again=1")["state"] in ("queued", "running", "done")
    again = live.ended(run["id"])
    assert (again["artifact"], again["verify"]["gap"], again["verify"]["apart"], again["verify"]["measured_s"]) == (True, "", True, 0.008)


def test_an_artifact_stays_where_building_it_once_more_fails(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "gap", constraints=[{"kind": "veto", "target": "unbuildable"}])["id"])
    live.post(f"runs/{run['id']}/artifact?again=1")
    end = live.ended(run["id"])
    assert (end["state"], end["artifact"], end["error"]["message"]) == ("done", True, "assembling the plan failed: no linker")


def test_too_many_wait(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.services.queue, "_config", ServerConfig(waiting_runs=1))
    runs = [live.start(model, "wait")["id"]]
    until(lambda: live.get(f"runs/{runs[0]}")["state"] == "running")
    runs.append(live.start(model, "wait")["id"])
    status, error = error_of(live, "POST", "runs", {"model": model, "targets": ["wait"]})
    assert (status, error["code"], error["message"]) == (429, "too_many", "the queue is full: 1 run")
    for run in reversed(runs):
        assert live.post(f"runs/{run}/cancel")["state"] == "cancelled"


def test_many_at_once_keep_to_the_limit(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.services.queue, "_config", ServerConfig(waiting_runs=4))
    first = live.start(model, "wait")["id"]
    until(lambda: live.get(f"runs/{first}")["state"] == "running")
    checked, mine, check = threading.Barrier(10), threading.local(), live.services.queue.check_room

    def check_together() -> None:
        """All see that there is room before any of them takes it."""
        check()
        if not hasattr(mine, "has_checked"):
            mine.has_checked = True
            checked.wait(DEADLINE_S)

    monkeypatch.setattr(live.services.queue, "check_room", check_together)
    folders = set(run_store.runs_folder().iterdir())
    with ThreadPoolExecutor(10) as pool:
        asked = [pool.submit(live.services.control.create, RunRequest(model=model, targets=["wait"])) for _ in range(10)]
    made = [one.result().id for one in asked if one.exception() is None]
    refused = [one.exception() for one in asked if one.exception() is not None]
    assert len(made) == 4
    assert {error.code for error in refused} == {"too_many"}
    assert len(set(run_store.runs_folder().iterdir()) - folders) == 4, "nothing is left of those that were refused"
    monkeypatch.undo()
    for run in [*made, first]:
        assert live.post(f"runs/{run}/cancel")["state"] == "cancelled"


def test_search_only(live: Live, model: str, done: dict[str, Any]) -> None:
    pin = {"kind": "pin", "node": 0, "target": "fast"}
    made = live.ended(live.start(model, "fast", base=done["id"], constraints=[pin])["id"])
    assert (made["state"], made["base"], made["constraints"], made["artifact"]) == ("done", done["id"], [pin], False)
    assert (made["best_s"], made["verify"]) == (0.007, None)
    off = {"kind": "veto", "target": "other"}
    assert live.get(f"runs/{made['id']}/plan")["constraints"] == [pin, off], "a target that is left out is switched off"
    again = live.ended(live.start(model, "fast", "other", base=made["id"])["id"])
    assert again["state"] == "done", "a search can be the base of the next"


def test_a_search_on_known_costs_has_the_counts_of_its_base(live: Live, model: str, done: dict[str, Any]) -> None:
    assert done["counts"], "the fake run counts"
    made = live.start(model, "fast", base=done["id"])
    assert [one["unique"] for one in made["counts"]] == [one["unique"] for one in done["counts"]]
    assert live.ended(made["id"])["counts"] == done["counts"]


def test_constraints_of_one_decision_count_once(live: Live, model: str, done: dict[str, Any]) -> None:
    pins = [{"kind": "pin", "node": node, "target": "fast"} for node in (0, 1)]
    made = live.start(model, "fast", base=done["id"], constraints=pins, groups=[[0, 1]])
    assert live.ended(made["id"])["groups"] == [[0, 1]]
    assert next(row for row in live.get("runs")["runs"] if row["id"] == made["id"])["constraints"] == 1
    body = {"model": model, "targets": ["fast"], "base": done["id"], "constraints": pins, "groups": [[0, 2]]}
    status, error = error_of(live, "POST", "runs", body)
    assert (status, error["message"]) == (400, "'groups' names a constraint that there is not: 2 were given")


def test_time_from_request_to_new_plan_is_shown(live: Live, model: str, done: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The server's own share of it: the fake search takes no time."""
    times_s = []
    for _ in range(5):
        began = time.perf_counter()
        snapshot = live.start(model, "fast", base=done["id"])
        times_s.append(time.perf_counter() - began)
        assert live.ended(snapshot["id"])["best_s"] == 0.007
    with capsys.disabled():
        print(f"\nrequest to new plan: {', '.join(f'{seconds * 1e3:.0f}' for seconds in times_s)} ms", end=" ")


def test_search_that_cannot_hold(live: Live, model: str, done: dict[str, Any]) -> None:
    pins = [{"kind": "veto", "node": 1, "target": "fast"}, {"kind": "veto", "target": "impossible"}]
    end = live.ended(live.start(model, "fast", base=done["id"], constraints=pins)["id"])
    assert (end["state"], end["error"]["code"], end["uncovered"]) == ("failed", "infeasible", [1])
    assert end["conflict"] == [0], "a switched-off target is no constraint that the user listed"


def test_search_that_dies(live: Live, model: str, done: dict[str, Any]) -> None:
    end = live.ended(live.start(model, "fast", base=done["id"], constraints=[{"target": "crash"}])["id"])
    assert (end["state"], end["error"]["code"]) == ("failed", "died")
    assert live.ended(live.start(model, "fast", base=done["id"])["id"])["state"] == "done"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"targets": ["fast", "cudnn"]}, "unknown_target", "has no costs of 'cudnn'"),
        ({"model": "m"}, "other_model", "is one of the model 'tiny'"),
        ({"time_limit_s": 9}, "invalid", "time_limit_s cannot be set for a search on known costs"),
        ({"accuracy": -1}, "invalid", "'accuracy' is -1, it must be more than 0"),
        ({"time_limit_s": 9, "threads": 2}, "invalid", "time_limit_s and threads cannot be set for a search on known costs"),
    ],
)
def test_search_mistakes(live: Live, model: str, done: dict[str, Any], body: dict[str, Any], code: str, message: str) -> None:
    status, error = error_of(live, "POST", "runs", {"model": model, "targets": ["fast"], "base": done["id"], **body})
    assert (status, error["code"]) == (400, code)
    assert message in error["message"]


def test_base_without_a_record(live: Live, model: str) -> None:
    base = live.ended(live.start(model, "crash")["id"])["id"]
    status, error = error_of(live, "POST", "runs", {"model": model, "targets": ["crash"], "base": base})
    assert (status, error["code"], error["message"]) == (409, "no_record", f"the run {base!r} has no plan")


def test_artifact_on_demand(live: Live, model: str, done: dict[str, Any]) -> None:
    run = live.ended(live.start(model, "fast", base=done["id"])["id"])["id"]
    answer = live.http.post(f"{live.address}api/v1/runs/{run}/artifact", timeout=30)
    assert (answer.status_code, answer.json()["id"]) == (202, run)
    end = live.ended(run)
    assert (end["state"], end["artifact"], end["verify"]["measured_s"]) == ("done", True, 0.008)
    assert (run_store.run_folder(run) / ARTIFACT / "model.so").read_bytes() == b"built of tiny.onnx"
    assert live.http.post(f"{live.address}api/v1/runs/{run}/artifact", timeout=30).status_code == 200


def test_artifact_that_cannot_be_built_leaves_the_plan(live: Live, model: str, done: dict[str, Any]) -> None:
    run = live.ended(live.start(model, "fast", base=done["id"], constraints=[{"target": "unbuildable"}])["id"])["id"]
    live.post(f"runs/{run}/artifact")
    end = live.ended(run)
    assert (end["state"], end["artifact"], end["error"]["message"]) == ("done", False, "assembling the plan failed: no linker")
    assert end["plan"]["total_s"] == 0.007


def test_artifact_needs_the_model(live: Live, tmp_path: Path) -> None:
    model = put_model(tmp_path / "gone.onnx", b"soon gone")
    base = live.ended(live.start(model, "fast")["id"])["id"]
    run = live.ended(live.start(model, "fast", base=base)["id"])["id"]
    assert live.http.delete(f"{live.address}api/v1/models/{model}", timeout=30).status_code == 204
    status, error = error_of(live, "POST", f"runs/{run}/artifact")
    assert (status, error["code"], error["message"]) == (404, "unknown_model", "the model 'gone' is not open here")


def test_delete(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    folder = run_store.run_folder(run)
    assert live.http.delete(f"{live.address}api/v1/runs/{run}", timeout=30).status_code == 204
    assert not folder.exists()
    assert error_of(live, "GET", f"runs/{run}")[0] == 404


def test_ended_runs_in_memory_are_bounded(live: Live, model: str, done: dict[str, Any]) -> None:
    runs = [live.ended(live.start(model, "fast", base=done["id"])["id"]) for _ in range(10)]
    assert len(live.services.runs._live) <= 10
    assert [live.get(f"runs/{run['id']}") for run in runs] == runs, "those that are only on disk read the same"


def test_the_result_of_a_model_is_its_fastest_measured_run_and_only_without_one_a_prediction(app: Flask) -> None:
    def results(measured_s: float | None, total_s: float) -> Any:
        plan, verify = PlanInfo(total_s=total_s, partitions=()), VerifyInfo(measured_s, None, 0.0, None, None)
        told = Verdict(kind="faster", text=f"of {total_s}", is_good=measured_s is not None)
        snapshot = replace(START, id=run_store.new_run_id(), state="done", model="7" * 64, plan=plan, verify=verify, verdict=told)
        run_store.save(run_store.runs_folder() / snapshot.id, snapshot)
        return app.test_client().get("/api/v1/models").json["results"][snapshot.model]

    assert results(None, 1.0) == {"total_s": 1.0, "is_measured": False, "text": "of 1.0", "is_good": False}
    measured = {"total_s": 1.5, "is_measured": True, "text": "of 1.25", "is_good": True}
    assert results(1.5, 1.25) == measured, "what was predicted is less, and was not measured"
    assert results(None, 0.5) == measured
    assert results(1.25, 1.75)["total_s"] == 1.25
