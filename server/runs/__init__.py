"""Runs: started, queued, followed, kept, asked, exported and deleted.

What enters are checked requests; what leaves are snapshots and answers. The work itself is done by worker processes.
"""
