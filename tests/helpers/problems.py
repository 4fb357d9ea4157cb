"""Random search problems for property-based tests, and an independent solution: the enumeration of every plan."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.plan_properties import cycle, plan_total
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem, Transition

TARGETS = ("a", "b", "c")


@st.composite
def problems(draw: st.DrawFn, most_nodes: int = 7, unknown: bool = False) -> SearchProblem:
    """Draw a small problem: a random DAG, a single-node candidate for most nodes, random larger ones, random transitions."""
    nodes = draw(st.integers(1, most_nodes))
    tensors = [FlowTensor("x", HOST, (0,), False, draw(st.integers(0, 3)))]
    for node in range(nodes):
        readers = tuple(sorted(draw(st.sets(st.integers(node + 1, nodes - 1))))) if node + 1 < nodes else ()
        tensors.append(FlowTensor(f"t{node}", node, readers, not readers or draw(st.booleans()), draw(st.integers(0, 3))))
    cost = st.integers(0, 6) if not unknown else st.one_of(st.integers(0, 6), st.none())
    made: dict[tuple[int, str], int | None] = {}
    for node in range(nodes):
        for target in draw(st.lists(st.sampled_from(TARGETS), max_size=2, unique=True)) or [draw(st.sampled_from(TARGETS))]:
            made[1 << node, target] = draw(cost)
    for _ in range(draw(st.integers(0, 8))):
        made[draw(st.integers(1, (1 << nodes) - 1)), draw(st.sampled_from(TARGETS))] = draw(cost)
    candidates = tuple(
        SearchCandidate(IndexSet.from_bits(bits), target, known, str(index)) for index, ((bits, target), known) in enumerate(made.items())
    )
    ends = (*TARGETS, "host")
    pairs = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(ends), st.sampled_from(ends)), st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=8
        )
    )
    exclusive = draw(st.lists(st.sampled_from([("a", "b"), ("b", "c")]), max_size=1))
    return SearchProblem(
        nodes=nodes,
        tensors=tuple(tensors),
        candidates=candidates,
        transitions={pair: Transition(*costs) for pair, costs in pairs.items()},
        exclusive=tuple(exclusive),
        priorities=TARGETS,
        names=tuple(f"n{node}" for node in range(nodes)),
        ops=tuple("Conv" if node % 2 else "Relu" for node in range(nodes)),
    )


def every_plan(problem: SearchProblem, usable: list[int] | None = None) -> Iterator[tuple[int, ...]]:
    """Yield every well-formed plan of `problem`, each once, by the definition alone."""
    allowed = range(len(problem.candidates)) if usable is None else usable

    def extend(covered: int, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        free = ~covered & ((1 << problem.nodes) - 1)
        if not free:
            yield chosen
            return
        first = free & -free
        for index in allowed:
            bits = problem.candidates[index].bits
            if bits & first and not bits & covered:
                yield from extend(covered | bits, (*chosen, index))

    for plan in extend(0, ()):
        used = {problem.candidates[index].target for index in plan}
        if cycle(problem, plan) is None and not any(set(pair) <= used for pair in problem.exclusive):
            yield plan


def order_of(problem: SearchProblem, plan: tuple[int, ...]) -> tuple[object, ...]:
    """Return the key by which plans are compared, the order of equal plans included; the least wins."""
    chosen = [problem.candidates[index] for index in plan]
    unknown = [candidate for candidate in chosen if candidate.cost is None]
    listed = sorted((c.inside.first(), problem.priority(c.target), tuple(c.inside)) for c in chosen)
    return (
        sum(len(c.inside) for c in unknown),
        plan_total(problem, plan),
        sum(len(c.inside) * problem.priority(c.target) for c in unknown),
        len(plan),
        listed,
    )
