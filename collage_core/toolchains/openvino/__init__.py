"""OpenVINO as toolchains, in float32 and in bfloat16: compiled models, its own files, and its profile.

A sub-model enters; a package that OpenVINO compiles leaves. It is imported only when one of them is asked for, and never for its rules.
"""
