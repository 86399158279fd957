"""Figures of mclust, as `tests/reference/README.md` describes them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from credpart import select_mixture
from credpart.datasets import load
from credpart.mixture import Selection

DATA = {"iris": "iris", "diabetes": "diabetes", "gvhd": "gvhd-sample"}
FOLDER = Path(__file__).parents[1] / "reference"


@cache
def mclust(name: str) -> dict[str, Any]:
    """The figures for one data set; the table of BIC as a frame, NaN where mclust has no fit."""
    figures = json.loads((FOLDER / f"mclust_{name}.json").read_text())
    table = pd.DataFrame.from_dict(figures["bic"], orient="index", dtype=float)
    figures["bic"] = table.set_index(table.index.astype(int))
    figures["start_labels"] = np.array(figures["start_labels"])
    return figures


@cache
def selection(name: str) -> Selection:
    """Our own selection over the table of mclust, made once."""
    return select_mixture(load(DATA[name]).X, mclust(name)["bic"].index.tolist())
