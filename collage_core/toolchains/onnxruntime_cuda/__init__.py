"""ONNX Runtime on an NVIDIA GPU, by its CUDA provider.

Sub-models enter, kernels on the host's buffers leave. Nothing here copies between devices by itself: ONNX Runtime does, inside a run.
"""
