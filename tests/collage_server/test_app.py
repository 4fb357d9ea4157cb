"""The application as it is put together."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engine import FakeEngine

from collage_server.app import create_app
from collage_server.config import ServerConfig


def test_sockets_are_served_by_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Green threads would patch the standard library under the toolchains."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    app, socketio = create_app(ServerConfig(engine=FakeEngine()))
    try:
        assert socketio.async_mode == "threading"
    finally:
        app.extensions["collage"].close()
