"""Models: reads a model file as an `OnnxModel`, which gives a `DataflowGraph`.

A user's model file enters, which may be broken or hostile; the graph, sub-models cut out of the model, inputs and reference outputs
leave. A model does not know which toolchain will run it. It is run by ONNX Runtime alone, which computes the reference.
"""
