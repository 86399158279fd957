import numpy as np
import pandas as pd
import pytest

from credpart import fit_mixture, select_mixture
from credpart._checks import WeightedTable, check_data
from credpart.datasets import load_iris, make_mixture1, make_mixture3
from credpart.errors import DegenerateMixtureError
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.fit import SearchOptions
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation.convergence import Limits, Status
from credpart.mixture.search.selection import select

from .reference import DATA, mclust, selection

# Cells whose BIC is more than 0.01 above that of mclust; all others equal it.
BETTER = {"iris": 30, "diabetes": 44, "gvhd": 70}


@pytest.fixture(scope="module")
def cloud():
    return make_mixture3(120, random_state=0).X


@pytest.mark.parametrize("data", DATA)
def test_no_cell_is_below_mclust(data):
    ours, theirs = selection(data).table, mclust(data)["bic"]
    assert ours.index.tolist() == theirs.index.tolist()
    assert list(ours) == list(theirs)
    fitted = theirs.notna()
    assert ours.notna()[fitted].all(axis=None)
    gain = (ours - theirs).to_numpy()[fitted]
    assert gain.min() > -0.01
    assert (gain > 0.01).sum() == BETTER[data]
    assert all(fit.status == Status.OK for fit in selection(data).fits.values())


@pytest.mark.parametrize("data", DATA)
def test_saddles_do_not_hold_up_tight_fits(data):
    # GvHD with 9 clusters, EEE: two components coincide; plain EM parts them in 2500 iterations
    assert max(fit.n_iter for fit in selection(data).fits.values()) < 300


@pytest.mark.parametrize("data", DATA)
def test_no_nested_structure_is_better(data):
    fits = selection(data).fits
    for (c, name), fit in fits.items():
        for inner in STRUCTURES[name].nested:
            assert fit.loglik >= fits[c, inner].loglik - 1e-7 * abs(fit.loglik)


@pytest.mark.parametrize("c", [7, 8])
def test_where_the_best_answer_of_others_is_refused_the_next_best_is_tried(c):
    # Iris with 7 clusters: on from EVV's answer VVV becomes singular, on from VEV's it does not
    fits = select_mixture(load_iris().X, c, tol=1e-5).fits
    for inner in STRUCTURES["VVV"].nested:
        assert fits[c, "VVV"].loglik > fits[c, inner].loglik


@pytest.mark.parametrize(
    ("data", "numbers", "expected"),
    [
        ("iris", [3], (3, "VEV")),
        ("iris", [1, 2, 3, 4, 5], (2, "VEV")),
        ("diabetes", [1, 2, 3, 4, 5], (3, "VVV")),
    ],
)
def test_choices_are_those_of_mclust(data, numbers, expected):
    ours, theirs = (
        table.loc[numbers].stack() for table in (selection(data).table, mclust(data)["bic"])
    )
    assert ours.idxmax() == theirs.idxmax() == expected


def test_better_optima_change_the_choice_for_gvhd():
    # Of 5 to 9 clusters mclust takes VVE with 7, BIC -46338.2; with better optima everywhere
    # VEV with 8 is ahead of it.
    best = selection("gvhd").best
    assert mclust("gvhd")["bic"].stack().idxmax() == (7, "VVE")
    assert (best.n_clusters, best.model) == (8, "VEV")
    assert best.bic == pytest.approx(-46265.20, abs=0.5)


def test_table(cloud):
    chosen = select_mixture(cloud, [3, 1], ["VVV", "EII"])
    table = chosen.table
    assert table.index.tolist() == [1, 3]
    assert table.index.name == "n_clusters"
    assert list(table) == ["VVV", "EII"]
    for c in (1, 3):
        for name in ("VVV", "EII"):
            assert table.loc[c, name] == chosen.fits[c, name].bic
            assert (chosen.fits[c, name].n_clusters, chosen.fits[c, name].model) == (c, name)
    assert chosen.best.bic == table.max(axis=None)
    assert chosen.best is chosen.fits[table.stack().idxmax()]
    assert "best by bic" in repr(chosen)
    assert repr(chosen).startswith("Selection(4 fits, 0 missing")


@pytest.mark.parametrize("criterion", ["bic", "icl", "aic"])
def test_criteria(cloud, criterion):
    chosen = select_mixture(cloud, range(1, 5), ["EII", "VVI", "VVV"], criterion)
    fits = chosen.fits.values()
    literal = {
        "bic": lambda fit: 2 * fit.loglik - fit.n_parameters * np.log(120),
        "aic": lambda fit: 2 * fit.loglik - 2 * fit.n_parameters,
        "icl": lambda fit: (
            2 * fit.loglik
            - fit.n_parameters * np.log(120)
            + 2 * np.log(fit.posteriors(cloud).max(axis=1)).sum()
        ),
    }[criterion]
    assert chosen.best.criterion(criterion) == pytest.approx(max(map(literal, fits)))
    for cell, fit in chosen.fits.items():
        assert chosen.table.loc[cell] == pytest.approx(literal(fit))
        assert chosen.tabulate("aic").loc[cell] == pytest.approx(fit.aic)


