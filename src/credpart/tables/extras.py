"""Packages that only some files need."""

from importlib import import_module
from typing import Any

from credpart._messages import Part
from credpart.errors import MissingPackageError

OF_THEIR_OWN = {
    "openpyxl": "excel",
    "anndata": "anndata",
    "h5py": "anndata",
}  # extras of one package


def extra(module: str, *what: Part) -> Any:
    """A module of the optional ones that files need."""
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        name = OF_THEIR_OWN.get(package, "io")
        raise MissingPackageError(
            *what, f" needs the package {package}: pip install 'credpart[{name}]'"
        ) from None
