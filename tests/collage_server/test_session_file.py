"""`save_session`: a run, a model or a sample becomes a file, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engine import FakeEngine

from collage_core.errors import CollageError
from collage_server import session_file
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.session_file import save_session
from tests.helpers.live import put_model
from tests.helpers.sessions import entries_of, manifest_of


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a run in a store of its own, of a model that has no other."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    config = ServerConfig(engine=FakeEngine())
    monkeypatch.setattr(session_file, "ServerConfig", lambda: config)
    app, _ = create_app(config)
    model = put_model(tmp_path / "tiny.onnx", b"tiny")
    made: str = app.test_client().post("/api/v1/runs", json={"model": model, "targets": ["fast"]}).json["id"]
    app.extensions["collage"].runs.live_run(made).wait(60)
    app.extensions["collage"].close()
    return made


def test_a_run_and_its_model_are_found_by_their_ids(run: str, tmp_path: Path) -> None:
    out = tmp_path / "out.collage"
    contents = save_session(run, out)
    manifest = manifest_of(entries_of(out))
    assert (contents.shown, manifest["shown"], manifest["model"]["files"]) == (run, run, ["model/tiny.onnx"])
    assert save_session(manifest["model"]["id"], out, with_model=False).files == []
    assert manifest_of(entries_of(out))["model"]["files"] == []


def test_what_is_not_known_and_a_file_that_cannot_be_written(run: str, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="'nothing'"):
        save_session("nothing", tmp_path / "out.collage")
    with pytest.raises(CollageError, match=r"cannot write .*: No such file or directory"):
        save_session(run, tmp_path / "none" / "out.collage")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "tiny.onnx"}
