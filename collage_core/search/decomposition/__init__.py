"""A problem decomposed at its separators: its subproblems are solved one by one, and their plans are put together.

The result is exactly what a search of the whole problem would give.
"""
