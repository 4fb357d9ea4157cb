"""ncnn as toolchains: which calls it computes right, their conversion to its layers, and the fastest variant of its options.

A sub-model enters; a package of ncnn's own network leaves. The checks of calls import neither ncnn nor ONNX.
"""
