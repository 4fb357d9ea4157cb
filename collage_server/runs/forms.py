"""Tells the form of a run's artifact: `form_of`, `form_asked`, `has_form`. The folder of a run enters; nothing is written or built."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast, get_args

from ..messages.runs import AskedForm, Form
from ..shared.json_files import read_json
from ..shared.run_files import ARTIFACT, FORM

MANIFEST = "artifact.json"
DEFAULT_FORM: Final = "module"
"""The form in which a run builds its whole plans, and in which its artifact is unless another was asked for."""


def form_of(folder: Path) -> Form:
    """Return the form of the artifact in the folder of a run that has one. One for several shapes is made of modules."""
    try:
        form = read_json(folder / ARTIFACT / MANIFEST).get("form")
    except (OSError, ValueError, AttributeError):  # damaged: whoever opens the artifact is told so
        return DEFAULT_FORM
    return cast("Form", form) if form in get_args(Form) else DEFAULT_FORM


def form_asked(folder: Path) -> AskedForm:
    """Return the form that the artifact was last asked for."""
    try:
        asked = (folder / FORM).read_text()
    except (OSError, ValueError):
        return DEFAULT_FORM
    return cast("AskedForm", asked) if asked in get_args(AskedForm) else DEFAULT_FORM


def has_form(folder: Path, asked: AskedForm) -> bool:
    """Return whether the artifact is what `asked` gives: in this form, or native where any is welcome, or asked for like this before."""
    form = form_of(folder)
    return form == asked or asked == form_asked(folder) or (asked == "auto" and form == "native")
