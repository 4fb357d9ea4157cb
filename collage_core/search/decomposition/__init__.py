"""A problem decomposed at its separators: its subproblems are solved one by one, and their plans are put together.

A `SearchProblem` enters; the plan leaves that a search of the whole problem would give. Exactness is never traded for speed: where
there is no separator, the whole problem is the one subproblem.
"""
