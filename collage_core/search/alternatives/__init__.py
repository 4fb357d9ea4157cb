"""Alternatives to the best plan: regrets, the k best plans, plans with a given candidate, and the Pareto list.

A problem, solved where that is needed, enters; other plans and their costs leave. Nothing here finds the best plan itself: that is
`search.solve`.
"""
