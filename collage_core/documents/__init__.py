"""The documents: what a run, and each answer about a run, says to people and programs, as typed records that cannot be changed.

The rooms above make the records, and read them by their attributes. JSON of such a record leaves, and JSON that comes back becomes a
record again, or a `CollageError`. Nothing here computes: a document holds no cost, plan or problem that a search could use.
"""
