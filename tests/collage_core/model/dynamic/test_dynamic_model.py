"""The whole model with its dimensions dynamic: the types of its ends, fixed values, and that it runs at any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.onnx_model import load_model
from tests.helpers.dynamic_encoder import dynamic_encoder, encoder_inputs
from tests.helpers.models import model_of, write


def test_what_the_file_leaves_dynamic_stays_so(tmp_path: Path) -> None:
    path = dynamic_encoder(tmp_path)
    whole = dynamic_model(path, load_model(path, {"ids": (1, 8)}), {})
    assert [(tensor.name, tensor.type.declared_shape) for tensor in whole.inputs] == [("ids", ("?", "?")), ("mask", ("?", "?"))]
    session = onnxruntime.InferenceSession(whole.onnx, providers=["CPUExecutionProvider"])
    for length, batch in ((3, 1), (40, 2)):
        states, pooled = session.run([tensor.name for tensor in whole.outputs], encoder_inputs(length, batch=batch))
        assert states.shape[:2] == (batch, length)
        assert pooled.shape[0] == batch


def test_fixed_values_are_constants_in_it(tmp_path: Path) -> None:
    path = write(tmp_path, model_of("g (float[n] x, float[k] s) => (float[m] y) { [mul] y = Mul(x, s) }"))
    whole = dynamic_model(path, load_model(path, {"x": (4,)}, values={"s": "2.5"}), {"s": "2.5"})
    assert [tensor.name for tensor in whole.inputs] == ["x"]
    session = onnxruntime.InferenceSession(whole.onnx, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": np.ones(7, np.float32)})[0], np.full(7, 2.5, np.float32))
