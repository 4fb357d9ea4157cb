"""TensorRT and TensorRT for RTX as toolchains: engines for a GPU, which are built on any machine and kept.

A sub-model enters; an engine leaves. None of it has run on a GPU, and neither the build nor a test needs one.
"""