def test_of_equals_the_one_with_fewest_parameters_is_best(cloud):
    # with one cluster these are one model, up to rounding
    chosen = select_mixture(cloud, 1)
    bic = chosen.table.loc[1]
    assert np.ptp(bic[["EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]]) < 1e-8
    assert np.ptp(bic[["EEI", "VEI", "EVI", "VVI"]]) < 1e-8
    assert np.ptp(bic[["EII", "VII"]]) < 1e-8


def test_selection_is_what_fits_are(cloud):
    chosen = select_mixture(cloud, [2, 3], ["VEI", "EEE"])
    for (c, name), fit in chosen.fits.items():
        assert fit_mixture(cloud, c, name).loglik == pytest.approx(fit.loglik, rel=1e-7)


def test_figures_of_a_fit_do_not_depend_on_what_is_beside_it(cloud):
    weights, rows = np.ones(len(cloud)), np.unique(cloud, axis=0)  # in the order of the sums
    for fit in select_mixture(cloud, [1, 2, 3], ["EII", "EEE", "VVV", "t"]).fits.values():
        assert fit.loglik == weights @ fit.log_density(rows)  # to the last bit
        assert fit.log_certainty == weights @ np.log(fit.posteriors(rows).max(axis=1))


def test_weights_are_repeated_rows(cloud):
    weights = np.random.default_rng(0).integers(0, 3, len(cloud))
    weighted = select_mixture(cloud, [1, 3], ["EII", "VEE"], sample_weight=weights)
    repeated = select_mixture(np.repeat(cloud, weights, axis=0), [1, 3], ["EII", "VEE"])
    np.testing.assert_allclose(weighted.table, repeated.table, rtol=1e-7)


def test_one_column():
    X = np.concatenate([np.linspace(0, 1, 40), np.linspace(10, 14, 40)])[:, None]
    chosen = select_mixture(X, range(1, 4))
    assert list(chosen.table) == ["E", "V"]
    assert (chosen.best.n_clusters, chosen.best.model) == (2, "V")
    # the names of the structures mean the same
    other = select_mixture(X, range(1, 4), ["EII", "VVV"])
    np.testing.assert_allclose(chosen.table, other.table, rtol=1e-8)


def test_auto_is_one_to_nine_and_all_structures():
    chosen = select_mixture(make_mixture1(40, random_state=0).X, "auto", tol=1e-5)
    assert chosen.table.index.tolist() == list(range(1, 10))
    assert list(chosen.table) == list(STRUCTURES)
    assert select_mixture(make_mixture1(30, random_state=0).X, 2, "EII").numbers == (2,)


def test_cells_that_are_missing_say_why():
    # 14 rows in 4 columns carry full covariances of few clusters only
    X = np.random.default_rng(0).standard_normal((14, 4))
    chosen = select_mixture(X, [1, 2, 11, 12], ["EII", "VVI", "EEE", "VVV"])
    assert chosen.table.isna().loc[11, "EEE"]
    assert chosen.table.notna().loc[1].all()
    assert (11, "EEE") not in chosen.fits
    assert chosen.missing[11, "EEE"] == (
        "14 distinct rows cannot carry a full covariance of 4 columns with 11 clusters "
        "(at least 15); the most general model that fits is 'VVI'"
    )
    assert "singular" in chosen.missing[12, "VVI"] or "spike" in chosen.missing[12, "VVI"]
    for cell in chosen.missing:
        assert np.isnan(chosen.table.loc[cell])
    assert len(chosen.fits) + len(chosen.missing) == 16


def test_nothing_can_be_fitted():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [3.0]])
    with pytest.raises(DegenerateMixtureError, match=r"No model could be fitted; .*'V'.*Fit fewer"):
        select_mixture(X, 3, ["V"])


def test_progress(cloud):
    seen = []
    select_mixture(cloud, [1, 2], ["EII"], progress=lambda *step: seen.append(step))
    stages, shares = zip(*seen, strict=True)
    assert set(stages) == {"select"}
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1.0


def test_same_arguments_same_bytes(cloud):
    one, other = (select_mixture(cloud, [2, 4], ["VEE"], n_starts=6) for _ in range(2))
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)


def test_names_of_columns_are_kept():
    data = load_iris().X
    best = select_mixture(data, 3, ["EII"]).best
    assert best.names == list(data)


def test_a_fit_with_a_cluster_that_no_object_is_in_is_no_start():
    X = np.random.default_rng(2).standard_normal((40, 1))
    like = fit_mixture(X, 2, "t")
    assert set(like.predict(X)) == {1}
    data, options = WeightedTable(check_data(X), np.ones(40)), SearchOptions.check(Limits(), 1, 0)
    rows = {name: MODELS[name] for name in ("E", "V")}
    found = select(data, [2], rows, options, "bic", like=like)
    without = select(data, [2], rows, options, "bic")
    for cell, fit in without.fits.items():
        assert found.fits[cell].params.proportions.min() > 0.0
        assert found.fits[cell].loglik == fit.loglik
