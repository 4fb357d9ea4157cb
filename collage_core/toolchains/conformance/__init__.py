"""Conformance tests: the duties of every toolchain, for its author to run (docs/toolchains.md).

A toolchain enters; what it does wrong leaves, as failures of pytest. No other room imports this one, and no run does.
"""
