"""`problem_from_json`: read the JSON form of a `SearchProblem`, as `collage search` and saved runs have it.

JSON data from outside enters; a problem leaves, or a mistake with its JSON path. Nothing here reads files. docs/files.md describes
the form.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..graph.dataflow_graph import HOST
from ..graph.index_set import IndexSet
from .problem import FEMTOSECONDS, HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition, billionths, femtoseconds
from .source_lines import ProblemMistake

MOST_NODES = 100_000
MOST_SPAN = 1 << 31
MOST_BYTES = 1 << 50
MOST_SECONDS = 1e15
MOST_LOCATIONS = 12
"""Limits of a problem read from JSON, so that a typing error is reported before it fills the memory.

A candidate takes one bit for each node from its first to its last, whether it holds it or not; `MOST_SPAN` limits the sum of
these bits.
"""
MOST_ERROR = 1e9


def problem_from_json(data: Any) -> SearchProblem:
    """Return the problem that the JSON `data` states; unknown keys are ignored, except where they may be a typing error.

    Raises:
        ProblemMistake: `data` is no problem; the message quotes what was found and where (``candidates[3].cost_s``).
    """
    if not isinstance(data, dict):
        raise _mistake("", data, "a JSON object")
    schema = data.get("schema", 1)
    if isinstance(schema, bool) or schema not in (1, 2):
        raise _mistake("schema", schema, "1, or 2 where it has locations")
    _check_schema(data, schema)
    nodes = _whole(data.get("nodes"), "nodes", 1, MOST_NODES)
    problem = SearchProblem(
        nodes=nodes,
        tensors=_tensors(_list(data, "edges"), nodes),
        candidates=_candidates(_list(data, "candidates"), nodes),
        transitions=_pair_costs(data, "transitions"),
        exclusive=tuple(_pair(item, f"exclusive[{index}]") for index, item in enumerate(_list(data, "exclusive"))),
        priorities=_unique(_strings(data, "priorities"), "priorities"),
        names=_unique(_for_nodes(data, "names", nodes), "names") or tuple(str(index) for index in range(nodes)),
        ops=_for_nodes(data, "ops", nodes) or ("",) * nodes,
        error_budget=None if data.get("error_budget") is None else _error(data["error_budget"], "error_budget"),
        lowered=_unique(_strings(data, "lowered"), "lowered"),
        inner=_inner(_list(data, "inner"), nodes),
        locations=_locations(data),
        target_locations=_target_locations(data),
        copies=_pair_costs(data, "copies"),
        weights=_weights(_list(data, "weights"), nodes),
    )
    _check_acyclic(problem)
    _check_locations(problem)
    return problem


def _mistake(where: str, found: Any, wanted: str) -> ProblemMistake:
    message = f"{where or 'the problem'} is {reprlib.repr(found)}, it must be {wanted}"
    return ProblemMistake(message, "docs/files.md shows a problem", "bad_problem", where)


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise _mistake(key, value, "a list")
    return value


def _strings(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    listed = _list(data, key)
    for index, item in enumerate(listed):
        if not isinstance(item, str):
            raise _mistake(f"{key}[{index}]", item, "a string")
    return tuple(listed)


def _inner(items: Sequence[Any], nodes: int) -> dict[int, tuple[tuple[str, str], ...]]:
    """Return the nodes in bodies by the index of the node that has the bodies."""
    found: dict[int, tuple[tuple[str, str], ...]] = {}
    for number, item in enumerate(items):
        if not isinstance(item, list) or len(item) != 3 or not all(isinstance(part, str) for part in item[1:]):
            raise _mistake(f"inner[{number}]", item, "a node, and name and operator of a node in its bodies")
        index = _whole(item[0], f"inner[{number}][0]", 0, nodes - 1)
        found[index] = (*found.get(index, ()), (item[1], item[2]))
    return found


def _for_nodes(data: Mapping[str, Any], key: str, nodes: int) -> tuple[str, ...]:
    """Return one string for each node, or none at all."""
    listed = _strings(data, key)
    if listed and len(listed) != nodes:
        message = f"{key} has {len(listed)} strings for {nodes} nodes"
        raise ProblemMistake(message, "give one for each node, or none", "bad_problem", key)
    return listed


def _unique(listed: tuple[str, ...], where: str) -> tuple[str, ...]:
    first_index: dict[str, int] = {}
    for index, item in enumerate(listed):
        if first_index.setdefault(item, index) != index:
            raise _mistake(f"{where}[{index}]", item, f"another than {where}[{first_index[item]}]: each is named once")
    return listed


def _whole(value: Any, where: str, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _mistake(where, value, f"a whole number from {low} to {high}")
    return value


def finite_cost(value: Any, where: str) -> float:
    """Return `value` as a cost in seconds. Raises ProblemMistake unless it is a number from 0 to `MOST_SECONDS`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        raise _mistake(where, value, f"a finite number of seconds, not negative, at most {MOST_SECONDS:g}")
    return float(value)


