"""The page's types are those of the protocol."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from collage_server import protocol, typescript
from collage_server.messages import live
from tests.helpers.paths import ROOT

WRITTEN = ROOT / "frontend" / "src" / "data" / "protocol.ts"


def test_types_are_fresh() -> None:
    assert WRITTEN.read_text() == typescript.generate(), f"{WRITTEN.name} is stale: type `{typescript.COMMAND}`"


def test_is_deterministic() -> None:
    assert typescript.generate() == typescript.generate()


def test_events_carry_their_type_and_make_the_union() -> None:
    text = typescript.generate()
    union = text[text.index("export type RunEvent") :]
    for kind in (*protocol.EVENTS, live.RunStateChanged):
        assert f'export interface {kind.__name__} {{\n  type: "{kind.__name__}";' in text
        assert f"  | {kind.__name__}" in union


def test_what_the_page_may_leave_out_is_optional() -> None:
    text = typescript.generate()
    assert "  after?: number;" in text
    assert "  base?: string | null;" in text
    assert "  targets: string[];" in text


def test_unknown_type_names_the_file_to_change() -> None:
    @dataclass
    class Odd:
        value: complex

    with pytest.raises(
        TypeError, match=r"no TypeScript is known for the Python type <class 'complex'>: add it to collage_server/typescript.py"
    ):
        typescript._interface(Odd)
