"""Machines that fit together, and the reasons why others do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core import __version__
from collage_core.cost.fleet.machine_kinds import choose_kind, shared_computers
from collage_core.cost.fleet.protocol import (
    Description,
)
from collage_core.errors import CollageError
from collage_core.toolchains.toolchain import Availability
from tests.helpers.fleets import description_of


def test_the_kind_is_what_most_workers_are():
    workers = [description_of("a", tvm="1"), description_of("b", "B, 8 cores", 8, tvm="1"), description_of("c", "B, 8 cores", 8, tvm="1")]
    kind = choose_kind(workers, ["tvm"], 2)
    assert (kind.machine, kind.availability("tvm").version) == ("B, 8 cores", "1")
    assert [bool(kind.why_not(worker)) for worker in workers] == [True, False, False]
    assert choose_kind(workers, ["tvm"], 2, "A, 2 cores").machine == "A, 2 cores"


def test_of_equal_kinds_the_one_with_more_targets_is_chosen_whatever_the_order():
    without = description_of("a", tvm="1", openvino=Availability(False, reason="not installed"))
    both = description_of("b", tvm="1", openvino="2")
    for workers in ([without, both], [both, without]):
        kind = choose_kind(workers, ["tvm", "openvino"], 1)
        assert kind.availability("openvino").usable
        assert kind.why_not(without) == "its openvino is not usable (not installed), the others' is 2"


def test_versions_that_no_target_of_the_run_has_do_not_matter():
    workers = [description_of("a", tvm="1", openvino="1"), description_of("b", tvm="1", openvino="2")]
    kind = choose_kind(workers, ["tvm"], 1)
    assert [kind.why_not(worker) for worker in workers] == ["", ""]


def test_who_is_left_out_is_told_why():
    kind = choose_kind([description_of(tvm="1")], ["tvm"], 2)
    assert kind.why_not(description_of(version="0.0", tvm="1")) == f"it runs Collage Explorer 0.0, this is {__version__}"
    assert kind.why_not(description_of(cores=1, tvm="1")) == "it may use 1 cores, and the run wants 2 threads"
    assert kind.why_not(description_of()) == "its tvm is not usable (no toolchain of this name is known there), the others' is 1"


@pytest.mark.parametrize(
    ("worker", "machine", "message"),
    [
        (description_of(version="0.0"), None, f"the fleet's workers run Collage Explorer 0.0, this is {__version__}"),
        (description_of(cores=1), None, "the run wants 2 threads, the fleet's workers have 1 cores"),
        (description_of(), "B, 8 cores", "no worker of the fleet is a 'B, 8 cores'"),
    ],
)
def test_where_no_worker_fits_one_line_says_why(worker: Description, machine: str | None, message: str):
    with pytest.raises(CollageError) as caught:
        choose_kind([worker], ["tvm"], 2, machine)
    assert caught.value.message == message
    assert caught.value.hint


def test_workers_on_one_computer_are_named():
    one, two, three = (replace(description_of(name), host=host) for name, host in (("a", "x"), ("b", "y"), ("c", "x")))
    assert shared_computers([one, two]) == ""
    assert shared_computers([one, two, three]).startswith("the workers a, c share a computer")