def _pair(item: Any, where: str) -> tuple[str, str]:
    if not isinstance(item, list) or len(item) != 2 or not all(isinstance(name, str) and name for name in item) or item[0] == item[1]:
        raise _mistake(where, item, "a pair of different targets")
    return item[0], item[1]


def _candidates(items: Sequence[Any], nodes: int) -> tuple[SearchCandidate, ...]:
    candidates: list[SearchCandidate] = []
    first_index: dict[str, int] = {}
    span = 0
    for index, item in enumerate(items):
        candidate = _candidate(item, f"candidates[{index}]", index, nodes)
        if first_index.setdefault(candidate.id, index) != index:
            raise _mistake(f"candidates[{index}].id", candidate.id, f"another than that of candidates[{first_index[candidate.id]}]")
        span += candidate.inside.rel.bit_length()
        if span > MOST_SPAN:
            message = f"the candidates up to candidates[{index}] reach over {span} nodes together, at most {MOST_SPAN} can be held"
            raise ProblemMistake(message, "number the nodes along the dataflow", "bad_problem", f"candidates[{index}]")
        candidates.append(candidate)
    _check_weights(candidates)
    return tuple(candidates)


def _candidate(item: Any, where: str, index: int, nodes: int) -> SearchCandidate:
    if not isinstance(item, dict):
        raise _mistake(where, item, "an object")
    target = item.get("target")
    if not isinstance(target, str) or not target:
        raise _mistake(f"{where}.target", target, "the name of a target")
    if "cost_s" not in item:
        raise ProblemMistake(f"{where} has no cost_s", "give seconds, or null where it is unknown", "bad_problem", where)
    cost = item["cost_s"]
    known = None if cost is None else femtoseconds(finite_cost(cost, f"{where}.cost_s"))
    named = item.get("id", str(index))
    if not isinstance(named, str):
        raise _mistake(f"{where}.id", named, "a string")
    error = _error(item.get("error", 0), f"{where}.error")
    inside = _inside(item.get("nodes"), f"{where}.nodes", nodes)
    weight_bytes = _weight_bytes(item.get("weight_bytes", {}), f"{where}.weight_bytes")
    return SearchCandidate(inside, target, known, named, 0 if known is None else error, weight_bytes)


