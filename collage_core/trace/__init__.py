"""The searches of a run once more, with every state and move on record, so that they can be replayed.

What enters is a `RunRecord`; what leaves is a trace file and its chunks. Nothing is measured or built.
"""
