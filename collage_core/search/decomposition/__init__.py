"""A problem taken apart at its separators, its subproblems solved one by one, and their plans put together.

What leaves is exactly what searching the whole problem would give.
"""
