"""Fuzzing: damaged and lying files and messages at each border of the program; see `README.md`."""
