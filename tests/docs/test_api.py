"""`docs/api.md` lists every route, and every route answers its mistakes in the one shape."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from werkzeug.exceptions import BadRequest

from collage_server import typescript
from collage_server.http.error_answers import _CODES
from tests.helpers.paths import DOCS

DOC = DOCS / "api.md"
ROUTE = re.compile(r"^\| `(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)[^`]*`", re.MULTILINE)


def routes_of(app: Flask) -> set[tuple[str, str]]:
    found = set()
    for rule in app.url_map.iter_rules():
        path = re.sub(r"/(models|runs|described)/<\w+>", r"/\1/<id>", rule.rule)
        found |= {(method, path) for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}}
    return found


def test_the_document_lists_every_route(app: Flask) -> None:
    assert set(ROUTE.findall(DOC.read_text())) == routes_of(app)


def test_the_types_that_the_document_names_are_those_of_the_protocol() -> None:
    text = DOC.read_text()
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", text)) - {"ETag", "Host", "Origin", "POST"}
    assert named <= {kind.__name__ for kind in typescript.resources()}


def test_the_document_lists_the_messages() -> None:
    text = DOC.read_text()
    for message in ("subscribe", "unsubscribe", "change", "batch"):
        assert f"| `{message}` |" in text


MISTAKES: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/api/v1/models/nothing", None, 404, "unknown_model"),
    ("DELETE", "/api/v1/models/nothing", None, 404, "unknown_model"),
    ("GET", "/api/v1/models/nothing/graph", None, 404, "unknown_model"),
    ("GET", "/api/v1/models/nothing/groups", None, 404, "unknown_model"),
    *(("GET", f"/api/v1/models/nothing/{what}", None, 404, "unknown_model") for what in ("file", "card", "operators", "weights")),
    ("GET", "/api/v1/models/nothing/layouts/01234567", None, 404, "unknown_model"),
    ("PUT", "/api/v1/models/nothing/layouts/01234567", {}, 404, "unknown_model"),
    ("POST", "/api/v1/models/nothing/dot", {"title": ""}, 404, "unknown_model"),
    ("POST", "/api/v1/models", {}, 400, "invalid"),
    ("POST", "/api/v1/runs", {}, 400, "invalid"),
    ("POST", "/api/v1/options", {}, 400, "invalid"),
    ("POST", "/api/v1/dry-run", {}, 400, "invalid"),
    ("POST", "/api/v1/described", {"text": "name = 1"}, 400, "bad_rule"),
    ("POST", "/api/v1/compare", {}, 400, "invalid"),
    ("POST", "/api/v1/described/check", {}, 400, "invalid"),
    ("DELETE", "/api/v1/described/nothing", None, 404, "unknown_toolchain"),
    ("GET", "/api/v1/runs/nothing", None, 404, "unknown_run"),
    ("DELETE", "/api/v1/runs/nothing", None, 404, "unknown_run"),
    ("PATCH", "/api/v1/runs/nothing", {"is_starred": True}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/log", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/cancel", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/candidates?node=0", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/candidates", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/estimates", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/node-times", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/shapes", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/bodies", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/rules", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/regrets", {"candidates": []}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/baselines/greedy/plan", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/what-if", {"targets": ["tvm"]}, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/device-curve", {"location": "cuda:0", "quantity": "link"}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/totals", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/other-terms", {"targets": ["tvm"]}, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/device-curve", {"location": "cuda:0", "quantity": "memory"}, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/against", {"text": "{}"}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/worth", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/profile", {}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/undecided", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/effects", {"targets": ["tvm"]}, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/plan", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/document", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/events", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/artifact", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/trace", None, 404, "unknown_run"),
    ("POST", "/api/v1/runs/nothing/trace", None, 404, "unknown_run"),
    ("DELETE", "/api/v1/runs/nothing/trace", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/trace/chunks/0", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/export", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/export/contents", None, 404, "unknown_run"),
    ("GET", "/api/v1/models/nothing/session", None, 404, "unknown_model"),
    ("GET", "/api/v1/runs/nothing/session", None, 404, "unknown_run"),
    ("POST", "/api/v1/sessions", None, 400, "invalid"),
    ("GET", "/api/v1/runs/nothing/exports/graph.dot", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/report", None, 404, "unknown_run"),
    ("GET", "/static/nothing.js", None, 404, "not_found"),
    ("GET", "/netron/nothing.js", None, 404, "not_found"),
    ("GET", "/api/v1/models/nothing/onnx", None, 404, "unknown_model"),
    ("GET", "/api/v1/runs/nothing/onnx", None, 404, "unknown_run"),
    ("GET", "/api/v1/runs/nothing/partitions/c0/onnx", None, 404, "unknown_run"),
]
NO_MISTAKE_POSSIBLE = {
    ("GET", "/"),
    ("GET", "/netron/"),
    ("GET", "/api/v1/models"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/samples"),
    ("GET", "/api/v1/storage"),
    ("GET", "/api/v1/described"),
    ("GET", "/api/v1/toolchains"),
}


PARAMETERS = {
    "/static/<id>": "/static/<path:filename>",
    "/netron/<id>": "/netron/<name>",
    "greedy": "<name>",
    "/exports/graph.dot": "/exports/<name>",
    "/chunks/0": "/chunks/<number>",
    "/partitions/c0": "/partitions/<partition>",
    "01234567": "<key>",
}
"""Part of the addresses above → the route's parameter."""


