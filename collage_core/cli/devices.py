"""`collage devices`: plan on which device each node and each tensor is (docs/devices.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.counted import counted
from .json_output import print_json, write_json
from .say import say
from .trust import asks_trust


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--model", metavar="MODEL", help="Plan the nodes of this model under the annotations of PROBLEM, which then lists none.")
@click.option(
    "--constraints", "written", type=click.Path(path_type=Path), help="Write the pins that annotations imply, for `collage partition`."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("model")
def devices(problem: Path, model: str | None, written: Path | None, as_json: bool) -> None:
    """Plan the devices of PROBLEM, a JSON file of nodes and annotations (docs/devices.md)."""
    from ..devices.plan_devices import plan_devices
    from ..devices.read_problem import read_device_problem
    from ..model.relax.load import load
    from ..model.samples.registry import resolve

    read = read_device_problem(problem, None if model is None else load(resolve(model)).graph)
    plan = plan_devices(read)
    document = plan.to_json(read)
    if written is not None:
        write_json(written, {"constraints": plan.constraints(read)})
    if as_json:
        print_json(document)
    else:
        _show(document)


def _show(document: dict[str, Any]) -> None:
    by_location: dict[str, list[dict[str, Any]]] = {}
    for node in document["nodes"]:
        by_location.setdefault(node["location"], []).append(node)
    for location, nodes in by_location.items():
        why = ", ".join(f"{sum(node['why'] == word for node in nodes)} {word}" for word in dict.fromkeys(node["why"] for node in nodes))
        say(f"{location}: {counted(len(nodes), 'node')} ({why})")
    for copy in document["copies"]:
        size = "size unknown" if copy["bytes"] is None else counted(copy["bytes"], "byte")
        readers = ", ".join(reader or "the model's output" for reader in copy["readers"])
        say(f"copy of {copy['tensor']} from {copy['from']} to {copy['to']}: {size}, for {readers}")
    for target in document["unused"]:
        say(f"no node is on the device of {target}")
