"""Names of downloads hold nothing that a file's name cannot have."""

from __future__ import annotations

import pytest

from collage_server.http.file_names import plain_name


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("resnet50-v1_5", "resnet50-v1_5"),
        ("a/../b", "a____b"),
        ('x"\r\ny', "x___y"),
        ("größe", "gr__e"),
        ("", "model"),
        ("n" * 99, "n" * 60),
    ],
)
def test_a_plain_name(name: str, plain: str) -> None:
    assert plain_name(name) == plain
