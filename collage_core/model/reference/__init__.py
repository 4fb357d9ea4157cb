"""The reference: inputs on which outputs depend, ONNX Runtime that computes what is right, and how far something else may be from it.

A model enters; inputs, outputs and errors leave. What runs here is never timed.
"""
