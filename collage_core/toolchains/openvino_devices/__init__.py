"""OpenVINO on Intel's GPUs and NPUs: the same kernels as on the processor, compiled for another device.

Sub-models enter, kernels leave that bind arrays of the host. OpenVINO copies inside a run, so nothing here does.
"""
