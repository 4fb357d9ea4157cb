"""Collage Explorer's engine: finds the fastest way to run a neural network over several toolchains at once.

``import collage_core as collage`` gives `collage.partition`. Nothing heavy is imported before it is needed.
"""

__version__ = "0.1.0"
