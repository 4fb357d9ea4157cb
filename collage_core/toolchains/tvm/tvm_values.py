"""Which element types TVM's kernels compute, as a table that its rule reads (`exact_values`). TVM is not imported.

Measured with TVM 0.27 against ONNX Runtime. Its kernels compute in the type of the model, and wrap integers around as ONNX does: what
the table lacks is exact.
"""

from __future__ import annotations

from ..exact_values import Contract, rows, types

_ABSENT = "not at all"

TVM_VALUES = Contract(
    "TVM",
    rows(
        ("Pow ReduceL2", types("int8 uint8 int16 uint16 int32 uint32 int64 uint64", _ABSENT)),
        ("ReduceMean", types("int32", _ABSENT)),
        ("Sign", types("uint8 uint16 uint32 uint64", _ABSENT)),
    ),
    others=types("int4 uint4 int2 uint2 float4e2m1 float6e2m3 float6e3m2", _ABSENT),
)
