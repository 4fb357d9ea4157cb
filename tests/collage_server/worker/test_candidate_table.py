"""The table of every candidate and the baselines' plans, of the recorded runs that come with the samples."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from collage_core.cost.database.records import machine_id
from collage_core.documents.json_form import to_json
from collage_core.model.onnx_model import load_model
from collage_core.rules.partitionings import is_alone, main_target
from collage_core.what_if import questions
from collage_core.what_if.questions import BODIES, NODE_TIMES, PlainRequest
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.messages import candidates
from collage_server.report.answers import shown
from collage_server.runs import run_store
from collage_server.shared.run_files import CANDIDATES, ESTIMATES
from collage_server.worker.candidate_table import spans
from collage_server.worker.engine import COLLAGE
from tests.collage_core.pipeline.bodies.test_plan_bodies import run as run_with_mock_costs
from tests.helpers.control_models import drawn, nested
from tests.helpers.models import write
from tests.helpers.tables import rows_of

RUNS = "/api/v1/runs"
LSTM = f"{RUNS}/recorded-lstm"
QUANTISED = f"{RUNS}/recorded-quantised"


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[FlaskClient]:
    made, _ = create_app(ServerConfig())
    yield made.test_client()
    made.extensions["collage"].close()


@pytest.fixture(scope="module")
def table(client: FlaskClient) -> dict[str, Any]:
    return client.get(f"{QUANTISED}/candidates").json


@given(st.sets(st.integers(0, 60)))
def test_spans_hold_exactly_the_nodes(nodes: set[int]) -> None:
    pairs = spans(sorted(nodes))
    assert [node for first, last in zip(pairs[::2], pairs[1::2], strict=True) for node in range(first, last + 1)] == sorted(nodes)
    assert all(after - before > 1 for before, after in zip(pairs[1::2], pairs[2::2], strict=False))


def test_the_table_has_every_candidate_with_its_cost_or_the_reason(table: dict[str, Any]) -> None:
    rows = rows_of(table)
    assert table["run"] == "recorded-quantised"
    assert set(table) == set(candidates.PackedCandidates.__dataclass_fields__)
    assert set(table["columns"]) == set(candidates.CandidateColumns.__dataclass_fields__)
    assert set(rows[0]) == set(candidates.CostedRow.__dataclass_fields__)
    assert all(len(table[name]) == len({json.dumps(value) for value in table[name]}) for name in ("targets", "labels", "rules", "costs"))
    assert set(table["rejections"][0]) == set(candidates.RejectedRow.__dataclass_fields__)
    assert len({row["id"] for row in rows}) == len(rows) == 386
    invalid = [row for row in rows if row["cost"]["source"] == "invalid"]
    assert len(invalid) == 6
    assert all(row["cost"]["stage"] and row["cost"]["reason"] and row["regret_s"] is None for row in invalid)
    assert [row["regret_s"] for row in rows if row["chosen"]] == [0.0]
    assert all(row["cost"]["seconds"] > 0 and row["cost"]["samples"] > 0 for row in rows if row not in invalid)


def test_a_node_that_the_model_does_not_have(client: FlaskClient, table: dict[str, Any]) -> None:
    answer = client.get(f"{LSTM}/candidates?node=8")
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "unknown_node")
    assert answer.json["error"]["message"] == "there is no node 8: the model has 8"
    assert client.get(f"{QUANTISED}/candidates?other=8").json == table, "which asks for no node"


def test_a_row_says_what_the_panel_says_of_the_candidate(client: FlaskClient, table: dict[str, Any]) -> None:
    rows = {row["id"]: row for row in rows_of(table)}
    shown = client.get(f"{QUANTISED}/candidates?node=7").json["candidates"]
    assert shown
    for candidate in shown:
        row = rows[candidate["id"]]
        assert spans(candidate["nodes"]) == row["spans"]
        assert {name: candidate[name] for name in ("cost", "times", "chosen", "regret_s")} == {
            name: row[name] for name in ("cost", "times", "chosen", "regret_s")
        }


def test_it_travels_compressed_and_is_made_once(client: FlaskClient, table: dict[str, Any]) -> None:
    answer = client.get(f"{QUANTISED}/candidates", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert json.loads(gzip.decompress(answer.data)) == table
    file = run_store.run_folder("recorded-quantised") / CANDIDATES
    file.write_bytes(gzip.compress(b'{"kept":true}'))
    assert client.get(f"{QUANTISED}/candidates").json == {"kept": True}
    os.utime(file, ns=(0, 0))
    assert client.get(f"{QUANTISED}/candidates").json == table, "a newer record is read again"


def test_a_baseline_is_a_plan_of_the_total_that_the_run_tells(client: FlaskClient) -> None:
    run = client.get(LSTM).json
    for baseline in run["baselines"]:
        answer = client.get(f"{LSTM}/baselines/{baseline['name']}/plan")
        if baseline["total_s"] is None:
            error = answer.json["error"]
            assert (answer.status_code, error["code"]) == (400, "no_plan")
            assert error["message"] == f"{baseline['name']} has no plan: it cannot take the whole model"
            continue
        plan = answer.json["plan"]
        assert (answer.json["run"], answer.json["name"], plan["total_s"]) == ("recorded-lstm", baseline["name"], baseline["total_s"])
        covered = sorted(node for partition in plan["partitions"] for node in partition["nodes"])
        assert covered == list(range(8))
        used = {partition["target"] for partition in plan["partitions"]}
        main = main_target(baseline["name"])
        assert used <= {baseline["name"], "host"} or not is_alone(baseline["name"])
        assert main is None or (main in used and len(used) > 1), "some of it goes elsewhere"
    assert [one["name"] for one in run["baselines"]] == ["ncnn", "onnxruntime", "openvino", "tvm", "ncnn+host", "tvm+host", "greedy"]
    assert [one["name"] for one in run["baselines"] if one["total_s"] is None] == ["ncnn", "tvm"]


def test_two_plans_of_a_run_compare_as_its_totals_say(client: FlaskClient) -> None:
    run, rows = client.get(LSTM).json, client.get(f"{LSTM}/totals").json["rows"]
    other = next(row for row in rows if row["kind"] == "baseline" and row["time"]["predicted_s"] is not None)
    plan = client.get(f"{LSTM}/baselines/{other['name']}/plan").json["plan"]
    first = shown(plan, other["time"], run["id"], is_plan=False)
    found = client.post("/api/v1/compare", json={"first": first, "second": shown(run["plan"], run["time"], run["id"], is_plan=True)})
    assert found.status_code == 200, found.json
    assert found.json["text"] == other["against"] != ""
    assert sorted(node for region in found.json["regions"] for node in region["nodes"]) == list(range(8))


def test_an_unknown_baseline_names_those_there_are(client: FlaskClient) -> None:
    answer = client.get(f"{LSTM}/baselines/tensorrt/plan")
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_baseline")
    assert answer.json["error"]["message"] == "the run 'recorded-lstm' has no baseline 'tensorrt'"
    assert answer.json["error"]["hint"] == "it has ncnn, onnxruntime, openvino, tvm, ncnn+host, tvm+host, greedy"


def test_what_was_measured_has_an_estimate_beside_it_that_is_no_cost(client: FlaskClient, table: dict[str, Any]) -> None:
    answer = client.get(f"{QUANTISED}/estimates", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    found = json.loads(gzip.decompress(answer.data))
    assert set(found) == {"run", *questions.ESTIMATES.answer.__dataclass_fields__}
    assert found["run"] == "recorded-quantised"
    assert found["machine"] == machine_id()
    assert found["reason"].startswith("an estimate by roofline")
    measured = {row["id"] for row in rows_of(table) if row["cost"]["seconds"] is not None}
    assert set(found["seconds"]) == measured
    assert all(seconds > 0 for seconds in found["seconds"].values())
    assert client.get(f"{QUANTISED}/candidates").json == table, "no cost has changed"
    file = run_store.run_folder("recorded-quantised") / ESTIMATES
    file.write_bytes(gzip.compress(b'{"kept":true}'))
    assert client.get(f"{QUANTISED}/estimates").json == {"kept": True}
    os.utime(file, ns=(0, 0))
    assert set(client.get(f"{QUANTISED}/estimates").json["seconds"]) == measured


def test_bodies_are_sent_nested_as_they_are(client: FlaskClient, tmp_path: Path) -> None:
    assert client.get(f"{LSTM}/bodies").json == {"run": "recorded-lstm", "nodes": []}
    record, _ = run_with_mock_costs(tmp_path, nested(), drawn(load_model(write(tmp_path, nested())), 0, turns=5))
    (row,) = to_json(COLLAGE.ask(record, BODIES, PlainRequest()))["nodes"]
    (body,) = row["bodies"]
    (inner,) = body["inner"]
    assert (row["name"], row["runs_on"], body["runs"], row["host_is_measured"]) == ("loop", "host", 5, False)
    assert [(one["attribute"], one["runs"]) for one in inner["bodies"]] == [("then_branch", 2), ("else_branch", 3)]
    assert body["nodes"][inner["node"]]["op"] == "If"
    assert all(read < index for index, node in enumerate(body["nodes"]) for read in node["reads"])
    assert sorted(node for one in body["partitions"] for node in one["nodes"]) == list(range(len(body["nodes"])))


def test_where_the_time_goes_inside_the_partitions_is_a_resource_of_older_runs_too(client: FlaskClient) -> None:
    found = client.get(f"{QUANTISED}/node-times").json
    assert set(found) == {"run", *NODE_TIMES.answer.__dataclass_fields__}
    plan = client.get(QUANTISED).json["plan"]
    assert [one["partition"] for one in found["partitions"]] == [one["id"] for one in plan["partitions"]]
    assert {one["source"] for one in found["partitions"]} <= {"candidates", "cost", "none"}, "nobody profiled it"
    nodes = rows_of(client.get(f"{QUANTISED}/candidates").json)
    alone = next(row for row in nodes if row["cost"]["source"] == "measured" and row["spans"][0] == row["spans"][-1])
    assert found["alone_s"][alone["target"]][alone["spans"][0]] == alone["cost"]["seconds"]
