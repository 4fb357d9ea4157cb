"""Queries about a recorded run, as the page gets them: its rules; and answers that are those of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.messages import candidates, installation
from flask.testing import FlaskClient

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
    assert all(set(spec) == set(candidates.RunSpec.__dataclass_fields__) for spec in got["specs"])
    tree = got["specs"][0]["tree"]
    assert set(tree) == set(installation.RuleTree.__dataclass_fields__)
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
    assert told["difference_s"] < 0
    plan = client.post(f"/api/v1/runs/{RUN}/what-if", json=body).json["plan"]
    assert plan["total_s"] == shown["plan"]["total_s"]
    assert [one["source"] for one in plan["partitions"] if one["id"] == other["id"]] == ["typed"], "it is marked where it is shown"


@pytest.mark.parametrize("what", ["what-if", "effects", "other-terms"])
def test_a_cost_that_cannot_be(client: FlaskClient, what: str) -> None:
    targets = client.get(f"/api/v1/runs/{RUN}").json["targets"]
    chosen = candidate(client, chosen=True)["id"]
    for costs, message in (({"c": 1.0}, "the run has no candidate 'c'"), ({chosen: -1.0}, "is -1.0 s")):
        answer = client.post(f"/api/v1/runs/{RUN}/{what}", json={"targets": targets, "costs": costs})
        assert answer.status_code == 400
        assert message in answer.json["error"]["message"]
