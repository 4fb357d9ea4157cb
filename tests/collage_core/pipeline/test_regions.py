"""Every region of a Relax module has a run, a plan and an artifact of its own, and `apply --ir` puts all of them into the module."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.base.module_regions import RegionSummary
from collage_core.documents.dry_run import DryRun
from collage_core.errors import CollageError
from collage_core.events import Note
from collage_core.model.relax.load import load
from collage_core.model.relax.relax_model import regions_in
from collage_core.options import Options
from collage_core.pipeline import partition as front_door
from collage_core.pipeline.discover import CandidateSet, Phases
from collage_core.pipeline.partition import partition, plans_beside
from collage_core.pipeline.record.record import RunRecord
from collage_core.rewrite.plan import read_plan
from tests.helpers.command import document_of, in_this_process
from tests.helpers.documents import run_document

SCALED = """
    @R.function
    def scaled(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            twice = R.add(x, x)
            risen = R.nn.relu(twice)
            R.output(risen)
        return risen
"""
MAIN = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        if flag:
            c = R.negative(a)
        else:
            c = R.abs(a)
        with R.dataflow():
            bent = R.tanh(c)
            d = R.sigmoid(R.add(bent, a))
            R.output(d)
        return d
"""
ROOFLINE = ("--targets", "onnxruntime", "--costs", "roofline", "--threads", "1")
OPTIONS = Options(("onnxruntime",), costs="roofline", threads=1)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "several.py"
    path.write_text(MAIN + SCALED)
    return path


@pytest.mark.long
def test_each_region_has_a_run_of_its_own(module: Path, tmp_path: Path) -> None:
    """The largest of ``main`` first. A symbol that no shape fixes is a batch of one, in each function by itself."""
    notes: list[str] = []
    first = partition(module, OPTIONS, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    records = [first, *first.regions.values()]
    assert list(first.regions) == ["main.0", "scaled.0"]
    assert [one.plan.options["region"] for one in records] == ["main.1", "main.0", "scaled.0"]
    assert [[node.name for node in one.graph.nodes] for one in records] == [["bent", "lv2", "d"], ["a"], ["twice", "risen"]]
    assert len({one.plan.model.hash for one in records}) == 3
    assert "region main.0, 2 of 3" in notes
    listed, left = regions_in(module, {})
    assert [(one.name, one.block, one.nodes) for one in listed] == [("main.1", 2, 3), ("main.0", 0, 1), ("scaled.0", 0, 2)]
    assert all(one.operations >= one.nodes * 4 for one in listed)
    assert left == []
    only = partition(module, Options(("onnxruntime",), costs="roofline", threads=1, region="scaled.0", shapes={"x": (3, 4)}))
    assert only.graph.inputs[0].type.shape == (3, 4)
    with pytest.raises(CollageError, match=r"the function 'main' has 2 regions, and 'main.7' is none"):
        partition(module, Options(("onnxruntime",), costs="roofline", region="main.7"))


@pytest.mark.long
def test_plans_artifacts_and_the_module_hold_all_regions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "several.py"
    module.write_text(MAIN)
    tvm: Any = pytest.importorskip("tvm")
    from tests.collage_core.transform.test_collage_partition import functions_of, run

    out, applied = tmp_path / "out", tmp_path / "applied"
    alone = document_of(capsys, "partition", module, "--trust", *ROOFLINE, "--region", "main.0")
    assert "regions" not in alone
    assert [name for part in alone["plan"]["partitions"] for name in part["names"]] == ["a"]
    document = document_of(capsys, "partition", module, "--trust", *ROOFLINE, "--out", out)
    assert set(document["regions"]) == {"main.0"}
    for folder in (out, out / "main.0"):
        assert (folder / "artifact.json").exists()
        assert (folder / "run.json.gz").exists()
    assert set(plans_beside(out / "plan.json", read_plan(out / "plan.json"))) == {"main.0"}
    status, _, err = in_this_process(capsys, "apply", out / "plan.json", module, "--trust", "--out", applied, "--ir")
    assert status == 0, err
    assert (applied / "main.0" / "artifact.json").exists()
    made = tvm.ir.load_json((applied / "partitioned.json").read_text())
    assert len(functions_of(made, "Codegen")) == 2
    built = tvm.relax.transform.RunCodegen()(made)
    x = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
    for flag in (True, False):
        risen = np.exp(x)
        bent = np.tanh(-risen if flag else np.abs(risen))
        assert np.allclose(run(built, x, np.array(flag))[0], 1 / (1 + np.exp(-(bent + risen))), atol=1e-5)


def budget(spent_s: float, tuned_s: float) -> dict[str, Any]:
    return {"limit_s": None, "spent_s": spent_s, "tuned_s": tuned_s, "undecided": [], "rivals": []}


def test_the_budget_is_shared_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With mock costs nothing is measured; what each run may spend is what is looked at."""
    found_regions = [RegionSummary("main.1", 2, 3, 24.0), RegionSummary("main.0", 0, 1, 8.0)]
    monkeypatch.setattr(front_door, "regions_in", lambda _path, _shapes: (found_regions, []))
    record, given, notes = partition("mini_mnist", OPTIONS), [], []
    record = replace(record, document=run_document(budget=budget(45.0, 15.0)))
    clock_s, took_s = [0.0], 45.0
    monkeypatch.setattr(front_door.time, "monotonic", lambda: clock_s[0])

    def planned(_source: object, options: Options, *_others: object) -> RunRecord:
        clock_s[0] += took_s
        given.append((options.region, options.budget_s, options.tune_s))
        return record

    monkeypatch.setattr(front_door, "run_once", planned)
    options = Options(("onnxruntime",), costs="mock:costs.json", budget_s=40)
    partition("model.py", options, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    partition("model.py", Options(("tvm",), tune_s=20))
    assert given == [("main.1", 30, None), ("main.0", 10, None), ("main.1", None, 15), ("main.0", None, 5)]
    assert notes == ["region main.1, 1 of 2: 30 s of 40 s for its run", "region main.0, 2 of 2: 10 s of 40 s for its run"]
    given.clear()
    took_s, record = 17.0, replace(record, document=run_document(budget=budget(12.0, 5.0)))
    partition("model.py", Options(("tvm",), budget_s=40, tune_s=20))
    assert given == [("main.1", 30, 15), ("main.0", 28, 15)], "what the first run leaves goes to the next"


def test_a_module_is_not_read_for_regions_that_the_caller_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def planned(_source: object, options: Options, *_others: object) -> RunRecord:
        given.append(options.region)
        return record

    record = partition("mini_mnist", OPTIONS)
    monkeypatch.setattr(front_door, "regions_in", None)
    monkeypatch.setattr(front_door, "run_once", planned)
    assert partition("model.py", OPTIONS, regions=()) is record
    partition("model.py", OPTIONS, regions=[RegionSummary("main.1", 2, 3, 24.0), RegionSummary("main.0", 0, 1, 8.0)])
    assert given == [None, "main.1", "main.0"]


def test_a_dry_run_tells_of_each_region(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def told(_source: object, options: Options, _emit: object) -> DryRun:
        asked.append(options.region)
        return dry_run_of(options.region)

    def dry_run_of(region: str | None) -> DryRun:
        return DryRun(model=run_document().model, targets=(), basis=f"of {region}")

    monkeypatch.setattr(front_door, "dry_run", told)
    found_regions = [RegionSummary("main.1", 2, 3, 24.0), RegionSummary("main.0", 0, 1, 8.0)]
    monkeypatch.setattr(front_door, "regions_in", lambda _path, _shapes: (found_regions, ["the function 'f' is left to TVM: why"]))
    notes: list[str] = []
    found = front_door.dry_run_regions("model.py", OPTIONS, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    assert found == replace(dry_run_of("main.1"), region="main.1", regions={"main.0": dry_run_of("main.0")})
    assert notes == ["the function 'f' is left to TVM: why"]
    assert front_door.dry_run_regions("mini_mnist", OPTIONS) == dry_run_of(None)
    assert asked == ["main.1", "main.0", None]


BOUND = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0)]})

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            free = R.exp(x)
            hinted = R.negative(free)
            known = R.hint_on_device(hinted, R.device(1, 0), "global")
            bent = R.tanh(known)
            R.output(bent)
        return bent
"""
HINTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            there = R.hint_on_device(product, R.device(2, 0), "global")
            bent = R.abs(there)
            back = R.hint_on_device(bent, R.device(1, 0), "global")
            last = R.tanh(back)
            R.output(last)
        return last
"""


@pytest.mark.long
def test_annotations_of_devices_are_vetoes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `CollagePartition`: a node that is bound to the processor goes to no toolchain of another device."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "tests.collage_core.transform.hooked_toolchains:Elsewhere")
    path = tmp_path / "bound.py"
    path.write_text(BOUND)
    found = CandidateSet(path, Options(("elsewhere", "onnxruntime"), costs="roofline", accuracy=1e-3), Phases(lambda event: None), print)
    assert list(found.options.constraints) == [{"kind": "veto", "node": "hinted", "target": "elsewhere"}]


def test_what_a_hint_at_a_device_reaches_goes_to_no_toolchain_of_the_processor(tmp_path: Path) -> None:
    path = tmp_path / "hinted.py"
    path.write_text(HINTED)
    model = load(path)
    assert [node.name for node in model.graph.nodes] == ["last"]
    why = "makes a tensor on the device cuda, on which no toolchain here runs"
    assert f"the binding 'product' of 'main' is left to TVM: relax.matmul {why}" in model.notes


def test_other_models_are_one_run_and_have_no_regions(tmp_path: Path) -> None:
    record = partition("mini_mnist", OPTIONS)
    assert not record.regions
    assert "region" not in record.plan.options
    assert plans_beside(tmp_path / "plan.json", record.plan) == {}
    with pytest.raises(CollageError, match=r"is not a Relax module, so it has no region 'main\.0'"):
        partition("mini_mnist", Options(("onnxruntime",), costs="roofline", region="main.0"))
