"""The bodies of `If`, `Loop` and `Scan` as models of their own, and the types of what loops hand on.

A model with bodies enters; its bodies leave. Which of them is partitioned is not decided here.
"""