def assert_shape(answer: Any, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    assert set(answer.json) == {"error"}
    error = answer.json["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == code
    assert error["message"]
    assert "\n" not in error["message"] + error["hint"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), MISTAKES)
def test_mistakes(app: Flask, method: str, path: str, body: Any, status: int, code: str) -> None:
    more = {} if body is None else {"json": body}
    assert_shape(app.test_client().open(path, method=method, **more), status, code)


def test_every_route_is_visited_with_a_mistake_and_with_a_wrong_method(app: Flask) -> None:
    visited = {(method, re.sub(r"/nothing(\.js)?", "/<id>", path.partition("?")[0])) for method, path, *_ in MISTAKES}
    for given, parameter in PARAMETERS.items():
        visited = {(method, path.replace(given, parameter)) for method, path in visited}
    assert visited | NO_MISTAKE_POSSIBLE == routes_of(app)
    for _, path in routes_of(app):
        answer = app.test_client().open(re.sub(r"<[^>]+>", "x", path), method="PROPFIND")
        assert_shape(answer, 405, "method_not_allowed")
        assert answer.headers["Allow"]


def test_nothing_there(app: Flask) -> None:
    for path in ("/nothing", "/api/v1/nothing", "/api/v2/models", "/api/v1/models/../../x"):
        assert_shape(app.test_client().get(path), 404, "not_found")
    assert app.test_client().get("/nothing").json["error"]["message"] == "there is nothing at '/nothing'"


@pytest.mark.parametrize(
    ("data", "mimetype", "status", "code", "message"),
    [
        ("{}", "text/plain", 415, "not_json", "a JSON body was expected, and its type is 'text/plain'"),
        ("{", "application/json", 400, "invalid", "the JSON is broken: Expecting property name enclosed in double quotes"),
        ("[" * 100_000, "application/json", 413, "too_large", "the body of the request is larger than what is accepted"),
        ("[" * 60_000, "application/json", 400, "invalid", "the JSON is broken: it cannot be read"),
        ("[" * 300 + "]" * 300, "application/json", 400, "invalid", "the JSON is nested more than 20 levels deep"),
        (b"\xff\xfe", "application/json", 400, "invalid", "the JSON is broken"),
        ("3", "application/json", 400, "invalid", "a JSON object was expected, and 3 came"),
    ],
)
def test_bodies(app: Flask, data: Any, mimetype: str, status: int, code: str, message: str) -> None:
    for path in ("/api/v1/runs", "/api/v1/models"):
        answer = app.test_client().post(path, data=data, content_type=mimetype)
        assert_shape(answer, status, code)
        assert message in answer.json["error"]["message"]


def test_other_http_errors_and_faults(home: object, caplog: pytest.LogCaptureFixture) -> None:
    from collage_server.http import error_answers

    app = Flask("faulty")
    error_answers.register(app)
    app.add_url_rule("/bad", "bad", lambda: (_ for _ in ()).throw(BadRequest("what is this")))
    app.add_url_rule("/fault", "fault", lambda: 1 / 0)
    assert_shape(app.test_client().get("/bad"), 400, _CODES[400])
    answer = app.test_client().get("/fault")
    assert_shape(answer, 500, "internal")
    assert "division" not in answer.text
    assert "ZeroDivisionError" in caplog.text
