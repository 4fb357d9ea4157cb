"""Serves one artifact over HTTP by the open inference protocol, version 2 (as KServe and Triton have it).

The folder of an artifact enters, and requests of clients, which may be slow, broken or hostile; answers leave. It needs no more than what
runs an artifact and waitress: no Flask, no search, no model file. It never batches, and knows one model.
"""
