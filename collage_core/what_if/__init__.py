"""Questions about a finished run: other terms, a described toolchain, a candidate measured again, a plan from elsewhere; and comparisons.

A `RunRecord` enters; an answer or a new record leaves, and the given record is never changed. Nothing is built or run, except where the
model's file is given to measure what is not known.
"""
