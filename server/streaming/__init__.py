"""Live events: which of a run's numbered events a client gets next, and the sockets that carry them."""
