"""Questions about a run that is over: other terms, another toolchain, a candidate measured again.

What enters is a `RunRecord`; what leaves is an answer, or a new record. Only `remeasure` has anything built or run, and nothing
changes the record that was given.
"""
