"""The report by its route: it holds what the server answers the page, also where the search can't be traced; refusals as everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.collage_server.routes.test_run_routes import error_of
from tests.helpers.live import Live
from tests.helpers.report import answers_in, config_of

READS = (
    "",
    "/candidates",
    "/rules",
    "/estimates",
    "/node-times",
    "/shapes",
    "/bodies",
    "/log",
    "/trace",
    "/trace/chunks/0",
    "/trace/chunks/1",
)


def report_of(live: Live, run: str) -> str:
    answer = live.http.get(f"{live.address}api/v1/runs/{run}/report", timeout=60)
    assert answer.status_code == 200, answer.text
    assert f"-{run}-report.html" in answer.headers["Content-Disposition"]
    return answer.text


@pytest.fixture(scope="module")
def base(live: Live, model: str) -> str:
    return str(live.ended(live.start(model, "fast")["id"])["id"])


@pytest.fixture(scope="module")
def report(live: Live, base: str) -> str:
    return report_of(live, base)


def test_it_holds_what_the_server_answers(live: Live, model: str, base: str, report: str) -> None:
    answers = answers_in(report)
    asked = [f"runs/{base}{read}" for read in READS] + [f"models/{model}{read}" for read in ("/graph", "/groups")]
    assert {path: answers[f"GET {path}"] for path in asked} == {path: live.get(path) for path in asked}
    assert answers[f"GET models/{model}"] == {**live.get(f"models/{model}"), "is_missing": True}, "this engine reads no files"
    assert [row["id"] for row in answers["GET runs"]["runs"]] == [base]


def test_it_holds_the_candidates_of_every_node_each_once(live: Live, base: str, report: str) -> None:
    packed = answers_in(report)[f"GET runs/{base}/candidates?node=*"]
    assert [row["id"] for row in packed["candidates"]] == ["c0", "c9"]
    for node, rows in enumerate(packed["nodes"]):
        answer: dict[str, Any] = live.get(f"runs/{base}/candidates?node={node}")
        assert [packed["candidates"][index] for index in rows["candidates"]] == answer["candidates"]
        assert [packed["rejections"][index] for index in rows["rejections"]] == answer["rejections"]


def test_it_says_what_it_is_of(base: str, model: str, report: str) -> None:
    config = config_of(report)
    assert (config["model"], config["report"]["run"]) == (model, base)
    assert config["report"]["machine"] == "the fake machine"
    assert config["report"]["versions"]["fast"] == "1.0"
    assert not config["local_paths"]


def test_without_a_trace_it_says_why(live: Live, model: str, base: str) -> None:
    veto = [{"kind": "veto", "target": "untraceable"}]
    run = live.ended(live.start(model, "fast", base=base, constraints=veto)["id"])["id"]
    state = answers_in(report_of(live, run))[f"GET runs/{run}/trace"]
    assert (state["state"], state["facts"]) == ("failed", None)
    assert "the searcher 'old' is not known here" in state["error"]["message"]


def test_a_run_without_a_plan_has_no_report(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "infeasible")["id"])["id"]
    status, error = error_of(live, "GET", f"runs/{run}/report")
    assert (status, error["code"]) == (409, "no_record")
    status, error = error_of(live, "GET", "runs/nothing/report")
    assert (status, error["code"]) == (404, "unknown_run")
