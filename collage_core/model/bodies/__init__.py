"""The bodies of `If`, `Loop` and `Scan` as models of their own, and how often each runs.

A model with bodies enters; its bodies, each with the inputs of a typical run, leave. Which of them is partitioned is not decided here.
"""
