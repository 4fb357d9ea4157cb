"""Tuned kernels as text: they come back as they were, and damaged ones are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.errors import CollageError
from collage_core.toolchains.tuning import TunedKernel, decoded, digest, encoded, merged, schedules

KERNEL = TunedKernel("ab", "{}", "[1]", 1e-4, 2e-4, 16, 4.5)
OTHER = replace(KERNEL, workload="cd", trace="", seconds=2e-4)


def test_kernels_come_back_as_they_were_whatever_their_order() -> None:
    assert decoded(encoded([OTHER, KERNEL])) == (KERNEL, OTHER)
    assert encoded([OTHER, KERNEL]) == encoded([KERNEL, OTHER])
    assert (encoded([]), decoded(b"")) == (b"", ())


def test_what_changes_a_build_are_schedules_alone() -> None:
    longer = replace(KERNEL, trials=32, spent_s=9.0)
    assert schedules([KERNEL, OTHER]) == schedules([longer])
    assert schedules([OTHER]) == b""
    assert digest(encoded([KERNEL])) == digest(encoded([replace(longer, seconds=1e-5)]))
    assert digest(encoded([KERNEL])) != digest(encoded([replace(KERNEL, trace="[2]")]))
    assert digest(b"") == ""


def test_of_two_records_of_a_kernel_the_faster_is_kept() -> None:
    faster, elsewhere = replace(KERNEL, trace="[2]", seconds=5e-5), replace(KERNEL, target='{"kind": "c"}')
    found = decoded(merged([encoded([KERNEL, OTHER]), b"", encoded([faster]), encoded([elsewhere])]))
    assert set(found) == {faster, OTHER, elsewhere}
    assert merged([b""]) == b""


@pytest.mark.parametrize("text", [b"{", b"3", b"[{}]", b'[{"workload": 3}]', encoded([KERNEL]).replace(b"16", b'"16"'), b"[" * 100_000])
def test_damaged_records_are_refused(text: bytes) -> None:
    with pytest.raises(CollageError, match="the tuning records are damaged: "):
        decoded(text)
