"""Trials on other machines: `collage worker` on each, TVM's RPC tracker in between, `FleetRunner` in the run.

A `FleetRunner` takes trials and gives records, as a `TrialRunner` does. A worker's answers are JSON that is validated, never
pickles. TVM is imported in separate processes alone.
"""
