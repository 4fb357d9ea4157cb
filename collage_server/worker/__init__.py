"""Code that runs in a worker process: the engine behind its interface, and what reads models or knows toolchains.

Plain arguments enter, and the `Engine` where it is asked; plain data or files leave. The server calls the functions of `tasks`
(the work of a run), `queries` (about a run) and the other files through `server.process_pool`, and never itself.
"""
