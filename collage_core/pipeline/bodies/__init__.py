"""The bodies of `If`, `Loop` and `Scan` in a run: each is searched like a model of its own, and built into the node that the host runs.

A run's candidates and budget enter; plans of bodies, and what their nodes cost on the host, leave. Which node is left to the host is
not decided here.
"""
