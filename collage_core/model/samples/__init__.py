"""Sample models, built by code with seeded random weights. The name of a sample is accepted wherever a model file is.

A name enters; a model file leaves, and from `recorded` a recorded run of the smaller ones. No file is downloaded, and nothing is
measured.
"""
