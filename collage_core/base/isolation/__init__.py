"""Runs module-level functions in warm child processes, which may crash, hang or be killed without harm to the caller.

A function and picklable arguments enter; its result, its `CollageError`, or a `WorkerError` that says how the child failed, leave. A
child shares neither sockets nor the terminal nor standard output with its parent.
"""
