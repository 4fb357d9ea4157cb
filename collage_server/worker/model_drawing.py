"""`write_dot`: draws a model's graph as DOT, coloured as the page has it. Called in a worker process, never in the server's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..shared.json_files import read_json


def write_dot(graph_file: str, drawing: Mapping[str, Any]) -> str:
    """Return the graph in `graph_file` (a `ModelGraph`) as DOT; `drawing` is a `DotRequest` that was checked."""
    from collage_core.graph.dataflow_graph import DataflowGraph
    from collage_core.rewrite.export.dot import Cluster, Drawing, dot_text

    graph = DataflowGraph.from_json(read_json(Path(graph_file))["graph"])
    fills = {index: fill for index, fill in enumerate(drawing["fills"][: len(graph)]) if fill}
    clusters = [
        Cluster(cluster["label"], cluster["colour"], [node for node in cluster["nodes"] if 0 <= node < len(graph)])
        for cluster in drawing["clusters"]
    ]
    return dot_text(graph, Drawing(drawing["title"], clusters, fills))
