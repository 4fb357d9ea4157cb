"""A model as its file has it, for a person who looks at it: nothing is fixed, folded or run.

What `OnnxModel` refuses is shown all the same: symbolic shapes, custom operators, broken graphs, weights that are missing.
"""
