"""A plan drawn for other viewers: annotated ONNX, and Graphviz's DOT.

What enters is plain data or a model; what leaves is text or a model. Nothing is run.
"""
