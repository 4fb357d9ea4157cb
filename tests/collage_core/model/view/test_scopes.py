"""The graphs of a file as it has them: symbols, bodies, functions, and files that no toolchain takes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from onnx import ModelProto

from collage_core.model.view.scopes import ROOT, Scope, read_scopes, scope_json
from tests.helpers import viewed_models as odd


def scopes(model: ModelProto, *, infers: bool = True) -> dict[str, Scope]:
    return {scope.id: scope for scope in read_scopes(model, infers=infers)}


@pytest.mark.parametrize("infers", [True, False])
@pytest.mark.parametrize("make", odd.ODD, ids=lambda make: make.__name__)
def test_every_model_that_parses_has_a_graph(make: Callable[[], ModelProto], infers: bool) -> None:
    model = make()
    known = scopes(model, infers=infers)
    assert len(known[ROOT].graph) == len(model.graph.node)
    assert len({node.name for node in known[ROOT].graph.nodes}) == len(model.graph.node)
    json.dumps([scope_json(scope) for scope in known.values()], allow_nan=False)


def test_dimensions_keep_their_symbols_and_one_without_a_name_has_none() -> None:
    graph = scope_json(scopes(odd.custom_operator())[ROOT])
    assert graph["inputs"] == [{"name": "x", "shape": [None, 3, None], "dtype": "float32", "symbols": ["N", "3", "?"]}]
    magic, relu = graph["nodes"]
    assert (magic["op"], magic["attributes"]) == ("acme.Magic", {"power": 3})
    assert magic["outputs"] == [{"name": "t", "shape": [None], "dtype": "undefined", "symbols": ["…"]}]
    assert relu["name"] == "Relu:y"


def test_a_symbol_that_inference_makes_up_is_none() -> None:
    assert "unk__" not in json.dumps([scope_json(scope) for scope in read_scopes(odd.nested_branches())])


def test_a_body_is_a_graph_of_its_own_that_the_node_names() -> None:
    known = scopes(odd.nested_branches())
    assert list(known) == [ROOT, "0.else_branch", "0.then_branch", "0.then_branch/0.else_branch", "0.then_branch/0.then_branch"]
    [gate] = scope_json(known[ROOT])["nodes"]
    assert gate["bodies"] == [
        {"attribute": "else_branch", "scope": "0.else_branch", "nodes": 1},
        {"attribute": "then_branch", "scope": "0.then_branch", "nodes": 1},
    ]
    deep = known["0.then_branch/0.then_branch"]
    assert (deep.title, deep.parent) == ("inner · then_branch", "0.then_branch")
    assert [node.op for node in deep.graph.nodes] == ["MatMul", "Relu"]


def test_a_body_shows_the_types_of_what_it_reads_from_outside() -> None:
    deep = scopes(odd.nested_branches())["0.then_branch/0.then_branch"]
    assert deep.shapes["x"] == ("N", 3)
    assert deep.shapes["t"] == ("N", 3)
    assert list(deep.graph.constants) == ["w"]


def test_what_only_a_body_reads_is_told_from_the_inputs_of_the_node() -> None:
    [gate] = scopes(odd.nested_branches())[ROOT].graph.nodes
    assert gate.inputs == ("c", "x", "w")
    assert gate.captured == 2


def test_a_function_is_a_graph_that_its_calls_name() -> None:
    known = scopes(odd.nested_functions())
    [call] = scope_json(known[ROOT])["nodes"]
    assert call["bodies"] == [{"attribute": "", "scope": "function local:Outer", "nodes": 1}]
    [leaky] = known["function local:Inner"].graph.nodes
    assert leaky.attributes == {"alpha": "@slope"}
    assert known["function local:Inner"].parent is None


def test_nodes_of_a_cycle_come_last_and_the_graph_is_not_sound() -> None:
    root = scopes(odd.cycle())[ROOT]
    assert not root.is_sound
    assert [node.op for node in root.graph.nodes] == ["Add", "Relu", "Neg"]
    assert scopes(odd.custom_operator())[ROOT].is_sound
    assert not scopes(odd.equal_names())[ROOT].is_sound


def test_attributes_of_any_type_are_told_in_words() -> None:
    [node] = scopes(odd.unknown_types())[ROOT].graph.nodes
    assert node.attributes == {"nothing": "a value of an unknown type", "type": "map(int64,tensor(float))"}
