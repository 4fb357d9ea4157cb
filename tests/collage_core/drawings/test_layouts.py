"""Layouts by Graphviz: what `dot` is given and what becomes of its answer; its failures, and its absence, in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from collage_core.drawings.layouts import check_drawing, draw, layout
from collage_core.errors import CollageError
from collage_core.pipeline.record.record import RunRecord
from collage_core.rewrite.export.dot import dot_text, plan_drawing

ANSWERS = '#!/bin/sh\necho "$@" > "{folder}/asked"\ncat > "{folder}/given"\nprintf "<svg/>"\n'
FAILS = "#!/bin/sh\ncat > /dev/null\necho 'Error: out of ranks' >&2\nexit 1\n"


def fake_dot(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Make a program `dot` of a script the only one that is found first."""
    (folder / "dot").write_text(script.replace("{folder}", str(folder)))
    (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_dot_gets_our_text_and_its_picture_is_the_file(drawn_run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, monkeypatch, ANSWERS)
    draw(drawn_run, tmp_path / "graph.SVG")
    assert (tmp_path / "graph.SVG").read_text() == "<svg/>"
    assert "-Tsvg" in (tmp_path / "asked").read_text()
    text = dot_text(drawn_run.graph, plan_drawing(drawn_run.plan))
    assert (tmp_path / "given").read_text().strip() == text.strip()
    assert layout(drawn_run).source.strip() == text.strip()


def test_what_dot_says_when_it_fails_is_told(drawn_run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, monkeypatch, FAILS)
    with pytest.raises(CollageError, match="`dot` could not lay the graph out: Error: out of ranks"):
        draw(drawn_run, tmp_path / "graph.png")
    assert not (tmp_path / "graph.png").exists()


def test_without_the_program_the_error_names_its_package(drawn_run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CollageError, match="Graphviz's program `dot` is not installed") as error:
        draw(drawn_run, tmp_path / "graph.pdf")
    assert error.value.hint.startswith("apt install graphviz ")


def test_what_is_missing_is_said_before_there_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, monkeypatch, ANSWERS)
    check_drawing(tmp_path / "graph.png")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(CollageError, match="Graphviz's program `dot` is not installed"):
        check_drawing(tmp_path / "graph.png")
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(CollageError, match="needs the Python package 'graphviz'"):
        check_drawing(tmp_path / "graph.png")


def test_without_the_package_the_error_says_what_installs_it(drawn_run: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(CollageError, match="laying a graph out needs the Python package 'graphviz', which is not installed") as error:
        layout(drawn_run)
    assert error.value.hint == "pip install 'graphviz>=0.20'"


def test_another_ending_is_refused(drawn_run: RunRecord, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"no drawing is made as 'graph\.bmp'") as error:
        draw(drawn_run, tmp_path / "graph.bmp")
    assert error.value.hint == "end the name with one of .svg, .png, .pdf"
