"""The files of a model: reading them with their local functions, weights in files beside them, digests, and files that are no ONNX model.

A path enters, of a file that may be broken or hostile; a `ModelProto` or one clear error leaves. Nothing in a file is run.
"""
