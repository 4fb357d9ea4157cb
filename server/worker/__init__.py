"""Code that runs in a worker process: the engine behind its interface, and what reads models or knows toolchains.

What enters are plain arguments, and the engine (`engine`) where it is asked; what leaves is plain data or a file. The server calls
the functions of `tasks` (a run's work), `queries` (about a run) and the rest through `server.process_pool`, and never itself.
"""
