"""The web app: a Flask backend that runs the engine in worker processes and streams what happens to the page.

Requests, uploads and socket messages enter, all of them checked; JSON resources and events leave. The server never runs a
toolchain, and reads a model only in a worker process.
"""
