"""Described toolchains: checked as they are written, saved, listed as targets, tried beside a recorded run, deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brief_engine import BriefEngine
from flask.testing import FlaskClient

from collage_server import descriptions
from collage_server.app import create_app
from collage_server.config import ServerConfig

API = "/api/v1"
HOOK = """name = "hook"
[[pattern]]
match = "Relu(Conv(*, *))"
[cost]
launch_s = 2e-6
flops_per_s = 4e12
"""


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[FlaskClient]:
    made, _ = create_app(ServerConfig(engine=BriefEngine()))
    yield made.test_client()
    made.extensions["collage"].close()


def refusal(answer: Any) -> tuple[int, str, str]:
    error = answer.json["error"]
    return answer.status_code, error["code"], error["message"]


def test_a_text_is_read_and_a_mistake_has_its_line(client: FlaskClient) -> None:
    good = client.post(f"{API}/described/check", json={"text": HOOK}).json
    assert (good["name"], good["mistake"], good["has_cost"]) == ("hook", None, True)
    assert good["tree"]["rule"] == "primitive"
    for text, line, said in (
        (HOOK.replace("Relu(", "Rlu("), 3, "'Rlu'"),
        (HOOK.replace("launch_s = 2e-6", "launch_s = 'free'"), 5, "cost.launch_s"),
        (HOOK.replace('"hook"', '"tvm"'), 1, "'tvm' is the name of a toolchain that is installed"),
        (HOOK + "[cost]\n", 7, "it is not TOML"),
        ("\0", 1, "it is not TOML"),
        ("a = " + "[" * 5000, 1, "it is not TOML"),
        (HOOK + "a" + ".a" * 20_000 + " = 1\n", 7, "a key has more than 32 parts"),
        (HOOK + "[" + "a ." * 15_000 + "a]\n", 7, "a key has more than 32 parts"),
        (HOOK + "a = {" + "'a'." * 10_000 + "a = 1}\n", 7, "a key has more than 32 parts"),
    ):
        wrong = client.post(f"{API}/described/check", json={"text": text}).json
        assert wrong["mistake"]["line"] == line, wrong
        assert said in wrong["mistake"]["message"]
        assert (wrong["name"], wrong["tree"]) == (None, None)


def test_what_is_too_long_or_has_no_name_for_a_file_is_refused(client: FlaskClient) -> None:
    long = HOOK + "#" * descriptions.MOST_BYTES
    assert refusal(client.post(f"{API}/described", json={"text": long}))[:2] == (413, "too_large")
    assert refusal(client.post(f"{API}/described/check", json={"text": long}))[:2] == (413, "too_large")
    assert refusal(client.post(f"{API}/described", json={"text": HOOK.replace('"hook"', '"haken-ü"')}))[:2] == (400, "bad_name")
    for name in ("../hook", "a/b", ".hidden", "", "host"):
        status, code, message = refusal(client.post(f"{API}/described", json={"text": HOOK.replace('"hook"', f'"{name}"')}))
        assert (status, code) == (400, "bad_rule")
        assert message.startswith("line 1: name is")
    for name in ("..", "%2e%2e%2fruns", "nothing", "a" * 300):
        assert refusal(client.delete(f"{API}/described/{name}"))[0] in (404, 405)
    assert client.get(f"{API}/described").json == {"toolchains": []}


def test_one_is_saved_listed_replaced_and_deleted(client: FlaskClient, home: Path) -> None:
    assert client.post(f"{API}/described", json={"text": HOOK}).status_code == 201
    other = HOOK.replace("4e12", "8e12")
    assert client.post(f"{API}/described", json={"text": other}).json == {"name": "hook", "text": other}
    assert client.get(f"{API}/described").json == {"toolchains": [{"name": "hook", "text": other}]}
    *others, row = client.get(f"{API}/toolchains").json["toolchains"]
    assert (row["name"], row["described"], row["usable"]) == ("hook", True, True)
    assert row["letter"] not in {other["letter"] for other in others}
    assert row["tree"]["candidates"] == 0
    (home / "toolchains" / "broken.toml").write_text("name =")
    (home / "toolchains" / "free.toml").write_text(HOOK.replace('"hook"', '"free"').partition("[cost]")[0])
    rows = {row["name"]: row for row in client.get(f"{API}/toolchains").json["toolchains"]}
    assert (rows["broken"]["usable"], "is not TOML" in rows["broken"]["reason"]) == (False, True)
    assert (rows["free"]["usable"], "no [cost]" in rows["free"]["reason"]) == (False, True)
    for name in ("hook", "broken", "free"):
        assert client.delete(f"{API}/described/{name}").status_code == 204
    assert refusal(client.delete(f"{API}/described/hook"))[:2] == (404, "unknown_toolchain")


def settled(client: FlaskClient, run: dict[str, Any]) -> dict[str, Any]:
    while run["state"] in ("queued", "running"):
        time.sleep(0.05)
        run = client.get(f"{API}/runs/{run['id']}").json
    return run


def test_one_is_tried_beside_a_recorded_run_and_pins_hold_on_what_comes_out(client: FlaskClient) -> None:
    base = client.get(f"{API}/runs/recorded-squeezenet").json
    client.post(f"{API}/models", json={"sample": "squeezenet"})
    asked = {"model": base["model"], "targets": base["targets"], "base": base["id"]}
    after = settled(client, client.post(f"{API}/runs", json={**asked, "toolchain": HOOK}).json)
    assert after["state"] == "done", after["error"]
    assert (after["targets"], after["described"]) == ([*base["targets"], "hook"], ["hook"])
    assert after["plan"]["total_s"] < base["plan"]["total_s"]
    assert {one["source"] for one in after["plan"]["partitions"] if one["target"] == "hook"} == {"estimate"}
    assert client.get(f"{API}/described").json == {"toolchains": []}, "trying keeps nothing"
    pinned = {**asked, "targets": after["targets"], "base": after["id"], "constraints": [{"kind": "veto", "target": "hook"}]}
    again = settled(client, client.post(f"{API}/runs", json=pinned).json)
    assert again["plan"]["total_s"] == base["plan"]["total_s"]
    assert again["described"] == ["hook"]
    without = settled(client, client.post(f"{API}/runs", json={**pinned, "targets": base["targets"], "constraints": []}).json)
    assert without["plan"]["total_s"] == base["plan"]["total_s"], "a target that is left out is vetoed"
    refused = client.post(f"{API}/runs", json={**asked, "toolchain": HOOK.replace("Relu", "Rlu")})
    assert refusal(refused)[:2] == (400, "bad_rule")
    assert refusal(client.post(f"{API}/runs", json={**asked, "targets": [*base["targets"], "hook"]}))[:2] == (400, "unknown_target")


@pytest.mark.long
def test_a_saved_one_is_a_target_of_a_run_that_measures(client: FlaskClient, home: Path) -> None:
    client.post(f"{API}/described", json={"text": HOOK})
    model = client.post(f"{API}/models", json={"sample": "mini_mnist"}).json["id"]
    run = settled(client, client.post(f"{API}/runs", json={"model": model, "targets": ["onnxruntime", "hook"]}).json)
    assert run["state"] == "done", run["error"]
    assert run["described"] == ["hook"]
    assert (home / "runs" / run["id"] / "toolchains" / "hook.toml").read_text() == HOOK
    assert client.get(f"{API}/runs/{run['id']}/plan").json["options"]["described"] == {"hook": HOOK}
    counts = {row["name"]: row for row in run["counts"]}
    assert counts["hook"]["found"] > 0
    assert counts["hook"]["measured"] == 0
    client.delete(f"{API}/described/hook")
