"""What every room may use and none of them owns: the folder in which everything is kept, JSON files of a user, the garbage
collector, and worker processes (`isolation`).

It knows nothing of models, toolchains or plans, and imports no other room.
"""
