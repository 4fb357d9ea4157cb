"""`Source`: how a user names the model of a run. It imports nothing of the engine, since the server reads the table of formats."""

from __future__ import annotations

from pathlib import Path

Source = str | Path | None
"""The user's model: a file or a sample's name; None where it was not said."""
