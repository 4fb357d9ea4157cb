"""`Options`: everything that the user can set for a run, validated; filled in by the command line, the server or a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .base.processor import usable_cores
from .base.sizes import ShapeOf, is_fixed, shape_from, shape_text
from .errors import CollageError
from .graph.value_policy import FINITE, VALUE_POLICIES
from .rules.combinators import FUSION_STYLES
from .rules.rule import RuleOptions
from .search.objectives import parse_objective
from .search.solve import DEFAULT, searcher_of

MOST_THREADS = 1024
IRS = ("onnx", "relax")
"""Kinds of content that a model's file may hold."""
REFUSE, FALL_BACK = "error", "onnxruntime"
OTHER_SHAPES = (REFUSE, FALL_BACK)
"""Answers of an artifact for several shapes to another one."""


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes:
        targets: Names of toolchains, the preferred one first; `registry.default_targets` where nobody named any.
        costs: ``measure``, ``roofline``, ``mock:FILE``, ``replay:DB`` or ``http://HOST:PORT``; from Python also ``function:NAME``.
        search: Name of a searcher, with its settings where it has some (`search.solve.searcher_of`).
        objective: Quantity that plans are chosen by: ``time``, or another that `search.objectives.parse_objective` reads.
        constraints: Pins, vetoes and cuts, as in a constraints file.
        shapes: Name of an input → its dimensions. One that may have several sizes is a range or a set of them (`base.sizes`), and the
            search then plans for several shapes; as text a shape may be given too: ``1,{16,64}``.
        shapes_from: ``.npz`` files of inputs whose shapes are planned for, each as often as it comes.
        other_shapes: What the artifact for several shapes does with one that was not planned for: one of `OTHER_SHAPES`.
        one_build: Planned shapes of one plan share a build of each partition whose toolchain takes any shape: less memory, seldom as fast.
        values: Name of a small input → the value that it always has: text such as ``16000`` or ``0.5,1``, or numbers.
        max_depth: Target → bound on the depth of its candidates; the key ``""`` is for all other targets.
        max_exits: Target → most exits of its combined candidates, 1 unless given; the key ``""`` is for all other targets.
        taps: Targets whose combined candidates may have taps; ``""`` stands for all targets.
        fusion: Target → fusion style.
        measure_all: Measure every distinct candidate, not only those that can matter.
        percentile: Percentile of the measured samples that is the cost.
        costs_db: The cost database: a file or a URL; None for the user's own.
        fleet: Address of the scheduler whose workers measure, or ``local:N`` for N on this machine; None to measure here.
        fleet_keys: Folder of the fleet's keys; None for the user's own (`cost.fleet.connection`).
        machine: Kind of machine of the fleet to measure on, or a pattern of it; None for the most frequent one.
        threads: Threads of every kernel; None for the number of usable cores.
        accuracy: Largest relative error that is accepted; None for the model's default.
        value_policy: What must be right of NaN and infinities: one of `VALUE_POLICIES`.
        budget_s: Seconds from the start of a run to its answer; None for what the size of the model suggests.
        tune_s: Seconds that tuning kernels may take, on top of that; None for no tuning.
        time_limit_s: Seconds after which a search returns its best plan so far; None for no limit.
        fold: Fold constants and fuse batch norms first.
        ir: ``onnx`` or ``relax``: what the model's file holds; None for what its ending says.
        region: Of a Relax module the name of one region, such as ``main.0``; None for the largest of its function ``main``.
        toolchain_files: TOML files of described toolchains, to be named in `targets`.
        inputs: An ``.npz`` with the user's own inputs.
        out: Folder for the plan, the run and the artifact; None to write nothing.
    """

    targets: tuple[str, ...]
    costs: str = "measure"
    search: str = DEFAULT
    objective: str = "time"
    constraints: tuple[Mapping[str, Any], ...] = ()
    shapes: Mapping[str, ShapeOf] = field(default_factory=dict)
    shapes_from: tuple[Path, ...] = ()
    other_shapes: str = REFUSE
    one_build: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    max_depth: Mapping[str, int] = field(default_factory=dict)
    max_exits: Mapping[str, int] = field(default_factory=dict)
    taps: frozenset[str] = frozenset()
    fusion: Mapping[str, str] = field(default_factory=dict)
    measure_all: bool = False
    percentile: float = 50.0
    costs_db: str | None = None
    fleet: str | None = None
    fleet_keys: Path | None = None
    machine: str | None = None
    threads: int | None = None
    accuracy: float | None = None
    value_policy: str = FINITE
    budget_s: float | None = None
    tune_s: float | None = None
    time_limit_s: float | None = None
    fold: bool = True
    ir: str | None = None
    region: str | None = None
    toolchain_files: tuple[Path, ...] = ()
    inputs: Path | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        if not self.targets:
            raise CollageError(
                "no target was given", "name some: --targets onnxruntime,openvino,tvm (`collage toolchains` lists them)", "no_target"
            )
        twice = next((name for name in self.targets if self.targets.count(name) > 1), None)
        if twice is not None:
            raise CollageError(f"the target {twice!r} was given twice", "name each target once", "bad_option")
        self._check_numbers()
        self._check_shapes()
        searcher_of(self.search)
        if self.ir not in (None, *IRS):
            raise CollageError(f"unknown kind of model {self.ir!r}", f"choose one of {', '.join(IRS)}", "bad_option")
        if self.value_policy not in VALUE_POLICIES:
            said = f"unknown value policy {self.value_policy!r}"
            raise CollageError(said, f"choose one of {', '.join(VALUE_POLICIES)}", "bad_option")
        parse_objective(self.objective)
        for target, style in self.fusion.items():
            if style not in FUSION_STYLES:
                raise CollageError(
                    f"unknown fusion style {style!r} for {target}", f"choose one of {', '.join(FUSION_STYLES)}", "bad_option"
                )
        for target in [*self.fusion, *self.max_depth, *self.max_exits, *self.taps]:
            if target and target not in self.targets:
                raise CollageError(
                    f"an option names the target {target!r}, which is not among --targets",
                    f"the targets are {', '.join(self.targets)}",
                    "bad_option",
                )

    def _check_numbers(self) -> None:
        numbers = {
            "--threads": self.threads,
            **{f"--max-depth {t}".strip(): d for t, d in self.max_depth.items()},
            **{f"--max-exits {t}".strip(): d for t, d in self.max_exits.items()},
        }
        for option, value in numbers.items():
            if value is not None and value < 1:
                raise CollageError(f"{option} is {value}, it must be at least 1", "", "bad_option")
        if self.threads is not None and self.threads > MOST_THREADS:
            raise CollageError(f"--threads is {self.threads}, it must be at most {MOST_THREADS}", "", "bad_option")
        if not 0 < self.percentile < 100:
            raise CollageError(f"--percentile is {self.percentile:g}, it must be between 0 and 100", "50 is the median", "bad_option")
        if self.fleet is None and (self.machine is not None or self.fleet_keys is not None):
            option, what = ("--machine", "a machine") if self.machine is not None else ("--keys", "the keys")
            raise CollageError(f"{option} names {what} of a fleet, and there is none", "name its scheduler with --fleet", "bad_option")
        limits = {"--accuracy": self.accuracy, "--budget": self.budget_s, "--tune": self.tune_s, "--time-limit": self.time_limit_s}
        for option, limit in limits.items():
            if limit is not None and not 0 < limit < float("inf"):
                raise CollageError(f"{option} is {limit:g}, it must be more than 0", "", "bad_option")

        if self.tune_s is not None and not self.is_measured:
            said = f"--tune is {self.tune_s:g}, and nothing is measured with --costs {self.costs!r}"
            raise CollageError(said, "leave --tune out, or measure", "bad_option")

    def _check_shapes(self) -> None:
        object.__setattr__(self, "shapes", {name: shape_from(shape, name) for name, shape in self.shapes.items()})
        if self.other_shapes not in OTHER_SHAPES:
            said = f"unknown answer to other shapes {self.other_shapes!r}"
            raise CollageError(said, f"choose one of {', '.join(OTHER_SHAPES)}", "bad_option")
        several = "say several: --shape ids=1,{16,64}, or --shapes-from FILES"
        if self.other_shapes != REFUSE and not self.plans_shapes:
            raise CollageError(f"--other-shapes is {self.other_shapes!r}, and one shape is planned for", several, "bad_option")
        if self.one_build and not self.plans_shapes:
            raise CollageError("--one-build is about several shapes, and one shape is planned for", several, "bad_option")
        if self.shapes_from and not is_fixed(self.shapes):
            raise CollageError("--shape and --shapes-from both give several sizes", "leave one of them out", "bad_option")
        if self.inputs is not None and self.plans_shapes:
            hint = "leave --inputs out; --shapes-from takes files of inputs of several shapes"
            raise CollageError("--inputs has one shape, and several are planned for", hint, "bad_option")

    @property
    def plans_shapes(self) -> bool:
        """Return whether several shapes are planned for."""
        return bool(self.shapes_from) or not is_fixed(self.shapes)

    @property
    def fixed_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of inputs by name. Raises CollageError where several are planned for: this is a question about one."""
        if self.plans_shapes:
            said = "several shapes are given, and only `collage partition` plans for more than one"
            raise CollageError(said, "give each dimension one size, such as --shape ids=1,64", "bad_option")
        return {name: tuple(size for size in shape if isinstance(size, int)) for name, shape in self.shapes.items()}

    @property
    def used_threads(self) -> int:
        """Number of threads that kernels run with."""
        return self.threads or usable_cores()

    @property
    def is_measured(self) -> bool:
        return self.costs == "measure"

    @property
    def builds(self) -> bool:
        """Return whether the plan is built and compared with the reference."""
        return self.is_measured or self.out is not None

    def rule_options(self, target: str) -> RuleOptions:
        """Return the options for the rules of `target`."""
        depth = self.max_depth.get(target, self.max_depth.get(""))
        exits = self.max_exits.get(target, self.max_exits.get("", 1))
        return RuleOptions(depth, exits, not self.taps.isdisjoint({"", target}), self.fusion.get(target), self.value_policy)

    def to_json(self) -> dict[str, Any]:
        """Return the options as `Plan.options` keeps them."""
        return {
            "costs": self.costs,
            "search": self.search,
            "objective": self.objective,
            "shapes": {name: list(shape) if is_fixed({name: shape}) else shape_text(shape) for name, shape in self.shapes.items()},
            "max_depth": dict(self.max_depth),
            "max_exits": dict(self.max_exits),
            "taps": sorted(self.taps),
            "fusion": dict(self.fusion),
            "percentile": self.percentile,
            "threads": self.used_threads,
            "value_policy": self.value_policy,
            "fold": self.fold,
            **({"ir": self.ir} if self.ir else {}),
            **({"region": self.region} if self.region else {}),
        }
