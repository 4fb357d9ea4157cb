"""Draws a run into files: its graph laid out by Graphviz, its costs as charts by Plotly. Both packages are optional.

A `RunRecord` enters; text and files leave. Nothing is searched or measured, and a missing package is an error that says how to install it.
"""
