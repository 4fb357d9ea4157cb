"""One run: the phases in order, from a model and `Options` to a `RunRecord` and, if wanted, a verified artifact.

A run takes a model file and options, and gives events while it works and a record at the end. It holds no knowledge
of its own about toolchains, costs or plans: every phase is a call into another room. Toolchains never run in this process.
"""
