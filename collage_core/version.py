"""The version of the package, which the wheel, the artifacts and the workers of a fleet are compared by."""

__version__ = "0.1.0"
