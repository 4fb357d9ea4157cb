"""Sample models, built by code with seeded random weights. The name of a sample is accepted wherever a model file is.

`recorded` holds recorded runs of the smaller ones.
"""
