"""Phase 3: the search for the cheapest well-formed plan, the reasons for it, and its alternatives.

A `SearchProblem` enters; a `SearchResult` leaves, with a proof where the searcher has one. Both are plain data. Nothing here
reads a file, knows a toolchain, or looks at a clock except to stop in time (README.md lists what this room may not do).
"""
