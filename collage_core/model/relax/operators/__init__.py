"""Relax operators as ONNX nodes: one small function for each, in a table by name.

The arguments of a call enter as a `CallWriter`; the names of the ONNX tensors that hold its result leave. The nodes are those of
opset 20. Nothing is run, and an operator that is not in the table is never guessed: its region ends there.
"""
