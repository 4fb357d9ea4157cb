"""What an exported artifact needs to run, and no more.

What enters is an artifact's folder and input arrays; what leaves are output arrays and times. It imports neither ONNX nor the
search, and takes no toolchain that the artifact does not use.
"""
