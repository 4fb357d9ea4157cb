"""Queries about a recorded run, as the page gets them: its rules; and answers that are those of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from collage_core.documents.rules import RuleTree, RunSpec
from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.command import document_of
from tests.helpers.tables import rows_of


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[FlaskClient]:
    made, _ = create_app(ServerConfig())
    yield made.test_client()
    made.extensions["collage"].close()


def test_equal_trees_share_a_spec_and_the_host_has_its_own(client: FlaskClient) -> None:
    got = client.get("/api/v1/runs/recorded-quantised/rules").json
    assert got["run"] == "recorded-quantised"
    assert [spec["targets"] for spec in got["specs"]] == [["onnxruntime", "openvino"], ["tvm"], ["host"]]
    assert all(set(spec) == set(RunSpec.__dataclass_fields__) for spec in got["specs"])
    tree = got["specs"][0]["tree"]
    assert set(tree) == set(RuleTree.__dataclass_fields__)
    rows = rows_of(client.get("/api/v1/runs/recorded-quantised/candidates").json)
    mine = [row for row in rows if row["target"] == "openvino" and row["rule"].startswith(f"openvino.{tree['path']}")]
    assert tree["candidates"] == len(mine) > 0
    assert got["specs"][0]["invalid"] == {"onnxruntime": {}, "openvino": {"numerics": 6}}


def test_a_toolchain_shows_its_tree(client: FlaskClient) -> None:
    for row in client.get("/api/v1/toolchains").json["toolchains"]:
        assert row["tree"]["rule"] == row["rules"].splitlines()[0].partition("(")[0]
        assert row["tree"]["candidates"] == 0


RUN = "recorded-mini_mnist"


def candidate(client: FlaskClient, *, chosen: bool) -> dict[str, Any]:
    """Return a candidate of the run that takes time."""
    rows = client.get(f"/api/v1/runs/{RUN}/candidates?node=0").json["candidates"]
    return next(row for row in rows if row["chosen"] == chosen and row["target"] != "host" and row["cost"]["seconds"])


def test_a_typed_cost_and_an_accuracy_bring_the_same_here_and_on_the_command_line(
    client: FlaskClient, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = candidate(client, chosen=False)
    targets = client.get(f"/api/v1/runs/{RUN}").json["targets"]
    body = {"targets": targets, "costs": {other["id"]: 1e-9}, "accuracy": 1e-2}
    told = client.post(f"/api/v1/runs/{RUN}/other-terms", json=body).json
    shown = document_of(capsys, "explain", home / "runs" / RUN, "--what-if", f"cost:{other['id']}=1ns", "--what-if", "accuracy=1e-2")
    assert {name: value for name, value in told.items() if name != "run"} == {name: shown[name] for name in told if name != "run"}
    assert told["change"]["change_s"] < 0
    plan = client.post(f"/api/v1/runs/{RUN}/what-if", json=body).json["plan"]
    assert plan["total_s"] == shown["plan"]["total_s"]
    assert [one["source"] for one in plan["partitions"] if one["id"] == other["id"]] == ["typed"], "it is marked where it is shown"


@pytest.mark.parametrize("what", ["what-if", "effects", "other-terms"])
def test_a_cost_that_cannot_be(client: FlaskClient, what: str) -> None:
    targets = client.get(f"/api/v1/runs/{RUN}").json["targets"]
    chosen = candidate(client, chosen=True)["id"]
    for costs, message in (({"c": 1.0}, "the run has no candidate 'c'"), ({chosen: -1.0}, "is -1.0, it must be seconds")):
        answer = client.post(f"/api/v1/runs/{RUN}/{what}", json={"targets": targets, "costs": costs})
        assert answer.status_code == 400
        assert message in answer.json["error"]["message"]


def test_a_device_that_the_run_does_not_have(client: FlaskClient) -> None:
    targets = client.get(f"/api/v1/runs/{RUN}").json["targets"]
    what_if = {"targets": targets, "devices": {"cuda:0": {"memory": 1e9, "link": 0.5}}}
    for question, body in (("what-if", what_if), ("device-curve", {"location": "cuda:0", "quantity": "memory"})):
        answer = client.post(f"/api/v1/runs/{RUN}/{question}", json=body)
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "unknown_device")
        assert answer.json["error"]["message"] == "the run has no device 'cuda:0': all its targets are at the host"


def test_a_plan_of_the_users_own_loses_as_much_here_as_on_the_command_line(
    client: FlaskClient, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine.txt"
    own.write_text("*=CPUExecutionProvider\nabsent=tvm\n")
    body = {"text": own.read_text(), "name": "mine.txt", "devices": {"CPUExecutionProvider": "onnxruntime"}}
    told = client.post(f"/api/v1/runs/{RUN}/against", json=body).json
    client.get(f"/api/v1/runs/{RUN}/document")
    shown = document_of(capsys, "explain", home / "runs" / RUN, "--against", own, "--as", "CPUExecutionProvider=onnxruntime")
    assert {name: told[name] for name in ("apparent_loss_s", "unknown", "ignored")} == {
        name: shown[name] for name in ("apparent_loss_s", "unknown", "ignored")
    }
    assert told["plan"]["total_s"] == shown["second"]["total_s"]
    assert (told["name"], told["ignored"]) == ("mine.txt", ["absent"])
    assert {part["target"] for part in told["plan"]["partitions"]} <= {"onnxruntime", "host"}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "bad_plan", "'mine.txt' holds no plan: it names no node"),
        ("{", "bad_plan", "'mine.txt' holds no plan: it is not JSON"),
        ("*=NPU", "unknown_target", "mine.txt gives nodes to 'NPU', which is not a target of the run"),
        ("conv1=tvm", "bad_plan", "mine.txt has no place for"),
    ],
)
def test_a_text_that_is_no_plan_for_the_run(client: FlaskClient, text: str, code: str, message: str) -> None:
    answer = client.post(f"/api/v1/runs/{RUN}/against", json={"text": text, "name": "mine.txt"})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, code)
    assert message in answer.json["error"]["message"]


def test_which_toolchains_are_worth_having_is_the_same_here_and_on_the_command_line(
    client: FlaskClient, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = client.get(f"/api/v1/runs/{RUN}/worth").json
    shown = document_of(capsys, "explain", home / "runs" / RUN, "--by-targets")
    assert {name: value for name, value in told.items() if name != "run"} == {name: shown[name] for name in told if name != "run"}
    assert told["sets"][0]["total_s"] == told["steps"][-1]["total_s"]


def test_what_is_undecided_is_the_same_here_and_on_the_command_line(
    client: FlaskClient, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = client.get(f"/api/v1/runs/{RUN}/undecided").json
    shown = document_of(capsys, "explain", home / "runs" / RUN, "--undecided")
    assert {name: value for name, value in told.items() if name != "run"} == {name: shown[name] for name in told if name != "run"}
    assert told["partitions"]
