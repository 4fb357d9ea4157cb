"""Saving and opening over HTTP."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from collage_server.app import create_app
from collage_server.config import ServerConfig

from .conftest import Made


@pytest.mark.usefixtures("in_process")
def test_a_session_is_uploaded_saved_again_and_the_same(made: Made, store: Path) -> None:
    app, _ = create_app(ServerConfig())
    client = app.test_client()
    data = made.path.read_bytes()
    first = client.post("/api/v1/sessions", data={"file": (io.BytesIO(data), "any name")})
    assert (first.status_code, first.json["added"], first.json["shown"]) == (201, 1, made.kept["id"])
    assert client.post("/api/v1/sessions", data={"file": (io.BytesIO(data), "x.collage")}).status_code == 200
    model = first.json["model"]["id"]
    for path, name in ((f"models/{model}", "mini_mnist.collage"), (f"runs/{made.kept['id']}", "mini_mnist.collage")):
        saved = client.get(f"/api/v1/{path}/session")
        assert saved.headers["Content-Disposition"] == f"attachment; filename={name}"
        again = client.post("/api/v1/sessions", data={"file": (io.BytesIO(saved.data), name)})
        assert (again.status_code, again.json["added"], again.json["notice"]) == (200, 0, "")
    bare = client.get(f"/api/v1/runs/{made.kept['id']}/session?model=0")
    assert len(bare.data) < len(data) - 60_000
    assert [path.name for path in store.iterdir() if path.name.startswith(".session")] == []
    app.extensions["collage"].close()


@pytest.mark.usefixtures("in_process")
def test_what_is_no_session_is_refused(store: Path) -> None:
    app, _ = create_app(ServerConfig())
    client = app.test_client()
    refused = client.post("/api/v1/sessions", data={"file": (io.BytesIO(b"dear diary"), "x.collage")})
    assert (refused.status_code, refused.json["error"]["code"]) == (400, "bad_session")
    assert "its name" not in refused.text
    none = client.post("/api/v1/sessions", data={"other": "x"})
    assert (none.status_code, none.json["error"]["message"]) == (400, "0 files were sent, one session is expected")
    for path in ("models/none", "runs/none"):
        assert client.get(f"/api/v1/{path}/session").status_code == 404
    app.extensions["collage"].close()
