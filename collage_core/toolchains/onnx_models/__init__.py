"""Sub-models changed before a toolchain takes them: forms of ONNX operators that it computes faster, and packages with weights in files.

An ONNX model enters and one that computes the same leaves, within the error that its target states. Nothing is built or run here.
"""
