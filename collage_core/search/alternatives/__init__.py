"""What else there was: regret, the k best plans, plans through one candidate, and the Pareto list.

What enters is a solved problem; what leaves are other plans and what they cost. The best plan itself is `search.solve`'s.
"""
