"""Two servers on one folder: each shows the runs of the other as they go on, and disturbs none of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from collage_server.runs import run_store
from tests.collage_server.routes.test_sockets import is_over
from tests.helpers.live import TOKEN, Live, bearer, until
from tests.helpers.paths import ROOT


@dataclass
class Other:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    http: requests.Session

    def start(self, model: str, target: str) -> str:
        answer = self.http.post(f"{self.address}api/v1/runs", json={"model": model, "targets": [target]}, timeout=30)
        assert answer.ok, answer.text
        return str(answer.json()["id"])


@pytest.fixture
def other(home: Path) -> Iterator[Other]:
    command = [sys.executable, str(ROOT / "tests" / "plugins" / "fake_server.py")]
    environment = {**os.environ, "COLLAGE_HOME": str(home), "COLLAGE_TOKEN": TOKEN, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    with requests.Session() as http:
        http.headers.update(bearer(TOKEN))
        yield Other(process, process.stdout.readline().strip(), http)
    process.kill()
    process.communicate()


def test_a_run_of_the_other_is_followed_to_its_end(live: Live, model: str, other: Other) -> None:
    run = other.start(model, "wait")
    until(lambda: live.get(f"runs/{run}")["state"] == "running")
    listener = live.listen()
    listener.subscribe(run)
    until(lambda: live.get(f"runs/{run}")["notes"])
    refused = live.http.post(f"{live.address}api/v1/runs/{run}/cancel", timeout=30)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "other_server")
    (run_store.run_folder(run) / "go").touch()
    until(lambda: is_over(listener), "the end of the run")
    theirs = other.http.get(f"{other.address}api/v1/runs/{run}", timeout=30).json()
    assert (theirs["state"], theirs["plan"]["total_s"]) == ("done", 0.01)
    assert live.get(f"runs/{run}") == theirs
    assert listener.items[-1]["seq"] == theirs["seq"]
    costed = [item["event"] for item in listener.items if item["event"]["type"] == "CandidateCosted"]
    assert [event["done"] for event in costed] == [1, 2]
    assert next(row for row in live.get("runs")["runs"] if row["id"] == run)["state"] == "done"


@pytest.mark.long
def test_a_run_whose_server_is_killed_has_failed(live: Live, model: str, other: Other) -> None:
    run = other.start(model, "hang")
    listener = live.listen()
    listener.subscribe(run)
    until(lambda: live.get(f"runs/{run}")["plan"] is None and len(live.get(f"runs/{run}")["notes"]) == 2, "the second note")
    before = live.get(f"runs/{run}")["seq"]
    other.process.send_signal(signal.SIGKILL)
    other.process.wait()
    until(lambda: is_over(listener), "the end of the run")
    end = live.get(f"runs/{run}")
    assert (end["state"], end["error"]["code"]) == ("failed", "server_stopped")
    assert end["seq"] == listener.items[-1]["seq"] > before
    assert len(end["notes"]) == 2, "what it told is kept"


@pytest.mark.long
def test_a_run_that_the_other_has_deleted_is_forgotten(live: Live, model: str, other: Other) -> None:
    run = other.start(model, "wait")
    live.listen().subscribe(run)
    other.http.post(f"{other.address}api/v1/runs/{run}/cancel", timeout=30)
    until(lambda: other.http.get(f"{other.address}api/v1/runs/{run}", timeout=30).json()["state"] == "cancelled", "the end of the run")
    assert other.http.delete(f"{other.address}api/v1/runs/{run}", timeout=30).status_code == 204
    until(lambda: live.http.get(f"{live.address}api/v1/runs/{run}", timeout=30).status_code == 404)