def _error(value: Any, where: str) -> int:
    """Return `value` as an error in billionths."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_ERROR:
        raise _mistake(where, value, f"a finite number, not negative, at most {MOST_ERROR:g}")
    return billionths(float(value))


def _inside(listed: Any, where: str, nodes: int) -> IndexSet:
    if not isinstance(listed, list) or not listed:
        raise _mistake(where, listed, "a list of nodes")
    for node in listed:
        if not isinstance(node, int) or isinstance(node, bool) or not 0 <= node < nodes:
            raise _mistake(where, node, f"nodes from 0 to {nodes - 1}")
    inside = IndexSet(listed)
    if len(inside) < len(listed):
        raise _mistake(where, listed, "different nodes")
    return inside


def _pair_costs(data: Mapping[str, Any], key: str) -> dict[tuple[str, str], Transition]:
    """Return (one end, other end) → cost, as `key` states them."""
    stated = data.get(key, {})
    if not isinstance(stated, dict):
        raise _mistake(key, stated, 'an object such as {"a->b": {"fixed_s": 0.0, "per_byte_s": 0.0}}')
    costs: dict[tuple[str, str], Transition] = {}
    for pair, value in stated.items():
        where = f"{key}[{reprlib.repr(pair)}]"
        maker, arrow, reader = (part.strip() for part in str(pair).partition("->"))
        if not (maker and arrow and reader) or not isinstance(value, dict) or set(value) - {"fixed_s", "per_byte_s"}:
            raise _mistake(where, value, 'an entry such as "a->b": {"fixed_s": 0.0, "per_byte_s": 0.0}')
        if (maker, reader) in costs:
            raise _mistake(where, value, "given once")
        fixed = finite_cost(value.get("fixed_s", 0.0), f"{where}.fixed_s")
        per_byte = finite_cost(value.get("per_byte_s", 0.0), f"{where}.per_byte_s")
        costs[maker, reader] = Transition(fixed * FEMTOSECONDS, per_byte * FEMTOSECONDS)
    return costs


def _check_schema(data: Mapping[str, Any], schema: int) -> None:
    """Raise ProblemMistake where a problem of schema 1 has locations: a program that reads schema 1 would leave them out."""
    stated = next((key for key in ("locations", "targets", "copies") if data.get(key)), None)
    if schema == 1 and stated is not None:
        message = f"the problem has {stated}, which schema 1 does not know"
        raise ProblemMistake(message, 'add "schema": 2', "bad_problem", stated)


def _objects(data: Mapping[str, Any], key: str, form: str, keys: frozenset[str]) -> dict[str, dict[str, Any]]:
    """Return name → object, as `key` states them; each object has no keys but `keys`."""
    stated = data.get(key, {})
    if not isinstance(stated, dict):
        raise _mistake(key, stated, f"an object such as {form}")
    for name, value in stated.items():
        if not name or not isinstance(value, dict) or set(value) - keys:
            raise _mistake(f"{key}[{reprlib.repr(name)}]", value, f"an entry such as in {form}")
    return stated


def _locations(data: Mapping[str, Any]) -> dict[str, int | None]:
    """Return location → the bytes that it may hold."""
    form = '{"host": {}, "cuda:0": {"bytes": 8e10}}'
    locations: dict[str, int | None] = {}
    for name, value in _objects(data, "locations", form, frozenset({"bytes"})).items():
        where, limit = f"locations[{reprlib.repr(name)}].bytes", value.get("bytes")
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (is_number and 0 <= limit <= MOST_BYTES):
            raise _mistake(where, limit, f"a number from 0 to {MOST_BYTES}")
        locations[name] = None if limit is None else int(limit)
    if len(locations) > MOST_LOCATIONS:
        raise _mistake("locations", sorted(locations), f"at most {MOST_LOCATIONS} locations")
    return locations


def _target_locations(data: Mapping[str, Any]) -> dict[str, str]:
    """Return target → its location."""
    target_locations = {}
    for name, value in _objects(data, "targets", '{"b": {"location": "cuda:0"}}', frozenset({"location"})).items():
        location = value.get("location", HOST_NAME)
        if not isinstance(location, str) or not location:
            raise _mistake(f"targets[{reprlib.repr(name)}].location", location, "the name of a location")
        target_locations[name] = location
    return target_locations


def _check_locations(problem: SearchProblem) -> None:
    """Raise ProblemMistake where a location is used and not listed, or no copies lead from the host to a target's location and back."""
    known = {HOST_NAME, *problem.locations}
    listed = ", ".join(sorted(known))
    for target, location in problem.target_locations.items():
        if location not in known:
            raise _mistake(f"targets[{reprlib.repr(target)}].location", location, f"one of the locations: {listed}")
    if problem.target_locations.get(HOST_NAME, HOST_NAME) != HOST_NAME:
        raise _mistake("targets['host'].location", problem.target_locations[HOST_NAME], "host: the host computes nowhere else")
    for a, b in problem.copies:
        where = f"copies[{reprlib.repr(f'{a}->{b}')}]"
        if a not in known or b not in known:
            raise _mistake(where, a if a not in known else b, f"between two of the locations: {listed}")
        if a == b:
            raise _mistake(where, a, "between two different locations")
    for target, location in problem.target_locations.items():
        for source, destination in ((HOST_NAME, location), (location, HOST_NAME)):
            if not _leads(problem, source, destination):
                message = f"no copies lead from {source!r} to {destination!r}, and the target {target!r} is at {location!r}"
                raise ProblemMistake(message, f'add "{source}->{destination}" to copies, or a route', "bad_problem", "copies")


def _leads(problem: SearchProblem, source: str, destination: str) -> bool:
    reached, waiting = {source}, [source]
    while waiting:
        at = waiting.pop()
        new = {b for a, b in problem.copies if a == at} - reached
        reached |= new
        waiting += new
    return destination in reached


def _weight_bytes(stated: Any, where: str) -> tuple[tuple[str, int], ...]:
    if not isinstance(stated, dict):
        raise _mistake(where, stated, 'an object such as {"w1": 4096}')
    return tuple((name, _whole(size, f"{where}[{reprlib.repr(name)}]", 0, MOST_BYTES)) for name, size in stated.items())


