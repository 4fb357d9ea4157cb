"""Every source of costs, behind the one interface `cost.estimator.CostEstimator`: measured, replayed, estimated, or by a mock rule.

What enters are a graph and candidates; what leaves is one `Cost` for each. Only `measure` has anything built or run, through
`cost.measuring`; the others never do.
"""
