"""Toolchains on the page: the list of all, and the described ones that a user saved.

Texts of described toolchains enter, and are kept in files; answers for the page leave. A worker process reads the texts and asks
the toolchains; no library of theirs is imported here.
"""
