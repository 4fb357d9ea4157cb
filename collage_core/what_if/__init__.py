"""Questions about a finished run: other terms, a described toolchain, a candidate measured again.

A `RunRecord` enters; an answer or a new record leaves, and the given record is never changed. Only `remeasure` builds and runs anything.
"""
