"""Phase 4: the pieces of a plan become one Relax module and an artifact on disk (design, room ``rewrite``)."""

from .assemble import assemble
from .pieces import HOST_TARGET, Piece, run_order

__all__ = ["HOST_TARGET", "Piece", "assemble", "run_order"]
