"""The loop of a run in which costs get known and a plan is found: what is measured next, the search, merging, and when it ends.

Candidates and an estimator enter; costs, a plan of the least sum and how sure it is leave. Nothing is built or timed here: the estimator
does that, and a searcher finds the plan.
"""
