"""Models that were opened: routes, the folder in which they are kept, and what the page needs to draw them.

Uploads, paths and names of samples enter; graphs, groups and layouts leave. Models are read in worker processes (`server.worker`),
never here.
"""
