"""What candidates and transitions cost: what a cost means, where costs come from, how they are measured and kept.

What enters are candidates of `rules` and the model that they are cut from; what leaves are `Cost`s and a `TransitionModel`.
`estimators` say what a candidate costs, `measuring` times a trial, `database` keeps what was measured, and `fleet` measures on
other machines. Nothing here chooses a plan, and no cost is made up without saying so.
"""
