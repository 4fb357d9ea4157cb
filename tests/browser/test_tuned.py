"""The page says of a partition whether it is tuned, by how much, and for how long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.collage_server.sessions.test_from_folder import put

from .conftest import OpenPage
from .explorer import Explorer, running


def tuned(record: dict[str, Any]) -> None:
    """As if the only partition had been tuned: its kernels were half as fast again before."""
    (partition,), (shown,) = record["plan"]["partitions"], record["document"]["plan"]["partitions"]
    for known in (partition, shown, *(one["cost"] for one in record["candidates"] if one["id"] == partition["id"])):
        known["tuned"] = {"digest": "d1", "untuned_s": 1.5 * partition["cost_s"], "spent_s": 42.0, "trials": 64}
    record["plan"]["tuning"] = {"d1": ""}


def in_its_partition(page: Page) -> Locator:
    return page.get_by_role("button", name="in a partition of")


@pytest.mark.long
def test_a_partition_of_tvm_is_tuned_or_not(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    plain = open_page(f"{explorer.address}?sample=mini_mnist&node=0").page
    in_its_partition(plain).click()
    expect(plain.locator(".title")).to_contain_text("measured, not tuned")
    folder = put(tmp_path / "out", tuned)
    with running(tmp_path, str(folder)) as own:
        watched = open_page(f"{own.address}?node=0")
        expect(watched.page.locator(".panel")).to_contain_text(
            "it was tuned for 42 s, 64 schedules: 1.50 times as fast as with the default schedule"
        )
        in_its_partition(watched.page).click()
        expect(watched.page.locator(".title")).to_contain_text("measured, tuned for 42 s: ×1.50")
