"""Toolchains on the page: which there are, and the described ones that a user saved."""
