"""A run over mock costs whose names would be markup, an end of a string or an escape where they were not escaped."""

from __future__ import annotations

import json

import pytest

from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from tests.helpers.models import model_of, write

HOSTILE = '</script><b>&"\\N\x1b'


@pytest.fixture(scope="session")
def drawn_run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    folder = tmp_path_factory.mktemp("drawn")
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { [a] a = Relu(x) [b] b = Neg(a) [c] y = Exp(b) }")
    proto.graph.node[1].name = HOSTILE
    costs = folder / "mock.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1e-3}, "tvm": {"op_s": 2e-3}}}))
    return partition(write(folder, proto), Options(("onnxruntime", "tvm"), costs=f"mock:{costs}", threads=1))
