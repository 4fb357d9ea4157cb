"""Whole modules: from Python, and by a plan of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

import collage_core as collage  # noqa: E402
from collage_core.errors import CollageError  # noqa: E402
from collage_core.transform import CollagePartition  # noqa: E402
from collage_core.transform.collage_partition import Report  # noqa: E402
from collage_core.transform.whole_module import write_partitioned  # noqa: E402
from tests.helpers.command import in_this_process  # noqa: E402

from .test_collage_partition import PICTURE, PINS, functions_of, picture_module, run, several  # noqa: E402
from .test_open_packages import check_equal, rows, rows_module  # noqa: E402
from .test_symbols import sizes_of  # noqa: E402


@pytest.mark.long
def test_a_module_is_partitioned_by_the_python_function() -> None:
    module = picture_module()
    result: Any = collage.partition(module, targets=["onnxruntime", "tvm"], costs="roofline", constraints=PINS)
    assert {one.target for one in result.plan.partitions} == {"onnxruntime", "tvm"}
    assert list(functions_of(result.module, "Codegen"))
    assert np.allclose(run(relax.transform.RunCodegen()(result.module), PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)
    made: Any = collage.partition(several(), targets=["onnxruntime"], costs="roofline")
    assert len(made.records) == 3
    assert len(made.graph) == max(len(record.graph) for record in made.records)


@pytest.mark.long
def test_costs_may_be_a_function() -> None:
    result: Any = collage.partition(picture_module(), targets=["onnxruntime", "tvm"], costs=lambda one: float(one.target == "tvm") + 1e-3)
    assert {one.target for one in result.plan.partitions} == {"onnxruntime"}


def test_a_module_of_which_nothing_can_be_taken_is_one_line() -> None:
    with pytest.raises(CollageError, match="no binding of the module could be taken"):
        collage.partition(several(), targets=["onnxruntime"], costs="roofline", functions=["doubled"])


@pytest.mark.long
def test_a_plan_is_applied_and_the_module_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, out = tmp_path / "picture.json", tmp_path / "out"
    module = picture_module()
    saved.write_text(tvm.ir.save_json(module))
    (tmp_path / "pins.json").write_text(json.dumps({"constraints": list(PINS)}))
    found = ("partition", saved, "--targets", "onnxruntime,tvm", "--costs", "roofline", "--constraints", tmp_path / "pins.json")
    assert in_this_process(capsys, *found, "--out", tmp_path / "plan", "--threads", "1")[0] == 0
    status, _, err = in_this_process(capsys, "apply", tmp_path / "plan" / "plan.json", saved, "--out", out, "--ir")
    assert status == 0, err
    made = tvm.ir.load_json((out / "partitioned.json").read_text())
    assert [int(function.attrs["collage.threads"]) for function in functions_of(made, "Codegen").values()] == [1]
    assert np.allclose(run(relax.transform.RunCodegen()(made), PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)
    assert "@I.ir_module" in (out / "partitioned.py").read_text()
    status, _, err = in_this_process(capsys, "apply", tmp_path / "plan" / "plan.json", "mini_mnist", "--out", out, "--ir")
    assert status != 0
    assert "Traceback" not in err


@pytest.mark.long
def test_a_module_that_is_written_may_keep_its_symbols(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, plan, out = tmp_path / "rows.json", tmp_path / "plan", tmp_path / "out"
    saved.write_text(tvm.ir.save_json(rows_module()))
    found = ("partition", saved, "--targets", "onnxruntime", "--costs", "roofline", "--threads", "1", "--shape", "x=3,32", "--out", plan)
    assert in_this_process(capsys, *found)[0] == 0
    status, _, err = in_this_process(capsys, "apply", plan / "plan.json", saved, "--out", out, "--ir", "--keep-symbols")
    assert status == 0, err
    made = tvm.ir.load_json((out / "partitioned.json").read_text())
    assert sizes_of(made["main"].params[0]) == ["n", 32]
    built = relax.transform.RunCodegen()(made)
    for batch in (3, 6):
        check_equal(built, rows_module(), rows(batch))
    status, _, err = in_this_process(capsys, "apply", plan / "plan.json", saved, "--out", out, "--keep-symbols")
    assert status == 2
    assert "--keep-symbols is about the module that --ir writes" in err


def test_of_a_module_that_cannot_be_written_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_given: Any, **_options: Any) -> str:
        raise RuntimeError("it has no script")

    saved, report = tmp_path / "picture.json", Report()
    saved.write_text(tvm.ir.save_json(picture_module()))
    CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=PINS, report=report)(picture_module())
    monkeypatch.setattr(tvm.IRModule, "script", fails)
    (tmp_path / "out").mkdir()
    with pytest.raises(RuntimeError, match="it has no script"):
        write_partitioned(str(saved), [report.regions[0].record.plan], {}, str(tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []
