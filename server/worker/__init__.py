"""What runs in a worker process, and never in the server's: these files alone may import what reads models or knows toolchains.

What enters are plain arguments; what leaves is plain data or a file.
"""
