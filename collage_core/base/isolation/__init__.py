"""Runs our own module-level functions in warm child processes that may crash, hang or be killed without harm.

What enters is a function and picklable arguments; what leaves is its result, its own mistake (`CollageError`), or a
`WorkerError` that says how the child failed. A child never shares the parent's sockets, terminal or standard output.
"""
