"""The reference pages of the file formats and of the messages of the web interface, made from the classes that read and write them.

Nothing enters but the code; Markdown leaves, and the JSON schema of a plan. docs/files.md tells the same formats with examples; these
pages have every key. No file is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, get_args, get_origin

from docs_markdown import FUNCTION, anchor, code, introduction, keys, keys_table, plain, table

from collage_core.base.validation import MustBe
from collage_core.cost.cost import Cost
from collage_core.cost.database import json_lines, records
from collage_core.cost.database.record_validation import FIELD_TYPES
from collage_core.cost.estimators.served import Answer
from collage_core.documents.cost import Tuned
from collage_core.documents.plan import PlanPartition, PlanTransition
from collage_core.graph import dataflow_graph
from collage_core.pipeline.record.record import FILE_NAME, RunRecord
from collage_core.rewrite import plan
from collage_core.rewrite.runtime import control_entry, machine, manifest
from collage_core.rules.combinators import FUSION_STYLES
from collage_core.rules.data import RULES
from collage_core.search.constraints.constraints import KEYS_OF
from collage_core.toolchains import described

PLAN_SCHEMA = "plan.schema.json"
PLAN = (
    plan.Plan,
    plan.PlannedModel,
    plan.PlannedTarget,
    PlanPartition,
    Tuned,
    PlanTransition,
    plan.PlannedBody,
    plan.PlannedTensor,
    plan.ShapePlan,
    plan.RangePlan,
    plan.RangePartition,
)
RUN = (RunRecord, Cost)
ARTIFACT = (manifest.Manifest, manifest.PartitionEntry, control_entry.ControlEntry, machine.Machine, dataflow_graph.Tensor)
RECORDS = {
    "cost": (records.CostKey, records.Record),
    "transition": (records.TransitionKey, records.MeasuredTransition),
    "tuning": (records.TuningKey, records.TuningRecord),
}
"""Kind of a line of exported costs → the classes whose fields it has."""


def format_page() -> str:
    """Return the page of the file formats."""
    parts = [
        "# File formats",
        "Every key of the files that are written and read. [](files.md) shows some with examples. "
        "Where a meaning says None, the file has `null`.",
        "## A plan",
        f"`plan.json`, schema {plan.SCHEMA}; [{PLAN_SCHEMA}]({PLAN_SCHEMA}) is its JSON schema. Unknown keys are ignored.",
        *_sections(PLAN, 3),
        "## A run",
        f"`{FILE_NAME}`: JSON, packed by gzip, with a `schema` beside these keys. A cost stands with each candidate.",
        *_sections(RUN, 3),
        "## An artifact",
        f"`{manifest.NAME}` in the folder of an artifact, with `kind` `{manifest.KIND}` and schema {manifest.SCHEMA}. "
        f"`form` is one of {', '.join(map(code, manifest.FORMS))}.",
        *_sections(ARTIFACT, 3),
        *_record_parts(),
        *_constraint_parts(),
        *_described_parts(),
        "## An answer of a cost server",
        *_sections((Answer,), 3),
    ]
    return "\n\n".join(parts) + "\n"


def plan_schema() -> str:
    """Return the JSON schema of a plan file."""
    return json.dumps(plan.Plan.model_json_schema(by_alias=True), indent=1) + "\n"


def message_page() -> str:
    """Return the page of the messages between page and server."""
    package = import_module("collage_server.messages")
    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    messages = {module: own_dataclasses(module) for module in modules}
    shown = [cls for classes in messages.values() for cls in classes]
    parts = ["# Messages of the web interface", "The JSON types that [](api.md) names."]
    for module, classes in messages.items():
        about = (module.__doc__ or "").split("\n\n")[0]
        parts += [f"## {module.__name__.rpartition('.')[2].replace('_', ' ').capitalize()}", plain(about), *_sections(classes, 3, shown)]
    return "\n\n".join(parts) + "\n"


def own_dataclasses(module: Any) -> list[type[Any]]:
    """Return the dataclasses that `module` defines, in the order of its lines."""
    return [one for one in vars(module).values() if isinstance(one, type) and is_dataclass(one) and one.__module__ == module.__name__]


def _sections(classes: Sequence[type[Any]], level: int, shown: Iterable[type[Any]] | None = None) -> Iterator[str]:
    """Yield the parts of a section about each of `classes`; types link to those of `shown`, by default these."""
    linked = set(classes if shown is None else shown)
    for cls in classes:
        yield f"({anchor(cls)})=\n{'#' * level} {cls.__name__}"
        yield introduction(cls)
        if keys(cls):
            yield keys_table(cls, linked)


def _record_parts() -> Iterator[str]:
    yield "## Exported costs"
    yield (
        f'JSON lines, packed where the name ends in `.gz`: `{{"format": "{json_lines.FORMAT}", "version": {json_lines.VERSION}}}`, then '
        "a line for each cost, transition and tuned kernel, and at the end one with their numbers. The `kind` of a line says which it is."
    )
    for kind, classes in RECORDS.items():
        meant = {key.name: key.meaning for cls in classes for key in keys(cls)}
        names = [field.name for cls in classes for field in fields(cls)]
        yield f"### Lines of kind `{kind}`"
        yield table(("key", "must be", "means"), [(code(name), plain(must_be(FIELD_TYPES[name])), meant[name]) for name in names])


def must_be(annotation: Any) -> str:
    """Return the words in which the validation says what a value of this type must be."""
    if get_origin(annotation) is Annotated:
        said = [one.wanted for one in annotation.__metadata__ if isinstance(one, MustBe)]
        return said[-1]
    return " or ".join("null" if one is type(None) else must_be(one) for one in get_args(annotation))


def _constraint_parts() -> Iterator[str]:
    yield "## Constraints"
    yield "A list of objects under `constraints`. In place of all other keys but `kind`, a pin or a veto may have `candidate`."
    yield table(("kind", "may have"), [(code(kind), ", ".join(code(key) for key in sorted(names))) for kind, names in KEYS_OF.items()])


def _described_parts() -> Iterator[str]:
    yield "## A described toolchain"
    yield f"A TOML file with {', '.join(map(code, described.KEYS))}."
    yield table(
        ("key", "is"),
        [
            (code("style"), " or ".join(map(code, described.STYLES))),
            (code("fusion"), " or ".join(map(code, FUSION_STYLES))),
            *((code(f"cost.{key}"), f"a number from {least:g} to {most:g}") for key, (least, most) in described.COST_BOUNDS.items()),
        ],
    )
    for name, rule in RULES.items():
        yield f"### Rule `{name}`"
        yield introduction(rule)
        rows = [(code(rule.words.get(key.name, key.name)), key.default, key.meaning) for key in keys(rule) if FUNCTION not in key.kind]
        if rows:
            yield table(("key", "unless given", "means"), rows)
