"""Costs of candidates and transitions: their meaning, the estimators that give them, and how they are measured and kept.

The package takes candidates of `rules` and the model that they are cut from, and gives `Cost`s and a `TransitionModel`.
`estimators` give the cost of a candidate, `measuring` runs and times trials, `database` keeps their records, and `fleet` runs trials
on other machines. Nothing here chooses a plan, and an estimated cost always says that it is one.
"""
