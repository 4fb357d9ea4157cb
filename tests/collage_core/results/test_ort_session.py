"""The plan as a session of ONNX Runtime: the documented lines open it, it says what it does not express, and its numbers are the run's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import collage_core as collage
from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.pipeline.record.record import RunRecord
from collage_core.results.ort_session import session_document, session_json
from tests.collage_core.results.conftest import Kept
from tests.helpers.documents import run_document
from tests.helpers.models import loaded
from tests.helpers.paths import DOCS, ROOT

RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"


def test_the_documented_lines_open_a_session_that_computes_the_model(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onnxruntime_session.json").write_bytes(session_json(kept.record))
    (tmp_path / "model.onnx").write_bytes(kept.model.read_bytes())
    lines = (DOCS / "deploy.md").read_text().split("### ONNX Runtime alone")[1]
    code = re.search(r"```python\n(.*?)```", lines, re.S)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code[1], names)
    model = load_model(kept.model)
    given = model.seeded_inputs()
    [made] = names["session"].run(None, given)
    np.testing.assert_allclose(made, model.reference(given)["y"], rtol=1e-5)
    assert names["session"].get_session_options().intra_op_num_threads == kept.record.plan.options["threads"] == 1


def test_a_plan_that_leaves_onnx_runtime_is_not_expressed(kept: Kept) -> None:
    found = session_document(kept.record)
    assert (found["expresses_plan"], found["reason"]) == (False, "the plan also runs on tvm, for which this session has no provider")
    assert found["plan"]["predicted_s"] < found["session_alone"]["predicted_s"]
    assert found["kept"] is None, "nothing was measured"
    alone = collage.partition(kept.model, targets=["onnxruntime"], costs=f"mock:{kept.folder / 'mock.json'}", threads=1)
    found = session_document(alone)
    assert (found["expresses_plan"], found["reason"]) == (True, "")
    assert found["plan"]["predicted_s"] == found["session_alone"]["predicted_s"]


def test_what_it_keeps_is_as_measured(kept: Kept) -> None:
    rows = [
        {"name": name, "total_s": 1.0, "measured_s": seconds, "reason": ""}
        for name, seconds in {"onnxruntime": 3.0, "tvm": 5.0, "tvm+host": 9.0, "greedy": 9.0, "ncnn": None}.items()
    ]
    found = session_document(replace(kept.record, document=run_document(baselines=rows, verify={"measured_s": 1.0})))
    assert found["kept"] == {"gain_over": "tvm", "gain_s": 4.0, "share": 0.5, "session_is_longer_by": 3.0}
    recorded = RunRecord.load(RECORDED / "mnist.json.gz")
    row = next(row for row in recorded.document.baselines if row.name == "onnxruntime")
    found = session_document(recorded)
    assert found["session_alone"] == {"predicted_s": row.total_s, "measured_s": row.measured_s}
    assert found["kept"]["session_is_longer_by"] == row.measured_s / recorded.document.verify.measured_s


def test_quantised_models_carry_a_note() -> None:
    assert session_document(RunRecord.load(RECORDED / "quantised.json.gz"))["notes"][0].startswith("quantised: ")


@pytest.mark.parametrize(("dtype", "is_wrong"), [("int64", True), ("int32", False), ("float", False)])
def test_a_plain_session_that_is_wrong_on_large_integers_carries_a_note(kept: Kept, tmp_path: Path, dtype: str, is_wrong: bool) -> None:
    text = f"g ({dtype}[4] x, {dtype}[4] z) => ({dtype}[4] y) {{ [largest] m = Max(x, z) [other] y = Min(m, z) }}"
    model = loaded(tmp_path, text)
    notes = session_document(replace(kept.record, graph=model.graph))["notes"]
    assert notes == (
        [
            "large integers: a plain session may compute node 'largest' and 1 other node wrong on integers beyond 2^31 or "
            "sums beyond 2^53; "
            "the artifact computes such nodes by other operators, and is right"
        ]
        if is_wrong
        else []
    )


def test_without_onnx_runtime_there_is_none(kept: Kept) -> None:
    other = collage.partition(kept.model, targets=["tvm"], costs=f"mock:{kept.folder / 'mock.json'}", threads=1)
    with pytest.raises(CollageError, match="no session of ONNX Runtime for the whole model: the run searched over tvm") as error:
        session_document(other)
    assert error.value.hint == "search with onnxruntime as a target"
