"""The dataflow graph of a model and its sub-graphs, as plain data.

The nodes and tensors that `model` reads enter; sub-graphs, repeated blocks and work estimates leave, for `rules` and `search`. Nothing
here knows ONNX, TVM, a toolchain or a cost.
"""
