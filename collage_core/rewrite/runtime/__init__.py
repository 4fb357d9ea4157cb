"""The runtime of an exported artifact.

An artifact's folder and input arrays enter; output arrays and times leave. It imports neither ONNX nor the search, and loads no
toolchain that the artifact does not use.
"""
