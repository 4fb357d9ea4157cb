"""The partition in which an error begins: the first one that reads what is right and makes what is not."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from collage_core.cli.each_text import each_told, show_each
from collage_core.events import ignore
from collage_core.options import Options
from collage_core.pipeline.apply import apply
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.whole.check_each import PartitionAccuracyError, _rows, begins_text
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.registry import get
from tests.helpers.command import document_of, in_this_process
from tests.helpers.models import model_of, write
from tests.helpers.paths import PLUGINS

TEXT = "g (float[2,8] x) => (float[2,8] y) { [first] a = Sigmoid(x) [wrong] b = Relu(a) [last] y = Sigmoid(b) }"


def piece(target: str, reads: Sequence[str], makes: str) -> PartitionModel:
    model = sub_model([node("Relu", reads[0], makes)], [tensor(name, (2, 3)) for name in reads], [tensor(makes, (2, 3))])
    return PartitionModel(target, (f"n_{makes}",), model, f"p_{makes}")


def test_each_partition_has_the_errors_of_what_it_reads_and_makes() -> None:
    pieces = [piece("tvm", ["x"], "a"), piece("host", ["a"], "b"), piece("tvm", ["b"], "c")]
    rows = _rows(pieces, {"a": 0.5, "c": float("inf")})
    assert [(row.id, row.input_error, row.output_error, row.worst) for row in rows] == [
        ("p_a", 0.0, 0.5, "a"),
        ("p_c", 0.5, float("inf"), "c"),
    ], "the host only renames: what reads it reads what was made before"


ROWS = [
    {"id": "p", "target": "tvm", "names": ["conv", "relu"], "input_error": 1e-7, "output_error": 1e-6, "worst": "t"},
    {"id": "q", "target": "openvino", "names": ["add"], "input_error": 1e-6, "output_error": None, "worst": "u"},
]


def test_the_partition_in_which_it_begins_is_said_in_words() -> None:
    said = begins_text({"partitions": ROWS, "begins": "q"})
    assert said == (
        "the error begins in the partition on openvino of 'add': its inputs are right within 1e-06, "
        "its output 'u' is NaN, infinite or of another shape"
    )
    assert "'conv' and 1 more nodes" in begins_text({"partitions": ROWS, "begins": "p"})
    assert begins_text({"partitions": ROWS, "begins": None}).startswith("no partition errs while every boundary is kept")


def test_the_errors_are_printed_also_where_the_plan_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    each = {"accuracy": 1e-3, "begins": "q", "partitions": ROWS}
    show_each(each)
    assert capsys.readouterr().out.splitlines() == [
        "  reads    1e-07, makes    1e-06  tvm, 2 nodes from 'conv'",
        "  reads    1e-06, makes not even near  openvino, 1 node from 'add'  <- the error begins here",
    ]
    with pytest.raises(PartitionAccuracyError), each_told(as_json=True):
        raise PartitionAccuracyError("wrong", "", each)
    assert json.loads(capsys.readouterr().out)["each"] == each


def seconds(candidate: CandidatePartition) -> float:
    """Each node alone is cheapest where the test wants it."""
    names = [candidate.graph.nodes[index].name for index in candidate.inside]
    wanted = "wrong_numbers" if names == ["wrong"] else "numpy"
    return 1.0 if len(names) == 1 and candidate.target == wanted else 9.0


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunRecord, Path]:
    """A plan of three partitions, the second on a toolchain whose numbers are wrong, and its model."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Numpy,erring_toolchains:WrongNumbers")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(PLUGINS), os.environ.get("PYTHONPATH")))))
    source = write(tmp_path, model_of(TEXT))
    record = partition(source, Options(("numpy", "wrong_numbers"), costs="function:seconds"), ignore, seconds)
    assert [part.target for part in record.plan.partitions] == ["numpy", "wrong_numbers", "numpy"]
    return record, source


@pytest.mark.long
@pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)
def test_the_first_partition_that_errs_is_named(
    planned: tuple[RunRecord, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, source = planned
    with pytest.raises(PartitionAccuracyError, match="the error begins in the partition on wrong_numbers of 'wrong'") as caught:
        apply(record.plan, source, tmp_path / "out", checks_each=True)
    first, wrong, last = caught.value.each["partitions"]
    assert caught.value.each["begins"] == wrong["id"]
    assert first["output_error"] < 1e-6
    assert wrong["input_error"] == first["output_error"]
    assert wrong["output_error"] == pytest.approx(0.01, rel=1e-3)
    assert last["input_error"] == wrong["output_error"]
    plan = record.plan.model_copy(update={"accuracy": 0.5})
    plan.write(tmp_path / "plan.json")
    verify = document_of(capsys, "apply", tmp_path / "plan.json", source, "--out", tmp_path / "built", "--check-each")["verify"]
    assert verify["each"]["begins"] is None, "half of the largest value is allowed"
    assert len(verify["each"]["partitions"]) == 3
    record.plan.write(tmp_path / "plan.json")
    status, out, err = in_this_process(capsys, "apply", tmp_path / "plan.json", source, "--out", tmp_path / "wrong", "--check-each")
    assert status == 3
    assert out.splitlines()[1].endswith("wrong_numbers, 1 node from 'wrong'  <- the error begins here")
    assert "nothing was exported; the error begins in the partition on wrong_numbers of 'wrong'" in err
