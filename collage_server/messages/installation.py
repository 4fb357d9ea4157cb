"""Resources of the installation: what the page is started with, toolchains, samples."""

from __future__ import annotations

from dataclasses import dataclass

from collage_core.documents.rules import RuleTree

from .runs import PlanResult


@dataclass(frozen=True)
class ReportInfo:
    """Facts that a report gives about itself.

    Attributes:
        written: When it was written, as ISO 8601, UTC.
        run: Id of its run.
        machine: The machine that measured the costs of the run.
        versions: Name of each target → its version in the run.
    """

    written: str
    run: str
    machine: str
    versions: dict[str, str]


@dataclass(frozen=True)
class PageConfig:
    """The configuration of the page: the JSON in the attribute ``data-config`` of its ``#app`` element.

    Attributes:
        prefix: Path under which everything lies, such as ``/tools/collage``; empty at the root. No slash at its end.
        model: Id of the model to open when the address names nothing.
        run: Id of the run to show with it; None for the recorded one of a sample, or none.
        local_paths: Models may be opened by their path on the server's machine, and files that are programs.
        upload_bytes: Largest upload that is accepted, all files together.
        report: Of a report, which brings all of its data with it and asks no server; None for the page of a server.
    """

    version: str
    prefix: str
    model: str | None
    local_paths: bool
    upload_bytes: int
    run: str | None = None
    report: ReportInfo | None = None


@dataclass(frozen=True)
class ToolchainInfo:
    """A toolchain that is installed or could be.

    Attributes:
        reason: Why it is not usable.
        hint: The command that mends that.
        described: It is only described, by a text that was saved: its costs are estimates, and nothing can be built for it.
        lowers_precision: It computes in less precision than the model asks for, as its name says.
        tunes: Its kernels can be tuned.
        rules: Its rule tree, as text; if it has none, the reason.
        tree: The same as data, with counts of 0; None where it has none.
    """

    name: str
    letter: str
    style: str
    usable: bool
    version: str
    reason: str
    hint: str
    device: str
    precision: str
    rules: str
    tree: RuleTree | None
    described: bool = False
    lowers_precision: bool = False
    tunes: bool = False


@dataclass(frozen=True)
class ToolchainList:
    """``GET /api/v1/toolchains``: those that are installed, then those that are only described."""

    toolchains: list[ToolchainInfo]


@dataclass(frozen=True)
class Description:
    """A described toolchain that was saved; `text` is TOML, as for ``--toolchain`` (docs/files.md, "A described toolchain")."""

    name: str
    text: str


@dataclass(frozen=True)
class DescriptionList:
    """``GET /api/v1/described``."""

    toolchains: list[Description]


@dataclass(frozen=True)
class DescriptionText:
    """Body of ``POST /api/v1/described``, which saves it under its own name, and of ``POST /api/v1/described/check``."""

    text: str


@dataclass(frozen=True)
class DescriptionMistake:
    """A mistake in a description; `line` is counted from 1."""

    line: int
    message: str
    hint: str


@dataclass(frozen=True)
class DescriptionCheck:
    """``POST /api/v1/described/check``: how a description reads; nothing is kept.

    Attributes:
        name: Its own name; None if it cannot be read.
        tree: Its rules.
        has_cost: It has a ``[cost]``, so its costs can be estimated.
    """

    name: str | None
    mistake: DescriptionMistake | None
    tree: RuleTree | None
    has_cost: bool


@dataclass(frozen=True)
class SampleInfo:
    """A bundled model.

    Attributes:
        recorded: Id of the recorded run that comes with it, if any.
        result: Of that run.
    """

    name: str
    title: str
    description: str
    recorded: str | None
    result: PlanResult | None


@dataclass(frozen=True)
class SampleList:
    """``GET /api/v1/samples``."""

    samples: list[SampleInfo]
