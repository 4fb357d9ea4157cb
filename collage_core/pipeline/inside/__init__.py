"""The time inside a built plan: of each partition, of each node, and why the whole takes longer than the sum of its parts.

A built plan and the profiles of its toolchains enter; seconds and reasons leave as plain data. What is found here never changes which
candidates there are.
"""
