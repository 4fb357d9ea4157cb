"""The dataflow graph and its sub-graphs as plain data, tested in milliseconds.

A `model` gives the graph; `rules` and `search` work on it. Nothing here knows ONNX, TVM, a toolchain or a cost.
"""
