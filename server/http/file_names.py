"""`plain_name`: names of downloads without what a file's name cannot have."""

from __future__ import annotations


def plain_name(name: str) -> str:
    """Return a model's name with ASCII letters, digits, ``-`` and ``_`` alone, at most 60 of them; "model" where nothing is left."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)[:60] or "model"
