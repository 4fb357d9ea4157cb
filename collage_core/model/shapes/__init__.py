"""The shapes of a model: those of its inputs, fixed for one run; those of its tensors, by inference; dynamic ones with their bounds.

A `ModelProto` and the user's sizes enter; shapes, types and the graph by inference alone leave. Nothing is run here.
"""
