"""Phase 3: the cheapest well-formed plan, why, and what else there was. Plain data in, plain data out.

What enters is a `SearchProblem`; what leaves is a `SearchResult`, with proof where the searcher has one. Nothing here reads a
file, knows a toolchain or looks at a clock except to stop in time (README.md says what this room may not do).
"""
