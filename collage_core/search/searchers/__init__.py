"""Every searcher, and what they share: each takes a `SearchProblem` and gives a plan, proven best or not.

None of them knows how constraints are written or what a plan is for.
"""
