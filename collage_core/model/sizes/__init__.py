"""The sizes of dynamic dimensions: proposed, made to fit, and several that are planned for.

The dimensions of a model's file and the user's sizes enter; shapes for one run or for several leave. Nothing is measured here.
"""
