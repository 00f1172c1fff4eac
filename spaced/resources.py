"""Finds the folders that ship beside the code: `schemas`, `workflows` and `service_files`."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

_IN_CHECKOUT: Final = {"service_files": "packaging"}
"""Folders of another name in a checkout; `spaced.packaging` would say something else."""


def folder(name: str) -> Traversable:
    """Return the shipped folder `name`: inside a wheel, or beside the package in a checkout.

    The checkout is tried first: an editable install also leaves a copy of these folders in
    site-packages, and that copy goes stale.
    """
    beside = Path(__file__).parents[1] / _IN_CHECKOUT.get(name, name)
    in_checkout = (Path(__file__).parents[1] / "pyproject.toml").is_file() and beside.is_dir()
    return beside if in_checkout else files("spaced") / name
