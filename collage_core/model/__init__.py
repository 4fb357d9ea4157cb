"""Networks in their own form: a file becomes an `OnnxModel`, which gives a `DataflowGraph`.

What enters is a model file of a user, broken or hostile as it may be; what leaves are the graph, sub-models cut out of the
model, inputs, and the reference outputs. A model never knows which toolchain will run it, and nothing of it is run except
by ONNX Runtime, the reference.
"""
