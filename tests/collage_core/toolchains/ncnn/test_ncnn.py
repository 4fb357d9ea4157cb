"""The toolchain ncnn as others see it, where it is special; the rest is in test_conformance.py and in the tests of its other files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.ncnn import ncnn as ncnn_toolchain
from collage_core.toolchains.registry import get
from tests.helpers.graphs import graph


def test_says_why_it_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ncnn_toolchain.util, "find_spec", lambda _name: None)
    found = get("ncnn").availability()
    assert (found.usable, found.reason) == (False, "the package ncnn is not installed")
    assert found.hint == "pip install ncnn==1.0.20261020"


def test_takes_only_the_version_that_it_was_verified_with(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ncnn_toolchain.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(ncnn_toolchain, "_version", lambda: "1.0.20250101")
    found = get("ncnn").availability()
    assert (found.usable, found.reason) == (False, "ncnn 1.0.20250101 is installed, 1.0.20261020 is needed")


def test_its_version_counts_the_importer():
    found = get("ncnn").availability()
    if found.usable:
        assert found.version == ncnn_toolchain.SUPPORTED_VERSION + ncnn_toolchain.IMPORTER_VERSION
    assert found.precision == "float32"


def test_its_rule_prints_its_check_by_name():
    rule = get("ncnn").rule(RuleOptions())
    assert "op_check(check='ncnn_operators.refusal_of_values', ops=['Abs', " in str(rule)
    assert "'check': 'ncnn_operators.refusal_of_values'" in str(rule.to_json())


def test_its_rule_gives_the_reason_of_each_call_that_it_does_not_take():
    drawn, log = graph(["a: Relu <- x", "b: Gather <- a", "c: Tanh <- b"]), RejectionLog()
    found = list(get("ncnn").rule(RuleOptions()).find(RuleContext(drawn, "ncnn", log)))
    assert {tuple(match.inside) for match in found} == {(0,), (2,)}
    assert [(rejection.nodes, rejection.reason) for rejection in log.sample if rejection.stage == "predicate"] == [
        ((1,), "ncnn has no layer for Gather")
    ]


def test_its_checks_import_no_ncnn():
    code = "import sys, collage_core.toolchains.ncnn.ncnn_import; sys.exit('ncnn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
