"""The table of the calls that ncnn computes right, and on which floats, which its rule reads. ncnn is not imported.

``ncnn_values.json`` beside this file is measured (`make value-contract`). ncnn takes float32 alone (`ncnn_operators`).
"""

from __future__ import annotations

from pathlib import Path

from .exact_values import Contract, measured_empty, measured_floats

_TABLE = Path(__file__).with_name("ncnn_values.json")
NCNN_VALUES = Contract("ncnn", {}, floats=measured_floats(_TABLE), empty=measured_empty(_TABLE))
