"""A result in Python: it answers as the command line does, is opened again, and keeps what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import collage_core as collage
from collage_core.base.isolation.worker_errors import WorkerTimeout
from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.results import result as results
from collage_core.results.formats import FILES
from collage_core.results.result import Result, open_run, result_of
from tests.collage_core.results.conftest import HOSTILE, Kept
from tests.helpers.command import document_of


def test_partition_returns_one_that_knows_its_model(kept: Kept, tmp_path: Path) -> None:
    costs = f"mock:{kept.folder / 'mock.json'}"
    result = collage.partition(kept.model, targets=["onnxruntime", "tvm"], costs=costs, threads=1)
    assert isinstance(result, Result)
    assert result.plan == kept.record.plan
    ours = [file for file in FILES if file.make is not None]
    assert [path.name for path in result.export(tmp_path, [file.format for file in ours])] == [file.name for file in ours]
    assert repr(result).startswith("<Result of 'model': predicted ")


def test_values_are_fixed_inputs_or_the_value_policy(kept: Kept) -> None:
    costs = f"mock:{kept.folder / 'mock.json'}"
    made = [collage.partition(kept.model, targets=["onnxruntime"], costs=costs, threads=1, values=given) for given in ("any", {})]
    assert [result.plan.value_policy for result in made] == ["any", "finite"]
    assert [result.document.verify.value_policy for result in made] == ["any", "finite"]


def test_one_that_was_kept_is_opened_by_its_folder_or_its_files(kept: Kept, tmp_path: Path) -> None:
    for path in (kept.folder, str(kept.folder), kept.folder / "plan.json", kept.folder / "run.json.gz"):
        opened = open_run(path, kept.model)
        assert opened.plan == kept.record.plan
    assert opened.export(tmp_path, ["onnx"]) == [tmp_path / "annotated.onnx"]
    with pytest.raises(CollageError, match="there is no run in") as error:
        open_run(tmp_path / "none")
    assert error.value.hint == "give the folder that --out or save() wrote"


def test_why_is_what_the_command_prints(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    result = open_run(kept.folder)
    for node in ("a", "1", HOSTILE):
        assert {"schema": 1, **to_json(result.why(node))} == document_of(capsys, "explain", kept.folder, "--node", node)
    assert result.why(1) == result.why("1")
    assert {"schema": 1, **to_json(result.why())} == document_of(capsys, "explain", kept.folder)
    with pytest.raises(CollageError, match="the model has no node 'none'"):
        result.why("none")


def test_other_questions_are_methods_too(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    result = open_run(kept.folder)
    assert {"schema": 1, **to_json(result.worth())} == document_of(capsys, "explain", kept.folder, "--by-targets")
    assert {"schema": 1, **to_json(result.undecided())} == document_of(capsys, "explain", kept.folder, "--undecided")


def test_a_node_that_was_fused_is_asked_for_by_its_name(kept: Kept) -> None:
    result = collage.partition("mini_mnist", targets=["onnxruntime"], costs=f"mock:{kept.folder / 'mock.json'}", threads=1)
    into = next(node for node in result.graph.nodes if "conv1" in node.absorbed)
    assert result.why("conv1") == result.why(into.name)


def test_compare_is_what_the_command_prints(kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs = f"mock:{kept.folder / 'mock.json'}"
    other = collage.partition(kept.model, targets=["tvm"], costs=costs, threads=1)
    other.save(tmp_path)
    told = document_of(capsys, "compare", kept.folder, tmp_path)
    found = {"schema": 1, **to_json(open_run(kept.folder).compare(other))}
    for document in (told, found):
        document["first"].pop("name"), document["second"].pop("name"), document.pop("costs_of")
    assert found == told
    assert found["moved"]


def test_a_notebook_shows_the_page_made_once_and_says_why_where_there_is_none(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def report(record: Result, timeout_s: float) -> str:
        made.append(timeout_s)
        return '<p id="page">&</p>'

    monkeypatch.setattr(results, "report_text", report)
    result = open_run(kept.folder)
    assert result._repr_html_() == result._repr_html_()
    assert 'srcdoc="&lt;p id=&quot;page&quot;&gt;&amp;&lt;/p&gt;"' in result._repr_html_()
    assert made == [results.REPORT_S]

    def broken(record: Result, timeout_s: float) -> str:
        raise WorkerTimeout(120)

    monkeypatch.setattr(results, "report_text", broken)
    assert "without the interactive graph: the process that makes it gave no answer within 2 min" in open_run(kept.folder)._repr_html_()
    monkeypatch.setattr(results, "MOST_NODES", 2)
    assert "without the interactive graph: the model has 4 nodes" in open_run(kept.folder)._repr_html_()


def test_its_regions_are_results_too(kept: Kept) -> None:
    held = {**vars(kept.record), "regions": {"inner": kept.record}}
    outer = result_of(type(kept.record)(**{name: held[name] for name in kept.record.__dataclass_fields__}), "model.py")
    assert isinstance(outer.regions["inner"], Result)
    assert outer.regions["inner"].source == "model.py"
    assert result_of(outer) is outer


def test_a_size_that_nobody_gave_is_known_to_the_result(kept: Kept) -> None:
    assert result_of(kept.record).assumed == {}
    model = kept.record.plan.model.model_copy(update={"assumed": {"batch": 1}})
    result = result_of(replace(kept.record, plan=kept.record.plan.model_copy(update={"model": model})))
    assert result.assumed == {"batch": 1}
    assert repr(result).startswith("<Result of 'model', batch = 1: predicted ")
