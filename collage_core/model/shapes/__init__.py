"""The shapes of a model: fixed for one run, several that are planned for, open ones with their bounds, and parts for any size.

A model and the user's sizes enter; shapes, and models of dynamic shape, leave. Nothing is measured here.
"""
