"""Runs: started, queued, followed, stored, queried, exported and deleted.

Checked requests enter; snapshots and answers leave. The work itself is done by worker processes (`server.worker`).
"""
