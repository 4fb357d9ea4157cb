"""Toolchains on the page: the list of all, and the described ones that a user saved."""
