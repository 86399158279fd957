from typing import NamedTuple

import numpy as np
import pytest

from credpart import fit_mixture, select_mixture
from credpart.datasets import load_iris
from credpart.mixture.notebook import components

PAYLOADS = ["<script>alert(1)</script>", "</td><img src=x onerror=alert(1)>", "a & b", "&lt;"]
IRIS = load_iris().X.set_axis(PAYLOADS, axis=1)


def test_a_fit_shows_its_components():
    fit = fit_mixture(load_iris().X, 3, "EII")
    html = fit._repr_html_()
    assert repr(fit) in html
    assert "means: petal_width" in html
    assert f"{fit.params.means[2, 3]:.4g}" in html


def test_a_selection_shows_its_best_cell_and_what_is_missing():
    selection = select_mixture(load_iris().X.iloc[:12], range(1, 9), ["EII", "VVV"])
    html = selection._repr_html_()
    assert html.count("<strong>") == 1
    best = selection.table.loc[selection.best.n_clusters, selection.best.model]
    assert f"<strong>{best:.1f}</strong>" in html
    assert f"{len(selection.missing)} not fitted" in html
    assert html.count("<li>") == len(selection.missing) > 0


@pytest.mark.parametrize(
    "value", [fit_mixture(IRIS, 2, "EII"), select_mixture(IRIS, 2, ["EII", "VII"])]
)
def test_html_is_escaped(value):
    html = value._repr_html_()
    for sign in ("<script", "<img"):
        assert sign not in html


def test_parameters_of_any_family_are_shown():
    class Params(NamedTuple):
        proportions: np.ndarray
        locations: np.ndarray
        scales: np.ndarray
        dof: np.ndarray

    table = components(
        Params(np.ones(2), np.zeros((2, 2)), np.ones((2, 2, 2)), np.array([3, 4])), None
    )
    assert table.columns.to_list() == ["proportions", "locations: 0", "locations: 1", "dof"]
    assert table["dof"].to_list() == [3, 4]
    assert table.index.to_list() == [1, 2]
