"""What candidates and hand-overs cost: measured here, replayed, or made up by rule (design, room ``cost``)."""

from .cost import Cost
from .estimator import CostEstimator, Known, LazyEstimator
from .making import Measuring, make_estimator
from .transition import Transition, TransitionModel

__all__ = ["Cost", "CostEstimator", "Known", "LazyEstimator", "Measuring", "Transition", "TransitionModel", "make_estimator"]
