"""The memory of a GPU of NVIDIA's, which all toolchains for CUDA share: allocation, copies, the stream of their work, and CUDA graphs.

Tensors enter and leave; nothing is computed here.
"""
