"""Which element types TVM's kernels compute exactly, as a table that its rule reads (`exact_values`). TVM is not imported.

``tvm_values.json`` beside this file is measured (`make value-contract`). TVM's kernels compute in the type of the model, and wrap integers
around as ONNX does: what the table lacks is exact.
"""

from __future__ import annotations

from pathlib import Path

from .exact_values import ABSENT, Contract, measured_empty, measured_floats, measured_rows, types

TVM_VALUES = Contract(
    "TVM",
    measured_rows(Path(__file__).with_name("tvm_values.json")),
    # Its importer copies weights of less than a byte by the size of their packed bytes, and fails.
    others=types("int4 uint4 int2 uint2 float4e2m1 float6e2m3 float6e3m2", ABSENT),
    floats=measured_floats(Path(__file__).with_name("tvm_values.json")),
    empty=measured_empty(Path(__file__).with_name("tvm_values.json")),
)
