"""Trials on other machines: `collage worker` on each, TVM's RPC tracker in between, `FleetRunner` in the run.

What enters a `FleetRunner` are trials; what leaves are records, as from a `TrialRunner`. A worker's answers are JSON that is
validated, never pickles. TVM is imported in separate processes alone.
"""
