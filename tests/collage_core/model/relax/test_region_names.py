"""Names of regions, and what is said of those that are none."""

from __future__ import annotations

import pytest

from collage_core.errors import CollageError
from collage_core.model.relax.region_names import read_region_name, region_name


def test_a_name_is_read_as_it_is_written() -> None:
    assert read_region_name(region_name("a.b", 3)) == ("a.b", 3)


@pytest.mark.parametrize("name", ["main", "main.", ".1", "main.first", ""])
def test_what_is_no_name_is_one_line(name: str) -> None:
    with pytest.raises(CollageError, match=f"'{name}' is not the name of a region") as caught:
        read_region_name(name)
    assert caught.value.hint == "such as main.0, the first of the function main"
