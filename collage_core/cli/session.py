"""`collage session`: a model and its runs in one file, for a colleague to open with `collage explore`."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.counted import counted
from .run_options import RUN_MODEL_HELP
from .say import say
from .trust import asks_trust


@click.command()
@click.argument("named", metavar="MODEL_OR_RUN")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The file to write, such as NAME.collage.")
@click.option("--without-model", is_flag=True, help="Store only the hash of the model's file.")
@click.option("--model", metavar="MODEL", help=RUN_MODEL_HELP)
@asks_trust("named", "model")
def session(named: str, out: Path, without_model: bool, model: str | None) -> None:
    """Write a session file: a model with all of its runs in the explorer, or one run.

    MODEL_OR_RUN is the id of a run or of a model, the name of a sample, the path of a model, or a folder that `collage partition --out`
    wrote.
    """
    from importlib import import_module

    save_session = import_module("collage_server.session_file").save_session
    contents = save_session(named, out, with_model=not without_model, run_model=model)
    runs = counted(len(contents.runs), "run")
    model = "the model" if contents.files else f"no model, but its hash {contents.model.id[:12]}"
    say(f"wrote {out}: {runs} and {model}; open it with `collage explore {out}`", err=True)
