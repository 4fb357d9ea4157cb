"""Sample models, built by code with seeded random weights; a sample's name is accepted wherever a model file is.

`recorded` holds one recorded run of each.
"""
