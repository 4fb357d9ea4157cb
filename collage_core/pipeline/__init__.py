"""One run: the phases in order, from a model and `Options` to a `RunRecord` and, if wanted, a verified artifact.

What enters is a model file and options; what leaves are events while it works and a record at the end. It holds no knowledge
of its own about toolchains, costs or plans: every phase is a call into another room. Toolchains never run in this process.
"""
