"""The dataflow graph of a model and its sub-graphs, as plain data.

The room `model` builds the graph; `rules` and `search` read it. Nothing here knows ONNX, TVM, a toolchain or a cost.
"""
