"""Packages that only some files need."""

from importlib import import_module
from typing import Any

from credpart._messages import Part
from credpart.errors import MissingPackageError


def extra(module: str, *what: Part) -> Any:
    """A module of the optional ones that files need."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(
            *what, f" needs the package {module.split('.')[0]}: pip install 'credpart[io]'"
        ) from None
