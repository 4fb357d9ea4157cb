"""`make footprint` counts the functions of ours that a partitioning and a pin run, and no others."""

from __future__ import annotations

import json

from footprint import by_room, count, file_of, footprints, listed, recorded

from collage_core.graph.topological_order import topological_order


def test_functions_of_ours_are_recorded_once_and_those_of_libraries_are_not():
    with recorded() as functions:
        topological_order([[], [0]])
        topological_order([[]])
        json.dumps([])
    topological_order([])
    assert [code.co_qualname for code in functions] == ["topological_order"]
    assert listed(functions) == ["  graph/topological_order.py: topological_order"]
    assert count(functions).split() == ["1", "files", "1", "functions"]
    assert by_room(functions)[0].split() == ["graph", "1", "files", "1", "functions"]


def test_a_partitioning_takes_the_path_of_the_docs_and_a_pin_searches_without_the_model():
    ran, pinned = ([file_of(code) for code in functions] for functions in footprints("mini_mnist"))
    path = ["pipeline/partition.py", "pipeline/run.py", "pipeline/searched_run.py", "pipeline/discover.py", "pipeline/loop/measure.py"]
    assert sorted(path, key=ran.index) == path
    assert {"what_if/what_if.py", "search/solve.py"} <= set(pinned)
    assert not [file for file in pinned if file.startswith(("model/", "toolchains/"))]
