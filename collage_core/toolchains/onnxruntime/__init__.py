"""ONNX Runtime as toolchains: sessions with the options that are fastest, blocked boundaries, and its profile.

A sub-model enters; a package that a session opens leaves. The reference is computed elsewhere, by `model`, and never by these.
"""
