"""Repeats the searches of a run and records every state and transition, so that they can be replayed.

A `RunRecord` enters; a trace file and its chunks leave. Nothing is measured or built.
"""
