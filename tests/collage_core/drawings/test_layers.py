"""Drawings in layers: well-formed, whole, downwards, and with no name that is markup; `svg` takes Graphviz where it is there."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.drawings.layers import Box, layered_svg, nodes_svg, partitions_svg
from collage_core.drawings.layouts import svg
from collage_core.pipeline.record.record import RunRecord
from tests.collage_core.drawings.test_layouts import ANSWERS, fake_dot

SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(text: str) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(text)
    corners = []
    for group in root.findall(f"{SVG}g"):
        shape = group.find(f"{SVG}rect")
        assert shape is not None
        corners.append((float(shape.attrib["x"]), float(shape.attrib["y"])))
    return corners


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    return count, draw(st.lists(pairs, max_size=20)) if count > 1 else []


@given(graphs(), st.text(max_size=30))
def test_every_box_is_drawn_once_below_all_that_it_reads(graph: tuple[int, list[tuple[int, int]]], text: str) -> None:
    count, edges = graph
    made = layered_svg(text, [Box(text, text, text, "#000000")] * count, edges)
    corners = boxes_of(made)
    assert len(set(corners)) == count, "none lies on another"
    assert all(corners[one][1] < corners[other][1] for one, other in edges)
    assert len(re.findall("<path ", made)) == len(set(edges))


def test_a_run_is_drawn_node_by_node_or_by_partitions(drawn_run: RunRecord) -> None:
    assert len(boxes_of(nodes_svg(drawn_run))) == len(drawn_run.graph)
    assert len(boxes_of(partitions_svg(drawn_run))) == len(drawn_run.plan.partitions)
    assert "</script>" not in nodes_svg(drawn_run) + partitions_svg(drawn_run)


def test_graphviz_draws_where_it_is_installed(drawn_run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, monkeypatch, ANSWERS)
    assert svg(drawn_run) == b"<svg/>"
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert svg(drawn_run) == nodes_svg(drawn_run).encode()
