"""Plans as wholes: built, verified, and timed in turns beside baselines and rivals, until the fastest is known.

The plan of the least sum and its rivals enter; the plan that ships leaves, with what was measured beside it. No candidate is measured
here, and no plan is searched for.
"""
