"""Models of dynamic shape: a whole model, and parts cut out of it for any size.

An `OnnxModel` or a file enters; models whose dimensions stay symbols leave. Nothing is measured here.
"""
