"""One trial: a sub-model is built, checked and timed in a worker process; samples that other work on the machine disturbed are left out.

What enters are sub-models, inputs and a toolchain's name; what leaves are records with their samples. Nothing here knows what a
candidate is for, and nothing is kept here: that is the database's.
"""
