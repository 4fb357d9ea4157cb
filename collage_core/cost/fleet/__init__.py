"""Trials on other machines: `collage worker` on each, a scheduler of Dask in between, `FleetRunner` in the run.

A `FleetRunner` takes trials and gives records, as a `TrialRunner` does. A worker's answers are JSON that is validated, and nothing that a
peer sends is ever unpickled into an object of its choice. Dask is imported in separate processes alone.
"""
