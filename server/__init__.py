"""The web app: a Flask backend that runs the pipeline in processes of its own and streams what happens to the page.

What enters are requests, uploads and socket messages, all of them checked; what leaves are JSON resources and events. The server
never runs a toolchain, and reads a model only in a worker process.
"""
