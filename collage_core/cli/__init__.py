"""The `collage` command: arguments enter, one document or a few clear lines leave. Each group of commands has a file.

Nothing is computed here that Python code could not have without the command line.
"""
