"""`collage session` and `collage explore FILE.collage`, as far as they are the command line's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from collage_core.cli.main import collage
from collage_server import session_file


@pytest.mark.parametrize(
    ("given", "files", "says"),
    [((), [Path("m.onnx")], "1 run and the model"), (("--without-model",), [], "1 run and no model, but its hash aaaa")],
)
def test_it_says_what_it_wrote(
    given: tuple[str, ...], files: list[Path], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def save(named: str, out: Path, *, with_model: bool, run_model: str | None) -> Any:
        assert run_model is None
        asked.append((named, out, with_model))
        return SimpleNamespace(runs=[1], files=files, model=SimpleNamespace(id="a" * 64))

    monkeypatch.setattr(session_file, "save_session", save)
    out = tmp_path / "mine.collage"
    result = CliRunner().invoke(collage, ["session", "mnist", "-o", str(out), *given])
    assert (result.exit_code, asked) == (0, [("mnist", out, bool(files))])
    assert says in result.output
    assert f"`collage explore {out}`" in result.output
