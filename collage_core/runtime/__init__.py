"""What an exported artifact needs to run, and no more (design, room ``runtime``)."""

from .artifact import Artifact
from .sessions import bound_artifact, describe_artifact, run_artifact, time_artifact

__all__ = ["Artifact", "bound_artifact", "describe_artifact", "run_artifact", "time_artifact"]
