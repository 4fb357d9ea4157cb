"""The words about copies, memory and parallel running."""

from __future__ import annotations

import pytest

from collage_core.documents.placement_text import bytes_text, copy_text, link_text, memory_text, parallel_text
from collage_core.documents.plan import PlanCopy, PlanMemory


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (97_812_345, "97.8 MB"), (8e10, "80 GB")]
)
def test_bytes_are_in_powers_of_a_thousand(count: float, text: str) -> None:
    assert bytes_text(count) == text


def test_a_link_has_a_time_and_a_speed() -> None:
    assert (link_text(2e-5, 2e-11), link_text(0, 2e-11), link_text(2e-5, 0)) == ("20 µs, then 50 GB/s", "50 GB/s", "20 µs")


def test_a_copy_of_an_older_plan_has_no_basis() -> None:
    copy = PlanCopy(source="host", destination="cuda:0", tensor="x", bytes=1024, cost_s=2e-5)
    assert copy_text(copy) == "copy of x from host to cuda:0: 1.02 kB, 20 µs"


def test_a_location_names_its_limit_and_where_the_peak_is() -> None:
    held = PlanMemory(location="cuda:0", weights=1000, peak=2000, limit=8_000_000, at_node=3, node="conv1")
    assert memory_text(held) == "cuda:0 holds 2 kB of 8 MB at most, while the partition of 'conv1' runs; 1 kB are weights"


def test_only_where_a_tenth_could_be_gained_it_is_said_where() -> None:
    gain = "running partitions at the same time can gain"
    work_s = {"host": 3e-3, "cuda:0": 1.2e-3, "cuda:0->host": 0.0}
    assert parallel_text(0.004, work_s) == f"{gain} nothing here"
    assert parallel_text(0.04, work_s) == f"{gain} at most 4 % here"
    assert parallel_text(0.1, work_s) == f"{gain} at most 10 % here: host works for 3 ms, cuda:0 works for 1.2 ms"
