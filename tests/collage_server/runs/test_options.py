"""The options of a run: checked by the engine one by one, refused at the start, kept with the run and with what is searched on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brief_engine import BriefEngine
from flask.testing import FlaskClient

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.messages.requests import RunOptions

WRONG: list[tuple[dict[str, Any], str, str, str]] = [
    ({"threads": 0}, "threads", "", "--threads is 0, it must be at least 1"),
    ({"threads": 1_000_000}, "threads", "", "--threads is 1000000, it must be at most 1024"),
    ({"max_depth": {"tvm": 3, "": 0}}, "max_depth", "", "--max-depth is 0, it must be at least 1"),
    ({"max_depth": {"ncnn": 3}}, "max_depth", "ncnn", "an option names the target 'ncnn', which is not among --targets"),
    ({"max_exits": {"tvm": -1}}, "max_exits", "tvm", "--max-exits tvm is -1, it must be at least 1"),
    ({"taps": ["ncnn"]}, "taps", "", "an option names the target 'ncnn', which is not among --targets"),
    ({"fusion": {"tvm": "most"}}, "fusion", "tvm", "unknown fusion style 'most' for tvm"),
    ({"percentile": 100}, "percentile", "", "--percentile is 100, it must be between 0 and 100"),
    ({"value_policy": "all"}, "value_policy", "", "unknown value policy 'all'"),
    ({"search": "luck"}, "search", "", "unknown search 'luck'"),
    ({"objective": "beauty"}, "objective", "", "beauty"),
    ({"budget_s": 0}, "budget_s", "", "--budget is 0, it must be more than 0"),
    ({"tune_s": 0}, "tune_s", "", "--tune is 0, it must be more than 0"),
    ({"time_limit_s": 0}, "time_limit_s", "", "--time-limit is 0, it must be more than 0"),
    ({"accuracy": -1}, "accuracy", "", "--accuracy is -1, it must be more than 0"),
]


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[FlaskClient]:
    made, _ = create_app(ServerConfig(engine=BriefEngine()))
    yield made.test_client()
    made.extensions["collage"].close()


def problems(client: FlaskClient, **options: Any) -> list[dict[str, str]]:
    answer = client.post("/api/v1/options", json={"targets": ["tvm"], **options})
    assert answer.status_code == 200, answer.text
    return answer.json["problems"]


@pytest.mark.parametrize(("options", "option", "target", "message"), WRONG)
def test_what_is_wrong_is_told_beside_its_option(
    client: FlaskClient, options: dict[str, Any], option: str, target: str, message: str
) -> None:
    (problem,) = problems(client, **options)
    assert (problem["option"], problem["target"]) == (option, target)
    assert message in problem["message"]


def test_all_that_is_wrong_is_told_at_once_and_what_is_right_is_not(client: FlaskClient) -> None:
    told = problems(client, threads=0, max_depth={"tvm": 0, "": 2}, measure_all=True, search="milp", percentile=90)
    assert [(item["option"], item["target"]) for item in told] == [("max_depth", "tvm"), ("threads", "")]
    assert problems(client, threads=2, max_depth={"tvm": 2}, max_exits={"": 2}, taps=[""], fusion={"tvm": "none"}) == []
    assert problems(client) == []


def test_a_wrong_type_is_refused(client: FlaskClient) -> None:
    answer = client.post("/api/v1/options", json={"targets": ["tvm"], "max_depth": {"tvm": "deep"}})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")
    assert "max_depth.tvm is 'deep', it must be a valid integer" in answer.json["error"]["message"]


@pytest.mark.long
def test_a_run_is_refused_or_keeps_its_options(client: FlaskClient) -> None:
    model = client.post("/api/v1/models", json={"sample": "mini_mnist"}).json["id"]
    asked = {"model": model, "targets": ["onnxruntime"]}
    refused = client.post("/api/v1/runs", json={**asked, "threads": 0})
    assert (refused.status_code, refused.json["error"]["code"]) == (400, "bad_option")
    given = {"max_depth": {"onnxruntime": 1}, "taps": [""], "threads": 1, "measure_all": True, "percentile": 75.0, "budget_s": 90}
    run = client.post("/api/v1/runs", json={**asked, **given}).json
    assert {name: run["options"][name] for name in given} == given
    while (run := client.get(f"/api/v1/runs/{run['id']}").json)["state"] in ("queued", "running"):
        time.sleep(0.1)
    assert run["state"] == "done", run["error"]
    kept = client.get(f"/api/v1/runs/{run['id']}/plan").json["options"]
    assert (kept["max_depth"], kept["taps"], kept["threads"], kept["percentile"]) == ({"onnxruntime": 1}, [""], 1, 75.0)
    rules = client.get(f"/api/v1/runs/{run['id']}/rules").json["specs"][0]["tree"]
    assert rules["of"][0]["of"][0]["options"] == {"max_depth": "1", "max_exits": "1", "allow_taps": "true"}
    again = client.post("/api/v1/runs", json={**asked, "base": run["id"]}).json
    assert again["options"] == run["options"], "what is searched on a run's costs has the run's options"
    refused = client.post("/api/v1/runs", json={**asked, "base": run["id"], "threads": 2})
    assert "threads cannot be set for a search on known costs" in refused.json["error"]["message"]


def test_a_zero_is_an_option_that_was_given() -> None:
    assert RunOptions(threads=0, accuracy=0.0).given() == {"threads": 0, "accuracy": 0.0}
    assert RunOptions(taps=[], measure_all=False).given() == {}
