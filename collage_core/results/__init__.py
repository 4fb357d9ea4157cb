"""A run as others take it along: files in formats of theirs, and a result that a notebook shows.

A `RunRecord` enters, and the user's model where a format holds it; bytes, tables and HTML leave. Nothing is searched or measured.
"""
