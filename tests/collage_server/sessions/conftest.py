"""A session of a sample with a kept what-if, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from collage_server import model_store
from collage_server.sessions import open as session_open
from tests.helpers.sessions import Entries, entries_of, make_session


class Made(NamedTuple):
    path: Path
    entries: Entries
    kept: dict[str, Any]
    """The snapshot of the what-if, where it was made."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    path = tmp_path_factory.mktemp("session") / "mini.collage"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(tmp_path_factory.mktemp("author")))
        kept = make_session(path)
    return Made(path, entries_of(path), kept)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("COLLAGE_HOME", str(folder))
    return folder


class InProcess:
    """A worker without a process, for what need not be shown of a real one in every test."""

    def __init__(self, **_: object):
        return None

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def call(self, function: Callable[..., Any], *arguments: Any, timeout_s: float) -> Any:
        return function(*arguments)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions and models are read in this process."""
    for module in (session_open, model_store):
        monkeypatch.setattr(module, "Worker", InProcess)
