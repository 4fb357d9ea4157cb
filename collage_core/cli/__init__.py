"""The `collage` command: arguments in, one document or a few clear lines out; one file for each group of commands.

Nothing is computed here that Python code could not ask for without the command line.
"""
