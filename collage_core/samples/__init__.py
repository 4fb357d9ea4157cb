"""Sample models, built by code with seeded random weights; their names are accepted wherever a model file is."""

from .registry import SAMPLES, Sample, find_sample, list_samples, resolve

__all__ = ["SAMPLES", "Sample", "find_sample", "list_samples", "resolve"]
