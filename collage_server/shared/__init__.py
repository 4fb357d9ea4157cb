"""Shared by the server and its worker processes: JSON files, the names of a run's files, and the thinning of events.

Plain data and paths enter and leave. It imports neither side, and starts nothing.
"""
