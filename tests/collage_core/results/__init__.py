"""A run in formats of others, and as a result in a notebook."""
