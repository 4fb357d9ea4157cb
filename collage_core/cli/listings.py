"""`collage toolchains` and `collage models`: lists of what is installed here, and the card of a model."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..errors import CollageError
from .json_output import print_document, print_json, prints_to_stderr
from .say import say
from .trust import asks_trust

if TYPE_CHECKING:
    from ..documents.model_view import ModelCard
    from ..toolchains.toolchain import Toolchain


@click.command()
@click.option("--rules", is_flag=True, help="Show the rule tree of each toolchain; with --json also as the data of a rule file.")
@click.option("--describe", metavar="NAME", help="Print a toolchain's rules as a described toolchain, to which you can add a [cost].")
@click.option(
    "--inspect", nargs=2, metavar="NAME MODEL", help="Build a model's engines with tensorrt_rtx or tensorrt, and show their layers."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("inspect")
def toolchains(rules: bool, describe: str | None, inspect: tuple[str, str] | None, as_json: bool) -> None:
    """List the toolchains: their versions, or the reason why one cannot be used."""
    if describe:
        click.echo(_description(describe), nl=False)
        return
    if inspect:
        from .engines import show_engines

        show_engines(*inspect, as_json=as_json)
        return
    with prints_to_stderr():
        found = _toolchain_rows(with_trees=rules and as_json)
    if as_json:
        print_json({"schema": 1, "toolchains": found})
        return
    for item in found:
        state = (
            f"{item['version']}  {item['device']} {item['precision']}"
            if item["usable"]
            else f"not usable: {item['reason']} ({item['hint']})"
        )
        say(f"{item['name']:<24} {state}")
        if rules:
            say("\n".join(f"    {line}" for line in item["rules"].splitlines()))


def _toolchain_rows(*, with_trees: bool) -> list[dict[str, Any]]:
    """Return every toolchain with its availability and its rules as text; `with_trees` adds the rules as data."""
    from ..toolchains.border import availability_of, shown_rules
    from ..toolchains.registry import all_toolchains

    rows = []
    for toolchain in all_toolchains():
        row = {"name": toolchain.name, "letter": toolchain.letter, "style": toolchain.style}
        row |= {**asdict(availability_of(toolchain)), "rules": shown_rules(toolchain)}
        rows.append({**row, "tree": _tree(toolchain)} if with_trees else row)
    return rows


def _description(name: str) -> str:
    """Return a description of the toolchain `name` for ``--toolchain``: a name of its own, and the rules.

    Raises:
        CollageError: there is no such toolchain, or its rules hold code.
    """
    from ..rules.rule import RuleOptions
    from ..rules.toml import rule_to_toml
    from ..toolchains.border import rule_of
    from ..toolchains.described import parse_description
    from ..toolchains.registry import get

    text = f'name = "described_{name}"\n\n{rule_to_toml(rule_of(get(name), RuleOptions()))}'
    parse_description(text, f"the description of {name}")
    return text


def _tree(toolchain: Toolchain) -> dict[str, Any] | None:
    """Return the rules as data; None where they fail, as their text says."""
    from ..rules.rule import RuleOptions
    from ..toolchains.border import rule_of

    try:
        return rule_of(toolchain, RuleOptions()).to_json()
    except CollageError:
        return None


def _card(file: str) -> ModelCard:
    from ..model.files.loading import read_structure
    from ..model.samples.registry import resolve
    from ..model.view.card import model_card

    path = resolve(file)
    return model_card(read_structure(path).model, path.stem)


def card_text(card: ModelCard) -> str:
    """Return the card of a model as lines; what its file does not say has none."""
    tensors = {
        kind: [
            f"{value.name} {'…' if value.dimensions is None else '×'.join(value.dimensions) or 'scalar'} {value.dtype}" for value in values
        ]
        for kind, values in (("input", card.inputs), ("output", card.outputs))
    }
    lines = [
        ("model", card.name),
        ("producer", f"{card.producer} {card.producer_version}".strip()),
        ("IR version", str(card.ir_version)),
        ("opsets", ", ".join(f"{domain} {version}" for domain, version in card.opsets.items())),
        ("description", card.doc or card.graph_doc),
        ("nodes", f"{card.nodes}" + (f", and {card.inner_nodes} in bodies and functions" if card.inner_nodes else "")),
        ("parameters", f"{card.parameters} in {card.parameter_bytes} bytes"),
        ("weights in", ", ".join(card.external)),
        ("functions", ", ".join(card.functions)),
        *(("input", text) for text in tensors["input"]),
        *(("output", text) for text in tensors["output"]),
        ("operators", ", ".join(f"{op} ×{count}" for op, count in card.operators.items())),
        *((key, value) for key, value in card.metadata.items()),
    ]
    return "\n".join(f"{name:<12} {text}" for name, text in lines if text)


@click.command()
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def models(file: str | None, as_json: bool) -> None:
    """List the bundled sample models, whose names work wherever MODEL does; or say what an ONNX FILE holds, run or not."""
    from ..model.samples.registry import SAMPLES

    if file is not None:
        known = _card(file)
        print_document(known) if as_json else say(card_text(known))
        return
    listed = [{"name": s.name, "title": s.title, "description": s.description} for s in SAMPLES.values()]
    if as_json:
        print_json({"schema": 1, "models": listed})
        return
    for item in listed:
        say(f"{item['name']:<{max(map(len, SAMPLES))}}  {item['title']}")
