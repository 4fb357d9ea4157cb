"""The transition model: what passing a tensor costs between two targets."""

from __future__ import annotations

from collage_core.cost.cost import Transition, TransitionModel


def test_model_has_a_fixed_part_and_one_per_byte() -> None:
    model = TransitionModel({("a", "b"): Transition(1.0, 0.5)})
    assert model.cost_s("a", "b", 10, "float32") == 6.0
    assert model.cost_s("b", "a", 10, "float32") == model.cost_s("a", "a", 10, "float32") == model.cost_s("host", "a", 10, "float32") == 0.0
    assert model.to_json() == {"a->b": {"fixed_s": 1.0, "per_byte_s": 0.5}}
