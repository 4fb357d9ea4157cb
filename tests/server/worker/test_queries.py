"""Queries about a recorded run: its rules, as the page gets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.messages import candidates, installation
from flask.testing import FlaskClient

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
