"""The table of a survey for people, for spreadsheets and as a page: same numbers, and nothing of a stranger's name is read as code."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from collage_core.documents.survey import Alone, Gain, PlanTimes, SurveyRow
from collage_core.survey.row import MEASURED, REFUSED
from collage_core.survey.tables import cells, gain_text, header, reasons, sentence, survey_csv, survey_page, targets_of

A, B = Alone("a", 3e-3, 4e-3, 2e-4, ""), Alone("b", None, None, None, "b cannot take TopK")
PLAN = PlanTimes(("a", "b"), 4, 2e-3, 1e-5, 2.1e-3, 1e-6)
MIXED = SurveyRow("m", "m.onnx", "planned", "", "", 41.2, 30, (A, B), PLAN, "a", Gain(1.5, 1.4, 1.6, MEASURED), ("b alone …",))
HOSTILE = SurveyRow("=<b>\x1b[2J", "x.onnx", REFUSED, "no target can take <Foo>", "add one", 0.5)


def test_people_read_times_gain_and_interval() -> None:
    targets = targets_of([HOSTILE, MIXED])
    assert header(targets) == ["model", "nodes", "a alone", "b alone", "plan", "on", "gain"]
    assert cells(MIXED, targets) == ["m", "30", "3 ms", "–", "2 ms", "a + b", "1.50× (1.40 to 1.60)"]
    assert cells(HOSTILE, targets) == [HOSTILE.model, "", "–", "–", "refused", "", ""]
    assert reasons(HOSTILE) == ["no target can take <Foo>", "add one"]


def test_a_sentence_claims_no_more_than_is_known() -> None:
    told = sentence(replace(MIXED, verdict="1.50 times faster than a alone (1.40 to 1.60), checked"))
    assert told == "m: 2 ms on a + b: 1.50 times faster than a alone (1.40 to 1.60), checked"
    unmeasured = replace(MIXED, plan=PlanTimes(("a",), 1, None, None, 2e-3, None), verdict="a alone, predicted 2 ms")
    assert sentence(unmeasured) == "m: 2 ms predicted on a: a alone, predicted 2 ms"
    assert gain_text(replace(MIXED, plan=replace(PLAN, targets=("a",), partitions=1))) == "best alone"
    assert sentence(HOSTILE) == f"{HOSTILE.model}: refused: no target can take <Foo>"
    assert gain_text(HOSTILE) == "–"


def test_the_csv_reads_back() -> None:
    first, second = csv.DictReader(io.StringIO(survey_csv([HOSTILE, MIXED])))
    assert first["model"] == f"'{HOSTILE.model}", "a spreadsheet reads no formula"
    assert first["status"] == "refused"
    assert first["plan_s"] == first["gain"] == ""
    assert (float(second["a_s"]), second["b_s"], float(second["plan_s"]), float(second["gain_low"])) == (3e-3, "", 2e-3, 1.4)
    assert (second["plan_targets"], second["best_alone"], second["gain_basis"]) == ("a+b", "a", "measured")


def test_the_page_escapes_and_asks_for_nothing() -> None:
    page = survey_page([HOSTILE, MIXED], "a, b; 2 threads")
    assert "<b>" not in page
    assert "\x1b" not in page
    assert "&lt;Foo&gt;" in page
    assert '<td class="better">1.50× (1.40 to 1.60)</td>' in page
    assert not any(word in page for word in ("http:", "https:", "<script", "src="))
