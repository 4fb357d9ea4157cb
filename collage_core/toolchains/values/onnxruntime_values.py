"""The table of what ONNX Runtime's optimisations change of NaN and infinities, which its rule reads. ONNX Runtime is not imported.

``onnxruntime_values.json`` beside this file is measured (`make value-contract`) against ONNX Runtime unoptimised, which is the reference.
On finite values the two agree.
"""

from __future__ import annotations

from pathlib import Path

from .exact_values import Contract, measured_floats

_FLOATS = measured_floats(Path(__file__).with_name("onnxruntime_values.json"))
ONNXRUNTIME_VALUES = Contract("ONNX Runtime", {}, floats=_FLOATS, is_reference=True)
