"""Shared by the server and its worker processes: JSON files, the files of a run, and the thinning of events. It imports neither."""
