"""Live events: the numbered events that a client of a run gets next, and the sockets that carry them.

The events of runs and the acknowledgements of clients enter; batches leave. A client that is behind never holds up a run, and never
misses a decision without being told.
"""
