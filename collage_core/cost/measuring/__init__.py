"""One trial: a sub-model is built, checked and timed in a worker process; samples that other work on the machine disturbed are left out.

It takes sub-models, inputs and a toolchain's name, and gives records with their samples. Nothing here knows the purpose of a
candidate, and nothing is kept here: the database does that.
"""
