"""The `collage` command: arguments enter, one document or a few clear lines leave. Each group of commands has a file.

Everything that it computes is available to Python code without the command line.
"""
