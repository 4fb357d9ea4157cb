"""The searchers, one a file, and what they share: each takes a `SearchProblem` and returns a plan, proven to be best or not.

No searcher knows how constraints are written or what a plan is used for.
"""
