"""The messages of `protocol`, by what they are of: one dataclass each, and nothing else."""
