"""Runs: started, queued, followed, stored, queried, exported and deleted.

Checked requests enter; snapshots and answers leave. No work of a run is done here: worker processes (`server.worker`) do it.
"""
