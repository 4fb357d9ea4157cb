"""Runs of a model of several shapes: a plan for each, the one plan that serves all, and one artifact that holds what is worth having.

A model, options and its shapes enter; a record for each shape, and the answers over all of them, leave. A single shape is planned by
`run` alone, which knows nothing of this folder.
"""
