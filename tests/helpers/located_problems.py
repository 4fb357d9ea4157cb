"""Random search problems whose targets are at several locations, for tests against the enumeration of every plan."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.problem import HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition

from .problems import TARGETS

LOCATIONS = (HOST_NAME, "cuda:0", "cuda:1", "host/blocked")


def located_problem(seed: int, most_nodes: int = 6) -> SearchProblem:
    """Return a problem of two to four locations with tensors of several readers; some routes lead over a third location alone.

    Some problems have nodes that are numbered against the flow, and transitions beside the copies.
    """
    draw = Random(seed)
    nodes, locations = draw.randint(1, most_nodes), list(LOCATIONS[: draw.randint(2, len(LOCATIONS))])
    tensors = _tensors(draw, nodes)
    if draw.random() < 0.3:
        number = list(range(nodes))
        draw.shuffle(number)
        tensors = [
            replace(t, maker=t.maker if t.maker == HOST else number[t.maker], readers=tuple(sorted(number[node] for node in t.readers)))
            for t in tensors
        ]
    sets: dict[tuple[int, str], int] = {}
    for node in range(nodes):
        for target in draw.sample(TARGETS, draw.randint(1, len(TARGETS))):
            sets[1 << node, target] = draw.randint(0, 6)
    for _ in range(draw.randint(0, 5)):
        sets[draw.randint(1, (1 << nodes) - 1), draw.choice(TARGETS)] = draw.randint(0, 9)
    candidates = [
        SearchCandidate(IndexSet.from_bits(bits), target, cost, str(index), weight_bytes=_weights(draw, bits))
        for index, ((bits, target), cost) in enumerate(sets.items())
    ]
    target_locations = {target: draw.choice(locations) for target in TARGETS} | {draw.choice(TARGETS): locations[1]}
    ends = (*TARGETS, HOST_NAME)
    transitions = {(draw.choice(ends), draw.choice(ends)): Transition(draw.randint(0, 2), draw.randint(0, 1)) for _ in range(2)}
    return SearchProblem(
        nodes,
        tuple(tensors),
        tuple(candidates),
        transitions if draw.random() < 0.3 else {},
        priorities=TARGETS,
        names=tuple(f"n{node}" for node in range(nodes)),
        ops=("Relu",) * nodes,
        locations=dict.fromkeys(locations),
        target_locations=target_locations,
        copies=_copies(draw, locations),
    )


def _tensors(draw: Random, nodes: int) -> list[FlowTensor]:
    first_readers = {0, *draw.sample(range(nodes), draw.randint(0, nodes - 1))}
    tensors = [FlowTensor("x", HOST, tuple(sorted(first_readers)), False, draw.randint(0, 3))]
    for node in range(nodes):
        count = min(nodes - node - 1, draw.choice((0, 1, 1, 2, 3)))
        readers = tuple(sorted(draw.sample(range(node + 1, nodes), count)))
        tensors.append(FlowTensor(f"t{node}", node, readers, not readers or draw.random() < 0.2, draw.randint(0, 3)))
    return tensors


def _weights(draw: Random, bits: int) -> tuple[tuple[str, int], ...]:
    """Return the initializers of the nodes `bits`: node n has w(n // 2), so that two nodes share one."""
    names = {node // 2 for node in range(bits.bit_length()) if bits >> node & 1}
    return tuple((f"w{name}", 1 + name % 3) for name in sorted(names)) if draw.random() < 0.8 else ()


def _copies(draw: Random, locations: list[str]) -> dict[tuple[str, str], Transition]:
    """Return direct copies by which every location leads to every other one, on some way."""
    ring = locations[:]
    draw.shuffle(ring)
    copies = {pair: Transition(draw.randint(0, 4), draw.randint(0, 2)) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)}
    for a in locations:
        for b in locations:
            if a != b and draw.random() < 0.4:
                copies[a, b] = Transition(draw.randint(0, 9), draw.randint(0, 2))
    return copies
