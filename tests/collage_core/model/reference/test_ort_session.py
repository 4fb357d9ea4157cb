"""ONNX Runtime runs on values of every type, and says where its Python interface does not take them together."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.reference.ort_session import OrtSession
from tests.helpers.models import model_of


@pytest.mark.parametrize(
    ("name", "dtype", "number"),
    [
        ("int4", ml_dtypes.int4, 22),
        ("uint4", ml_dtypes.uint4, 21),
        ("int2", ml_dtypes.int2, 26),
        ("uint2", ml_dtypes.uint2, 25),
        ("bfloat16", ml_dtypes.bfloat16, 16),
        ("float8e4m3fn", ml_dtypes.float8_e4m3fn, 17),
        ("float8e5m2", ml_dtypes.float8_e5m2, 19),
        ("float8e8m0", ml_dtypes.float8_e8m0fnu, 24),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_values_that_numpy_lacks_go_in_and_come_out(name: str, dtype: type, number: int, count: int) -> None:
    opset = 25 if "2" in name or "e8m0" in name else 23
    proto = model_of(
        f"g ({name}[{count or 'n'}] x) => (float[m] y, {name}[k] z) {{ y = Cast<to = 1>(x) z = Cast<to = {number}>(y) }}", opset=opset
    )
    proto.ir_version = 13
    values = np.array([1, 0.5, 4, 2, 1], np.float32)[:count].astype(dtype)
    made = OrtSession(proto).run({"x": values}, ["y", "z"])
    np.testing.assert_array_equal(made["y"], values.astype(np.float32))
    assert (made["z"].dtype, made["z"].tolist()) == (values.dtype, values.tolist())


def test_a_sequence_beside_an_output_that_numpy_lacks_is_refused() -> None:
    proto = model_of("g (seq(float[2]) s) => (bfloat16[a] y) { e = SequenceAt(s, o) y = Cast<to = 16>(e) }", {"o": np.array(0)})
    with pytest.raises(CollageError) as caught:
        OrtSession(proto).run({"s": [np.ones(2, np.float32)]}, ["y"])
    assert caught.value.message.startswith("the input 's' is a seq(tensor(float)), which ONNX Runtime's Python interface does not take")
