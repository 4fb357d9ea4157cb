"""Several shapes planned at once, over costs that a function gives: both answers, what fixing one loses, crossovers, and the files.

One test builds: an encoder over eight lengths, and lengths that were not planned, against ONNX Runtime.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from collage_core.api import partition
from collage_core.documents.json_form import to_json
from collage_core.errors import Cancelled, CollageError
from collage_core.events import Event, Note
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.sizes import planned_shapes
from collage_core.options import Options
from collage_core.pipeline import partition as pipeline
from collage_core.pipeline.record.record import RunRecord, read_record
from collage_core.pipeline.shapes import shaped_build
from collage_core.rewrite.plan import read_plan
from collage_core.rewrite.runtime.shaped_artifact import DynamicModel, ShapedArtifact, open_artifact
from collage_core.rules.candidate import CandidatePartition
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from tests.helpers.command import document_of, in_this_process
from tests.helpers.dynamic_encoder import dynamic_encoder, encoder_inputs
from tests.helpers.models import model_of, write

TARGETS = ("onnxruntime", "openvino")
CROSSING = 40
"""From this length on the second toolchain is faster at everything."""
Costs = Callable[[CandidatePartition], float | None]


def length_of(candidate: CandidatePartition) -> int:
    return candidate.graph.inputs[0].type.shape[1]


def crossing(candidate: CandidatePartition) -> float:
    """Each node takes 1 s for each token on the first toolchain, and as long as `CROSSING` tokens on the second; calls cost nothing."""
    each = length_of(candidate) if candidate.target == TARGETS[0] else CROSSING
    return float(each * len(candidate.inside)) + 0.001


def run(path: Path, costs: Costs, shapes: dict[str, Any], emit: Callable[[Event], None] = lambda event: None, **options: Any) -> RunRecord:
    return partition(path, targets=TARGETS, costs=costs, shapes=shapes, emit=emit, **options)


def reference_of(path: Path) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """Return the whole model in ONNX Runtime, at any shape."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def targets_of(row: dict[str, Any]) -> set[str]:
    return {part["target"] for part in row["partitions"]} - {"host"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dynamic_encoder(tmp_path_factory.mktemp("encoder"))


def test_each_range_has_the_plan_that_is_best_there_where_that_is_worth_it(encoder: Path) -> None:
    record = run(encoder, crossing, {"ids": "1,{8,16,64,128}"})
    found = to_json(record.document.shapes)
    assert [targets_of(row) for row in found["planned"]] == [{TARGETS[0]}] * 2 + [{TARGETS[1]}] * 2
    assert (found["chosen"], found["decided_by"]) == ("by_range", "sum")
    assert [(one["first"], one["last"]) for one in found["by_range"]["ranges"]] == [(0, 1), (2, 3)]
    assert found["by_range"]["total_s"] == pytest.approx(sum(row["total_s"] for row in found["planned"]) / 4)
    assert found["by_range"]["total_s"] < found["one_plan"]["total_s"] == min(plan["total_s"] for plan in found["plans"])
    nodes = sum(len(part["nodes"]) for part in found["planned"][0]["partitions"])
    assert found["plans"][found["planned"][0]["best"]]["loses_s"] == pytest.approx([0, 0, 24 * nodes, 88 * nodes])
    assert [one.name for one in record.plan.by_shape] == ["seq=8", "seq=16", "seq=64", "seq=128"]
    json.dumps(to_json(record.document))


def test_one_plan_is_chosen_where_more_would_gain_little(encoder: Path) -> None:
    def nearly_equal(candidate: CandidatePartition) -> float:
        return 100.0 + (0.1 if (candidate.target == TARGETS[0]) is (length_of(candidate) > CROSSING) else 0.0)

    found = to_json(run(encoder, nearly_equal, {"ids": "1,{8,64}"}).document.shapes)
    assert found["chosen"] == "one_plan"
    assert targets_of(found["planned"][0]) == targets_of(found["planned"][1])


def test_the_weighted_sum_decides_the_one_plan(encoder: Path, tmp_path: Path) -> None:
    """The one plan is that of the short inputs where long ones are rare; an even mean prefers the other."""
    files = []
    for number, length in enumerate([8] * 19 + [128]):
        files.append(tmp_path / f"{number}.npz")
        np.savez(files[-1], **encoder_inputs(length))  # type: ignore[arg-type]
    even = to_json(run(encoder, crossing, {"ids": "1,{8,128}"}).document.shapes)
    real = to_json(run(encoder, crossing, {}, shapes_from=tuple(files)).document.shapes)
    assert [row["weight"] for row in real["planned"]] == [0.95, 0.05]
    assert [row["inputs"]["ids"] for row in real["planned"]] == [[1, 8], [1, 128]]
    assert [targets_of(found["plans"][found["one_plan"]["plan"]]) for found in (even, real)] == [{TARGETS[1]}, {TARGETS[0]}]
    short_s = real["planned"][0]["total_s"]
    assert real["one_plan"]["total_s"] == pytest.approx(0.95 * short_s + 0.05 * 16 * short_s, rel=0.01)


def test_what_is_invalid_at_one_shape_is_in_no_plan_for_all(encoder: Path) -> None:
    def only_short(candidate: CandidatePartition) -> float:
        if candidate.target == TARGETS[0] and length_of(candidate) > CROSSING:
            raise ValueError("too long for me")
        return 1.0 if candidate.target == TARGETS[0] else 1.5

    found = to_json(run(encoder, only_short, {"ids": "1,{8,64}"}).document.shapes)
    assert targets_of(found["plans"][found["one_plan"]["plan"]]) == {TARGETS[1]}
    assert found["plans"][found["planned"][0]["best"]]["loses_s"] == [0, None]


def test_the_crossover_is_found_between_two_sizes_of_a_range(encoder: Path) -> None:
    notes: list[str] = []
    record = run(encoder, crossing, {"ids": "1,8..128"}, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    found = to_json(record.document.shapes)
    assert found["dimensions"] == [
        {"name": "seq", "inputs": [["ids", 1]], "sizes": "8..128", "is_range": True, "planned": [8, 20, 51, 128]}
    ]
    assert len(found["crossovers"]) == 1
    crossover = found["crossovers"][0]
    assert crossover["below"] <= CROSSING <= crossover["above"]
    assert crossover["above"] - crossover["below"] < 8
    assert any("of the sizes 8..128 of seq the search takes 8, 20, 51, 128" in note for note in notes)


def test_other_nodes_at_a_shape_leave_no_plan_for_all(tmp_path: Path) -> None:
    """Folding takes an Expand away that changes nothing at one size."""
    text = "g (float[1,n] x) => (float[1,m] y) { [relu] r = Relu(x) [expand] e = Expand(r, shape) [neg] y = Neg(e) }"
    path = write(tmp_path, model_of(text, {"shape": np.array([1, 4])}))
    notes: list[str] = []
    record = run(path, lambda candidate: 1.0, {"x": "1,{1,4}"}, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    found = to_json(record.document.shapes)
    if len({json.dumps(row["partitions"]) for row in found["planned"]}) > 1:
        assert found["chosen"] == "by_range"
        assert "the model has other nodes at n=4 than at n=1" in found["one_plan"]["reason"]
        assert any("there is no one plan for all shapes" in note for note in notes)
    else:
        pytest.fail("the model folds alike at both sizes: this test needs another one")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--shape", "ids=1,{16,64}", "--shape", "mask=1,{16,32}"], "share the dimension 'seq', and --shape gives it {16,64} and {16,32}"),
        (["--shape", "ids=1,{16,64}", "--inputs", "x.npz"], "--inputs has one shape, and several are planned for"),
        (["--shape", "ids=1,{16,64}", "--shapes-from", "a.npz"], "--shape and --shapes-from both give several sizes"),
        (["--shapes-from", "nothing-*.npz"], "--shapes-from 'nothing-*.npz' matches no file"),
        (["--shape", "ids=1,64", "--other-shapes", "onnxruntime"], "--other-shapes is 'onnxruntime', and one shape is planned for"),
        (["--shape", "ids=1,{64,300}"], "at seq=300: "),
        (["--shape", "ids=1,{64,300}", "--ir", "relax"], "is a Relax module, and several shapes are planned for ONNX files alone"),
    ],
)
def test_a_mistake_is_one_line(encoder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    status, _, err = in_this_process(capsys, "partition", encoder, "--targets", "onnxruntime", "--costs", "roofline", *options)
    assert status == 2
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert words in errors[0]


def test_the_command_takes_files_as_a_shell_lists_them(encoder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [tmp_path / f"{length}.npz" for length in (8, 12, 12)]
    files[2] = tmp_path / "again.npz"
    for file, length in zip(files, (8, 12, 12), strict=True):
        np.savez(file, **encoder_inputs(length))  # type: ignore[arg-type]
    given = ("partition", "--costs", "roofline", "--targets", "onnxruntime", "--shapes-from", *files, "--no-fold", encoder)
    found = document_of(capsys, *given)["shapes"]
    assert [(row["inputs"]["ids"], row["weight"]) for row in found["planned"]] == [
        ([1, 8], pytest.approx(1 / 3)),
        ([1, 12], pytest.approx(2 / 3)),
    ]
    again = document_of(
        capsys, "partition", encoder, "--costs", "roofline", "--targets", "onnxruntime", "--shapes-from", tmp_path / "*.npz"
    )
    assert len(again["shapes"]["planned"]) == 2


@pytest.mark.long
def test_many_sizes_between_planned_ones_are_served_by_one_build_for_each_range(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_shapes, "OF_ONE_RANGE", 2)
    record = run(encoder, crossing, {"ids": "1,8..128"}, out=tmp_path / "out")
    ranges = record.plan.ranges
    assert [one.target for one in ranges] == list(TARGETS)
    assert ranges[0].first == {"ids": (1, 8), "mask": (1, 8)}
    assert ranges[1].last == {"ids": (1, 128), "mask": (1, 128)}
    assert ranges[0].last["ids"][1] + 1 == ranges[1].first["ids"][1]
    artifact, wanted = open_artifact(tmp_path / "out"), reference_of(encoder)
    for length in (8, 9, ranges[0].last["ids"][1], ranges[1].first["ids"][1], 127, 128):
        inputs = encoder_inputs(length, length)
        assert largest_error(artifact.run(inputs), wanted(inputs)) < 1e-4, length


def test_a_run_that_is_stopped_keeps_the_shapes_that_it_has(encoder: Path) -> None:
    notes: list[str] = []
    is_over = [False]

    def tell(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
            is_over[0] |= event.text.startswith("shape 2 of 3")

    def costs(candidate: CandidatePartition) -> float:
        return 1.0

    options = Options(TARGETS, costs="function:costs", shapes={"ids": "1,{8,16,32}"})  # type: ignore[dict-item]
    found = to_json(pipeline.partition(encoder, options, tell, costs, lambda: is_over[0]).document.shapes)
    assert [(row["name"], row["weight"]) for row in found["planned"]] == [("seq=8", 1.0)]
    assert "the run was cancelled: 2 of 3 shapes have no plan" in notes
    with pytest.raises(Cancelled):
        pipeline.partition(encoder, options, tell, costs, lambda: True)


def test_another_search_on_its_costs_is_about_its_own_shape(encoder: Path) -> None:
    record = run(encoder, crossing, {"ids": "1,{8,64}"})
    again = search_again(record, Terms(constraints=({"kind": "veto", "target": TARGETS[1]},)))
    assert {part.target for part in again.plan.partitions} - {"host"} == {TARGETS[0]}
    assert again.plan.by_shape == ()
    assert again.document.shapes is None


FIRST, LAST = 33, 40
OTHERS = (2, 50, 200)


@pytest.fixture(scope="module")
def built(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunRecord]:
    """The artifact for eight lengths, of which four are planned for: short ones on one toolchain, long ones on another."""

    def costs(candidate: CandidatePartition) -> float:
        each = length_of(candidate) - 30 if candidate.target == TARGETS[0] else 7
        return float(each * len(candidate.inside)) + 0.001

    out = tmp_path_factory.mktemp("shapes") / "out"
    return out, run(encoder, costs, {"ids": f"1,{FIRST}..{LAST}"}, out=out, other_shapes="onnxruntime")


@pytest.mark.long
def test_the_artifact_computes_what_the_model_does_at_each_length(encoder: Path, built: tuple[Path, RunRecord]) -> None:
    out, record = built
    found = to_json(record.document.shapes)
    assert [row["sizes"]["seq"] for row in found["planned"]] == [33, 35, 38, 40]
    assert [row["sizes"]["seq"] for row in found["between"]["built"]] == [34, 36, 37, 39]
    assert [targets_of(row) for row in found["planned"]] == [{TARGETS[0]}] * 2 + [{TARGETS[1]}] * 2
    assert all(row["max_rel_error"] < 1e-4 for row in [*found["planned"], *found["between"]["built"]])
    artifact, wanted = open_artifact(out), reference_of(encoder)
    assert isinstance(artifact, ShapedArtifact)
    random = np.random.default_rng(0)
    lengths = [*range(FIRST, LAST + 1), *OTHERS, *random.choice([*range(FIRST, LAST + 1), *OTHERS], 39)]
    for seed, length in enumerate(lengths):
        inputs = encoder_inputs(int(length), seed, batch=2 if length in OTHERS else 1)
        assert isinstance(artifact.serving(inputs), DynamicModel) == (length in OTHERS)
        assert largest_error(artifact.run(inputs), wanted(inputs)) < 1e-4, length


ARITHMETIC = """g (float[n,4] x) => (float[m,k] y) {
    [product] a = MatMul(x, w) [bend] b = Tanh(a) [shape] s = Shape(b)
    [ones] f = ConstantOfShape <value = float[1] {1.0}> (s) [sum] c = Add(b, f) [last] y = Exp(c)
}"""


@pytest.mark.long
def test_a_plan_of_several_partitions_serves_any_size_of_a_long_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two nodes are faster on one toolchain and the others on the other one, at every size."""

    def costs(candidate: CandidatePartition) -> float:
        firsts = [candidate.graph.nodes[index].name in ("product", "bend") for index in candidate.inside]
        return 0.1 + sum(1.0 if is_first == (candidate.target == TARGETS[0]) else 9.0 for is_first in firsts)

    path, out = write(tmp_path, model_of(ARITHMETIC, {"w": np.eye(4, dtype=np.float32)})), tmp_path / "out"
    record = run(path, costs, {"x": "1..200,4"}, out=out)
    (one,) = record.plan.ranges
    assert [(part.target, part.names) for part in one.partitions] == [(TARGETS[0], ("product", "bend")), (TARGETS[1], ("sum", "last"))]
    assert to_json(record.document.shapes)["between"]["unserved"] == []
    assert read_plan(out / "plan.json").ranges == record.plan.ranges
    artifact, random = open_artifact(out), np.random.default_rng(0)
    assert isinstance(artifact, ShapedArtifact)
    for size in random.integers(2, 200, 20):
        x = random.standard_normal((size, 4)).astype(np.float32)
        served = artifact.serving({"x": x})
        assert isinstance(served, DynamicModel) == (size not in [row["sizes"]["n"] for row in to_json(record.document.shapes)["planned"]])
        assert getattr(served, "targets", TARGETS) == TARGETS
        np.testing.assert_allclose(artifact.run({"x": x})["y"], reference_of(path)({"x": x})["y"], rtol=1e-5)
        assert len(artifact.time({"x": x}, repeat=2)) == 2

    def refused(*_: object) -> None:
        raise CollageError("they wait for one another")

    monkeypatch.setattr(shaped_build, "dynamic_parts", refused)
    assert shaped_build.build_shaped(path, record.plan, out).unbuilt == {0: "they wait for one another"}
    with pytest.raises(CollageError, match="the artifact has no plan for the shapes x"):
        open_artifact(out).run({"x": np.zeros((199, 4), np.float32)})


@pytest.mark.long
def test_the_plan_file_builds_an_artifact_again(
    encoder: Path, built: tuple[Path, RunRecord], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, record = built
    plan = read_plan(out / "plan.json")
    assert plan == record.plan
    assert read_record(out / "run.json.gz").document.shapes == record.document.shapes
    few = plan.model_copy(update={"by_shape": plan.by_shape[3:4], "other_shapes": "error"})
    few.write(tmp_path / "few.json")
    applied = document_of(capsys, "apply", tmp_path / "few.json", encoder, "--out", tmp_path / "again")
    assert [row["name"] for row in applied["verify"]["shapes"]] == ["seq=40"]
    np.savez(tmp_path / "inputs.npz", **encoder_inputs(LAST))  # type: ignore[arg-type]
    given = ("--inputs", tmp_path / "inputs.npz", "--json")
    means = [document_of(capsys, "run", folder, *given[:2])["outputs"]["pooled"]["mean"] for folder in (out, tmp_path / "again")]
    assert means[0] == pytest.approx(means[1], rel=1e-4)
    np.savez(tmp_path / "inputs.npz", **encoder_inputs(FIRST))  # type: ignore[arg-type]
    status, _, err = in_this_process(capsys, "run", tmp_path / "again", *given)
    assert status == 2
    assert "error: the artifact has no plan for the shapes ids [1, 33]" in err
    own = ("--out", tmp_path / "own", "--inputs", tmp_path / "inputs.npz")
    status, _, err = in_this_process(capsys, "apply", tmp_path / "few.json", encoder, *own)
    assert status == 2
    assert "has none of the shapes of the plan: seq=40" in err
    np.savez(tmp_path / "inputs.npz", **encoder_inputs(40))  # type: ignore[arg-type]
    verified = document_of(capsys, "apply", tmp_path / "few.json", encoder, *own)["verify"]["shapes"]
    assert [row["name"] for row in verified] == ["seq=40"]
