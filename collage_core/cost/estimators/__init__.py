"""Every source of costs, behind the one interface `cost.estimator.CostEstimator`: measured, replayed, estimated, or by a mock rule.

Each takes a graph and candidates, and gives one `Cost` for each candidate. Only `measure` has anything built or run, through
`cost.measuring`; the others never do.
"""
