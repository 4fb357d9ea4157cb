"""Runs survive the server; those under way when it ended have failed, and say so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from fake_engine import FakeEngine

from collage_core.documents.plan import MeasuredPlan, PlanInfo
from collage_core.documents.verdict import Verdict
from collage_core.events import CandidateCosted, PhaseStarted
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.http.error_answers import Problem
from collage_server.messages.live import Numbered, RunState
from collage_server.messages.requests import RunRequest
from collage_server.messages.runs import Baseline, PlanResult, RunSnapshot, VerifyInfo
from collage_server.runs import run_store
from collage_server.runs.factory import RunFactory
from collage_server.runs.journal import Journal
from collage_server.runs.state import finish
from collage_server.shared.run_files import RECORD
from tests.helpers.live import Live, until

from .test_state import DOCUMENT, START, after

SERVER = """
import sys
from collage_server.app import create_app
from collage_server.config import ServerConfig
from fake_engine import FakeEngine
from collage_server.messages.requests import RunRequest
app, _ = create_app(ServerConfig(engine=FakeEngine()))
control = app.extensions["collage"].control
for target in ("hang", "fast"):
    print(control.create(RunRequest(sys.argv[1], [target])).id, flush=True)
sys.stdin.read()
"""


def stored(home: Path, run: str, state: RunState, start: RunSnapshot = START) -> RunSnapshot:
    snapshot = RunSnapshot(**{**vars(start), "id": run, "state": state})
    run_store.save(run_store.runs_folder() / run, snapshot)
    return snapshot


VERDICT = Verdict(kind="faster", text="1.67 times faster than a alone", is_good=True)


def test_a_result_is_the_measured_time_where_there_is_one_with_the_verdict() -> None:
    assert run_store.result_of(1.0, 1.5, VERDICT) == PlanResult(1.5, True, VERDICT.text, True)
    assert run_store.result_of(1.0, None, None) == PlanResult(1.0, False, "", False)


MEASURED_ALONE = replace(
    START,
    plan=PlanInfo(total_s=1.0, partitions=()),
    baselines=[Baseline("a", 2.0, 2.5)],
    verify=VerifyInfo(9.0, None, 0.0, None, None, apart=True),
    verdict=VERDICT,
)


def test_a_plan_that_was_timed_by_itself_has_the_time_that_it_took_beside_the_baselines() -> None:
    alone = run_store.summary(MEASURED_ALONE)
    assert (alone.measured_s, alone.result) == (None, PlanResult(1.0, False, VERDICT.text, True))
    row = MeasuredPlan("a", "baseline", 1.0, 1.5, None, 5, "", True, 1)
    beside = run_store.summary(replace(MEASURED_ALONE, alternatives=[replace(row, measured_s=2.5, is_plan=False), row]))
    assert (beside.measured_s, beside.result) == (1.5, PlanResult(1.5, True, VERDICT.text, True))
    unverified = run_store.summary(replace(MEASURED_ALONE, alternatives=[row], verify=None))
    assert unverified.measured_s is None
    whole = run_store.summary(replace(MEASURED_ALONE, verify=VerifyInfo(1.75, None, 0.0, None, None)))
    assert (whole.measured_s, whole.result) == (1.75, PlanResult(1.75, True, VERDICT.text, True))


def disown(run: str) -> None:
    """As if the server that it belongs to had ended."""
    (run_store.run_folder(run) / run_store.OWNER).write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))


def test_what_is_saved_is_read_back(home: Path) -> None:
    rich = finish(after({"type": "Note", "text": "n"}), DOCUMENT)
    for state in ("done", "failed", "cancelled", "recorded", "running"):
        snapshot = stored(home, f"kept-{state}", state, rich)  # type: ignore[arg-type]
        assert run_store.load(f"kept-{state}") == snapshot


@pytest.mark.parametrize("state", ["queued", "running"])
def test_nobody_runs_it_any_more(home: Path, state: RunState) -> None:
    stored(home, f"left-{state}", state)
    assert run_store.load(f"left-{state}").state == state, "its server lives"
    disown(f"left-{state}")
    for snapshot in (run_store.load(f"left-{state}"), run_store.load(f"left-{state}")):
        assert (snapshot.state, snapshot.error) == ("failed", run_store.STOPPED)
    assert next(row for row in run_store.summaries() if row.id == f"left-{state}").state == "failed"


def test_what_the_journal_tells_is_not_lost_with_the_server(home: Path) -> None:
    stored(home, "half", "running")
    journal = Journal(run_store.run_folder("half"))
    told = [PhaseStarted("costs"), CandidateCosted("a", ("c",), "Conv", {"seconds": 1.0, "source": "measured"}, False, 1, 9, took_s=2.0)]
    for seq, event in enumerate(told, 1):
        journal.add(Numbered(seq, event.to_json(), float(seq)))
    journal.add(Numbered(3, {"type": "PhaseEnded"}, 3.0))
    journal.close()
    going = run_store.load("half")
    assert (going.state, going.seq, going.phase, going.done) == ("running", 2, "costs", 1), "another server's run, as far as it is told"
    disown("half")
    ended = run_store.load("half")
    assert (ended.state, ended.phase, ended.counts[0].measured, ended.counts[0].trials_s) == ("failed", None, 1, 2.0)
    assert ended.seq > going.seq + 100_000, "pages may have heard of more than was written"
    assert run_store.load("half") == ended


def test_the_list_settles_what_nobody_runs(home: Path) -> None:
    stored(home, "listed", "running")
    disown("listed")
    assert next(row for row in run_store.summaries() if row.id == "listed").state == "failed"


@pytest.mark.parametrize(("run", "state"), [("building", "done"), ("recorded-building", "recorded")])
def test_only_its_artifact_was_being_built(home: Path, run: str, state: str) -> None:
    stored(home, run, "running", finish(START, DOCUMENT))
    (run_store.run_folder(run) / RECORD).touch()
    disown(run)
    assert (run_store.load(run).state, run_store.load(run).error) == (state, run_store.STOPPED)


@pytest.mark.parametrize("run", ["nothing", "", "..", "../models", "a/b", ".hidden"])
def test_no_such_run(home: Path, run: str) -> None:
    with pytest.raises(Problem) as caught:
        run_store.load(run)
    assert (caught.value.status, caught.value.message) == (404, f"there is no run {run!r}")


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"id": 3}'])
def test_damaged_run(home: Path, text: str) -> None:
    stored(home, "damaged", "done")
    (run_store.run_folder("damaged") / run_store.SNAPSHOT).write_text(text)
    with pytest.raises(Problem, match="the files of run 'damaged' are damaged"):
        run_store.load("damaged")
    (run_store.run_folder("damaged") / run_store.SUMMARY).write_text(text)
    assert "damaged" not in [row.id for row in run_store.summaries()]


def is_running_python(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.name().startswith("python")
    except psutil.NoSuchProcess:
        return False


def test_a_killed_server_leaves_no_process_and_its_runs_have_failed(home: Path, model: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    )
    assert process.stdout is not None
    first, second = (process.stdout.readline().strip() for _ in range(2))
    until(lambda: run_store.load(first).state == "running", "the run")
    family = until(lambda: psutil.Process(process.pid).children(recursive=True))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until(lambda: not any(is_running_python(child) for child in family), "the end of its processes")
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    with made.app_context():
        runs = made.extensions["collage"].runs
        for run in (first, second):
            assert (runs.get(run).state, runs.get(run).error.code) == ("failed", "server_stopped")
    made.extensions["collage"].close()
    for child in family:
        if child.is_running():
            child.kill()  # what the fake run had started itself


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_a_server_that_ends_orderly_stops_its_runs(home: Path, model: str) -> None:
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    runs, control = made.extensions["collage"].runs, made.extensions["collage"].control
    first, second = (control.create(RunRequest(model, [target])).id for target in ("hang", "fast"))
    until(lambda: runs.get(first).state == "running")
    made.extensions["collage"].close()
    for run in (first, second):
        assert (run_store.load(run).state, run_store.load(run).error) == ("failed", run_store.STOPPED)


def test_a_plan_outlives_the_server_that_was_to_build_it_next(home: Path, model: str) -> None:
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    runs, control = made.extensions["collage"].runs, made.extensions["collage"].control
    base = control.create(RunRequest(model, ["fast"])).id
    until(lambda: runs.get(base).state == "done")
    planned = control.create(RunRequest(model, ["fast"], base=base)).id
    until(lambda: runs.get(planned).state == "done")
    before = control.create(RunRequest(model, ["hang"])).id
    until(lambda: runs.get(before).state == "running")
    assert control.build(planned)[0].state == "queued"
    made.extensions["collage"].close()
    assert (run_store.load(planned).state, run_store.load(planned).error) == ("done", run_store.STOPPED)


def test_two_exports_asked_for_at_once_are_one(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = live.ended(live.start(model, "fast")["id"])["id"]
    planned = live.ended(live.start(model, "fast", base=base)["id"])["id"]
    control, looked_up = live.services.control, RunFactory.model_file

    def slow(self: RunFactory, *names: str) -> tuple[Path, dict[str, list[int]]]:
        time.sleep(0.2)
        return looked_up(self, *names)

    monkeypatch.setattr(RunFactory, "model_file", slow)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: control.build(planned)[1], range(4)))
    assert sorted(answers) == [False, False, False, True]
    assert live.ended(planned)["artifact"]


def test_runs_of_an_earlier_server_are_there(home: Path, live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast")["id"])
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    client = made.test_client()
    assert client.get(f"/api/v1/runs/{run['id']}").json == run
    assert client.get(f"/api/v1/runs/{run['id']}/candidates?node=0").json["candidates"]
    again = client.post("/api/v1/runs", json={"model": model, "targets": ["fast"], "base": run["id"]}).json
    until(lambda: client.get(f"/api/v1/runs/{again['id']}").json["state"] == "done")
    made.extensions["collage"].close()
