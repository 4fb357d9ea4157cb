"""The common ground of all routes: who may ask, how a body is read, how an answer and an error look, and the page's own files.

Requests of the network enter, which may be broken or hostile; checked dataclasses of `messages` leave, and JSON answers. Nothing here
knows a model or a run.
"""
