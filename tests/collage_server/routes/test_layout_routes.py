"""The page's data on a large model: its groups, and layouts that pages leave for one another."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from collage_server.routes import layout_routes as layouts
from collage_server.worker import load_model

KEY = "0123456789abcdef"
LAYOUT: dict[str, Any] = {"centres": [0, 1.5, 2, 3], "points": [0, 1, 2, 3], "offsets": [0, 4], "labels": [None, None]}


@pytest.fixture
def address(model: str) -> str:
    return f"/api/v1/models/{model}/layouts/{KEY}"


def test_groups_are_worked_out_once_and_kept(app: Flask, home: Path) -> None:
    model = app.test_client().post("/api/v1/models", json={"sample": "mini_mnist"}).json["id"]
    answer = app.test_client().get(f"/api/v1/models/{model}/groups")
    assert answer.status_code == 200
    sections = [{"first": 0, "count": 6, "name": "nodes 0 to 5", "times": 1, "is_alike": False}]
    assert answer.json == {"id": model, "repeats": [], "scopes": [], "sections": sections}
    file = home / "models" / model / load_model.GROUPS
    before = file.stat().st_mtime_ns
    assert app.test_client().get(f"/api/v1/models/{model}/groups").json == answer.json
    assert file.stat().st_mtime_ns == before
    file.write_bytes(gzip.compress(b"{")[:-3])
    assert app.test_client().get(f"/api/v1/models/{model}/groups").json == answer.json


def test_a_layout_is_there_for_the_next_page(app: Flask, address: str) -> None:
    client = app.test_client()
    assert (client.get(address).status_code, client.get(address).data) == (204, b"")
    assert client.put(address, json=LAYOUT).status_code == 204
    assert client.get(address).json == LAYOUT
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    client.put(address, json={**LAYOUT, "centres": [9, 9]})
    assert client.get(address).json == LAYOUT, "the first one stays"
    assert client.get(address[:-1] + "0").status_code == 204


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"centres": []}, "x and y come in pairs"),
        ({"centres": [1, 2, 3]}, "x and y come in pairs"),
        ({"offsets": []}, "'offsets' must rise"),
        ({"offsets": [0, 3]}, "'offsets' must rise"),
        ({"offsets": [1, 4]}, "'offsets' must rise"),
        ({"offsets": [0, 5, 4], "labels": [None] * 4}, "'offsets' must rise"),
        ({"labels": [1, 2, 3, 4]}, "each edge has one label"),
        ({"points": [0, 1, 2, 1e9]}, "no position is beyond"),
        ({"points": [0, 1, 2, float("nan")]}, "points[3] is nan, it must be a finite number"),
        ({"points": [0, 1, 2, float("inf")]}, "points[3] is inf, it must be a finite number"),
        ({"centres": "many"}, "centres is 'many', it must be a valid list"),
        ({"more": 1}, "'more' is no field"),
    ],
)
def test_what_is_no_layout_is_refused(app: Flask, address: str, change: dict[str, Any], why: str) -> None:
    other = address[:-4] + "ffff"
    answer = app.test_client().put(other, json={**LAYOUT, **change})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")
    assert why in answer.json["error"]["message"]
    assert app.test_client().get(other).status_code == 204


@pytest.mark.parametrize("key", ["short", "..", "0123456789ABCDEF", "0" * 65, "%2e%2e%2f0000"])
def test_odd_keys_name_nothing(app: Flask, model: str, key: str) -> None:
    assert app.test_client().put(f"/api/v1/models/{model}/layouts/{key}", json=LAYOUT).status_code in (404, 405)


def test_a_layout_that_is_too_large_is_refused(app: Flask, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "LAYOUT_BYTES", 50)
    answer = app.test_client().put(address, json=LAYOUT)
    assert (answer.status_code, answer.json["error"]["code"]) == (413, "too_large")


def test_the_least_lately_used_goes_first(app: Flask, model: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, keys = app.test_client(), [f"{number:08x}" for number in range(4)]
    addresses = [f"/api/v1/models/{model}/layouts/{key}" for key in keys]
    for index, one in enumerate(addresses[:3]):
        client.put(one, json=LAYOUT)
        os.utime(home / "layouts" / f"{model}-{keys[index]}.json.gz", ns=(index, index))
    client.get(addresses[0])
    size = (home / "layouts" / f"{model}-{keys[0]}.json.gz").stat().st_size
    monkeypatch.setattr(layouts, "KEPT_BYTES", 2 * size)
    client.put(addresses[3], json=LAYOUT)
    assert [client.get(one).status_code for one in addresses] == [200, 204, 204, 200]