def _weights(listed: Sequence[Any], nodes: int) -> tuple[dict[str, int], ...]:
    """Return the initializers of each node, or none at all."""
    if listed and len(listed) != nodes:
        message = f"weights has {len(listed)} objects for {nodes} nodes"
        raise ProblemMistake(message, "give one for each node, or none", "bad_problem", "weights")
    return tuple(dict(_weight_bytes(stated, f"weights[{index}]")) for index, stated in enumerate(listed))


def _check_weights(candidates: Sequence[SearchCandidate]) -> None:
    """Raise ProblemMistake where an initializer has several sizes."""
    sizes: dict[str, int] = {}
    for index, candidate in enumerate(candidates):
        for name, size in candidate.weight_bytes:
            if sizes.setdefault(name, size) != size:
                raise _mistake(
                    f"candidates[{index}].weight_bytes[{reprlib.repr(name)}]", size, f"{sizes[name]}, as in an earlier candidate"
                )


def _tensors(edges: Sequence[Any], nodes: int) -> tuple[FlowTensor, ...]:
    """Return the tensors of the edges. Unnamed edges of one node carry one tensor; each unnamed edge of the host its own."""
    sizes: dict[tuple[int, str], int] = {}
    readers: dict[tuple[int, str], set[int]] = {}
    for index, edge in enumerate(edges):
        where = f"edges[{index}]"
        maker, reader, size, name = _edge(edge, where, nodes)
        key = (maker, (f"host#{index}" if maker == HOST else f"{maker}") if name is None else name)
        if sizes.setdefault(key, size) != size:
            raise _mistake(where, edge, f"of {sizes[key]} bytes, as the other edges of tensor {reprlib.repr(key[1])}")
        readers.setdefault(key, set()).add(reader)
    return tuple(
        FlowTensor(name, maker, tuple(sorted(ends - {HOST})), HOST in ends, sizes[maker, name]) for (maker, name), ends in readers.items()
    )


def _edge(edge: Any, where: str, nodes: int) -> tuple[int, int, int, str | None]:
    form = "[producer, consumer, bytes] or [producer, consumer, bytes, tensor]"
    if not isinstance(edge, list) or len(edge) not in (3, 4) or not all(isinstance(v, int) and not isinstance(v, bool) for v in edge[:3]):
        raise _mistake(where, edge, form)
    if len(edge) == 4 and not isinstance(edge[3], str):
        raise _mistake(where, edge, f"{form}, the tensor a name")
    maker, reader, size = edge[:3]
    if not HOST <= maker < nodes or not HOST <= reader < nodes or maker == reader:
        raise _mistake(where, edge, f"an edge between two nodes from -1 (the host) to {nodes - 1}")
    if not 0 <= size <= MOST_BYTES:
        raise _mistake(where, edge, f"of 0 to {MOST_BYTES} bytes")
    return maker, reader, size, edge[3] if len(edge) == 4 else None


def _check_acyclic(problem: SearchProblem) -> None:
    """Raise ProblemMistake when the edges make a cycle; nodes need not be numbered in the order of the dataflow."""
    readers: dict[int, set[int]] = {node: set() for node in range(problem.nodes)}
    waiting = dict.fromkeys(range(problem.nodes), 0)
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            readers[tensor.maker].update(tensor.readers)
    for ends in readers.values():
        for node in ends:
            waiting[node] += 1
    ready = [node for node, count in waiting.items() if not count]
    done = 0
    while ready:
        done += 1
        for node in readers[ready.pop()]:
            waiting[node] -= 1
            if not waiting[node]:
                ready.append(node)
    if done < problem.nodes:
        found = _cycle(readers, {node for node, count in waiting.items() if count})
        shown = ", ".join(map(str, found[:8])) + (", …" if len(found) > 8 else "")
        message = f"the edges make a cycle through the nodes [{shown}]"
        raise ProblemMistake(message, "a dataflow graph has no cycle: drop one of these edges", "bad_problem", "edges")


def _cycle(readers: Mapping[int, set[int]], stuck: set[int]) -> list[int]:
    """Return the nodes of one cycle in the order of the dataflow; `stuck` are the nodes on cycles and downstream of them."""
    maker: dict[int, int] = {}
    for node in sorted(stuck):
        for reader in readers[node] & stuck:
            maker.setdefault(reader, node)
    visited: dict[int, None] = {}
    node = min(stuck)
    while node not in visited:
        visited[node] = None
        node = maker[node]
    listed = list(visited)
    found = listed[listed.index(node) :][::-1]
    first = found.index(min(found))
    return found[first:] + found[:first]
