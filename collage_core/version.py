"""The version of the package: the wheel, the artifacts and the workers of a fleet compare it."""

__version__ = "0.1.0"
