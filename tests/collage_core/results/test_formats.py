"""The table of formats: each file reads back, the command line and Python give the same bytes, and what cannot be made says why."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from collage_core.errors import CollageError
from collage_core.pipeline.record.record import RunRecord
from collage_core.results.formats import FILES, FORMATS, export, file_named
from tests.collage_core.results.conftest import HOSTILE, Kept
from tests.helpers.command import document_of, in_this_process
from tests.helpers.dot_reader import read_dot

OURS = [file for file in FILES if file.make is not None]
"""Those that the explorer's server does not write."""


def test_the_command_and_python_write_equal_files(kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats = list(dict.fromkeys(file.format for file in OURS))
    asked = ("export", kept.folder, "--as", ", ".join(formats), "--model", kept.model, "--out", tmp_path / "by" / "command")
    told = document_of(capsys, *asked)
    assert [Path(path).name for path in told["files"]] == [file.name for file in OURS]
    export(kept.record, formats, tmp_path / "python", kept.model)
    for path in told["files"]:
        assert Path(path).read_bytes() == (tmp_path / "python" / Path(path).name).read_bytes(), path
        assert Path(path).stat().st_size


def test_a_run_that_was_read_back_gives_equal_files(kept: Kept) -> None:
    again = RunRecord.load(kept.folder)
    for file in OURS:
        assert file.make is not None
        assert file.make(again, kept.model) == file.make(kept.record, kept.model), file.name


def content(name: str, kept: Kept) -> bytes:
    make = file_named(name).make
    assert make is not None
    return make(kept.record, None)


def test_the_drawings_read_back(kept: Kept) -> None:
    drawn = read_dot(content("graph.dot", kept).decode())
    assert {name for name in drawn.nodes if name.startswith("n")} == {f"n{index}" for index in range(len(kept.record.graph))}
    assert len(drawn.clusters) == len(kept.record.plan.partitions)
    root = ElementTree.fromstring(content("graph.svg", kept))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert any("</script>" in text for text in root.itertext()), "a name is text, and no markup"


def test_it_says_what_it_wrote_and_writes_into_the_run_unless_told(kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.record.save(tmp_path)
    said = f"wrote {tmp_path / 'nodes.csv'}\nwrote {tmp_path / 'partitions.csv'}\n"
    assert in_this_process(capsys, "export", tmp_path / "plan.json", "--as", "csv") == (0, "", said)
    assert HOSTILE in (tmp_path / "nodes.csv").read_text().replace('""', '"')


def test_mistakes_are_told(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for formats in (["csv", "pdf"], [], [""]):
        with pytest.raises(CollageError, match="there is no format") as error:
            export(kept.record, formats, tmp_path)
        assert error.value.hint == f"give some of {', '.join(FORMATS)}"
    with pytest.raises(CollageError, match=r"no export is called 'nodes\.txt'"):
        file_named("nodes.txt")
    (tmp_path / "taken").write_text("")
    with pytest.raises(CollageError, match=r"cannot write .*: (Not a directory|File exists)"):
        export(kept.record, ["dot"], tmp_path / "taken")
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(CollageError, match="a chart needs the Python package 'plotly'"):
        export(kept.record, ["html"], tmp_path)
    assert not (tmp_path / "charts.html").exists()
