"""Basics that every room may use: the folder in which data is kept, files of a user, the garbage collector, and worker
processes (`isolation`).

Nothing here knows of models, toolchains or plans, or imports another room.
"""
