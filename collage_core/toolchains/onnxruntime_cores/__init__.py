"""ONNX Runtime on a set of this machine's cores: each set is a device with its own number of threads.

Sub-models enter, kernels leave whose threads stay on the cores of their set. Nothing here copies tensors: all sets share the host's memory.
"""
