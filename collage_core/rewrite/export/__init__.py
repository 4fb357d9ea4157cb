"""Exports of a plan for other viewers: annotated ONNX, and Graphviz's DOT.

Plain data or a model enter; text or a model leaves. Nothing is run.
"""
