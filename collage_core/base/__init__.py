"""Basics that every room may use: the folder in which data is kept, files of a user, JSON among them, the garbage collector, the cores
that may be used, and worker processes (`isolation`).

Paths and data from outside enter; checked data leaves, or a mistake in one line. Nothing here knows of models, toolchains or plans, or
imports another room.
"""
