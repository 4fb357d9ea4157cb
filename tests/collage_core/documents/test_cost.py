"""Costs as documents have them."""

from __future__ import annotations

from collage_core.cost.cost import Cost
from collage_core.documents.cost import CostInfo, Tuned
from collage_core.documents.json_form import from_json, to_json

COST = Cost(1e-3, "measured", spread_s=1e-5, samples=9, interval_s=2e-5, tuned=Tuned("d", 2e-3, 3.0, 16))


def test_a_document_has_every_attribute_of_a_cost() -> None:
    assert to_json(COST.info) == COST.to_json()
    assert from_json(CostInfo, COST.to_json()) == COST.info
