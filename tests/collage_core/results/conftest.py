"""A run over mock costs that is kept in a folder, with its model; a node has a name that is markup, and a formula to a spreadsheet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from tests.helpers.models import model_of, write

HOSTILE = '=</script><b>&"\\N\x1b'


class Kept(NamedTuple):
    record: RunRecord
    folder: Path
    model: Path


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    nodes = "[a] a = Relu(x) [b] b = Neg(a) k = Constant<value=float[1]{2}>() [c] c = Mul(b, k) [d] y = Exp(c)"
    text = f"g (float[1,4] x) => (float[1,4] y) {{ {nodes} }}"
    proto = model_of(text)
    proto.graph.node[1].name = HOSTILE
    model = write(folder, proto)
    costs = {"targets": {"onnxruntime": {"op_s": 1e-3, "ops": {"Exp": 9e-3}}, "tvm": {"op_s": 2e-3}}}
    (folder / "mock.json").write_text(json.dumps(costs))
    record = partition(model, Options(("onnxruntime", "tvm"), costs=f"mock:{folder / 'mock.json'}", threads=1))
    record.save(folder)
    return Kept(record, folder, model)
