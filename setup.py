"""Finds the packages of the wheel: `collage_core`, and `collage_server`, whose folders have other names here (pyproject.toml)."""

from setuptools import find_packages, setup

core = find_packages(include=["collage_core", "collage_core.*"])
server = [name.replace("server", "collage_server", 1) for name in find_packages(include=["server", "server.*"])]
setup(packages=[*core, *server, "collage_server.static", "collage_server.templates"])
