"""Matplotlib, whatever ``MPLBACKEND`` says: imported before any other part of it.

A notebook sets this variable for all programs that it starts, also for those whose environment
lacks its backend.  Matplotlib then cannot be imported at all; pictures in files need no backend.
"""

import os
import sys
from contextlib import suppress


def import_matplotlib() -> None:
    """Import Matplotlib with the backend that the environment names, if there is such a one."""
    if "matplotlib" in sys.modules:
        return
    backend = os.environ.pop("MPLBACKEND", "")
    try:
        import matplotlib as mpl

        if backend:
            with suppress(ValueError):  # no such backend: Matplotlib chooses one that works
                mpl.rcParams["backend"] = backend
    finally:
        if backend:
            os.environ["MPLBACKEND"] = backend


import_matplotlib()
