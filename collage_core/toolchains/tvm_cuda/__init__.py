"""TVM on a GPU: sub-models become a library of CUDA kernels with the default schedules of TVM's `dlight`.

Sub-models enter, kernels leave that read and write tensors of the GPU's memory. Nothing is tuned, and nothing is compiled into a module.
"""
