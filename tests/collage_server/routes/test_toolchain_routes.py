"""The toolchains and the storage, as the page shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from collage_core.toolchains import registry
from collage_server.worker.toolchain_rows import describe_toolchains


def test_toolchains(app: Flask) -> None:
    rows = {row["name"]: row for row in app.test_client().get("/api/v1/toolchains").json["toolchains"]}
    row = rows["onnxruntime"]
    assert row["usable"] is True
    assert (row["letter"], row["style"], row["reason"]) == ("O", "graph", "")
    assert "only_valid" in row["rules"]


def test_a_plug_in_that_cannot_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, "no_such_module:Nothing")
    row = next(row for row in describe_toolchains({}) if row["name"] == "Nothing")
    assert row["usable"] is False
    assert "no_such_module" in row["reason"]


def test_storage(app: Flask, home: Path) -> None:
    (home / "something").write_bytes(bytes(1000))
    got = app.test_client().get("/api/v1/storage").json
    assert got["folder"] == str(home)
    assert got["size_bytes"] >= 1000
