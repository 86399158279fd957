from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from credpart import fit_mixture, select_mixture
from credpart._checks import WeightedTable, check_data
from credpart.datasets import load, make_mixture3
from credpart.errors import DegeneracyWarning, DegenerateMixtureError
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation.convergence import Limits, Status
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.search.grid_search import (
    BATCH,
    FamilySearch,
    RelatedStarts,
    batches_of_numbers,
    distinct_partitions,
    find_flaw,
    grid_search,
    model_sets,
)
from credpart.mixture.search.initialisation import starting_partitions
from credpart.mixture.search.multistart import EarlyStopping, Policy, best_of_slots

LIMITS = Limits(1e-9, 2000)


def sets_of(X, models):
    rows = {name: MODELS[name] for name in models}
    return model_sets(rows, WeightedTable(check_data(X), np.ones(len(X))), rows)


def searched(X, numbers, models, limits=LIMITS, **options):
    starts = starting_partitions(X, numbers, 4)
    return grid_search(sets_of(X, models), starts, limits, **options)


def family_search(X, numbers, models=tuple(STRUCTURES), limits=LIMITS):
    """The search among Gaussian models."""
    (models,) = sets_of(X, models)
    return FamilySearch(models, numbers, limits)


def from_partitions(search, starts):
    """Candidates of all cells from partitions, by number of clusters."""
    family, data = search.problem.family, search.problem.data
    made = []
    for labels in starts:
        for c, model in search.cells:
            resp = 1.0 * (labels[c] == np.arange(c)[:, None])
            made.append(((c, model), family.statistics(data.features, resp[None])))
    return search.begin(made)


def loglik_of(answer):
    return answer.mixture.objective[0]


@pytest.fixture(scope="module")
def cloud():
    return make_mixture3(100, random_state=0).X


@pytest.fixture(scope="module")
def answers(cloud):
    return searched(cloud, [1, 2, 4], list(STRUCTURES))


def spike(seed=2):
    """A round cloud with four points near a line in it, and which they are."""
    rng = np.random.default_rng(seed)
    along = np.array([-0.6, -0.1, 0.3, 0.8])
    cloud = rng.standard_normal((80, 2))
    line = np.column_stack([along, 0.5 * along + 0.2 + 5e-3 * rng.standard_normal(4)])
    return np.vstack([cloud, line]), np.repeat([0, 1], [80, 4])


def test_a_component_without_objects_is_a_flaw(cloud):
    search, labels = family_search(cloud, [2, 3], ["EEE", "VVV"]), np.arange(100) % 2
    # With three clusters the third is empty; with two it is only what pads the batch.
    mixtures = from_partitions(search, [{2: labels, 3: labels}])
    is_empty = np.array([c == 3 for c, _ in search.cells])[mixtures.slot]
    np.testing.assert_array_equal(~search.is_sound(mixtures), is_empty)
    found = search.run([{2: labels, 3: labels}], {})
    for (c, _), answer in found.items():
        assert answer.flaw == ("a component has no objects" if c == 3 else "")
    better = search.run([{2: labels, 3: labels}, {2: labels, 3: np.arange(100) % 3}], {})
    assert not any(answer.flaw for answer in better.values())


MAPS = {
    "as it is": lambda X: X,
    "other units": lambda X: X * 1e9,
    "affine": lambda X: X @ np.array([[3.0, 1.0], [-40.0, 2.0]]) + 1000.0,
}


@pytest.mark.parametrize("change", MAPS)
def test_spurious_spike_is_refused_for_a_lower_likelihood(change):
    X, labels = spike()
    X = MAPS[change](X)
    with pytest.warns(DegeneracyWarning, match=r"In this fit a component is a spurious spike"):
        refused = fit_mixture(X, 2, "VVV", start=labels)
    kept = select_mixture(X, 2, ["VVV"]).best
    assert refused.loglik > kept.loglik + 1.0
    assert kept.status == Status.OK
    assert not kept.family.is_spurious(kept.internal, len(X)).any()


def test_flat_component_that_chance_does_not_explain_is_kept():
    # thirty points on the line: nothing else explains them
    rng = np.random.default_rng(2)
    along = rng.uniform(-2, 2, 30)
    line = np.column_stack([along, 0.5 * along + 5e-3 * rng.standard_normal(30)])
    X = np.vstack([rng.standard_normal((80, 2)), line])
    fit = fit_mixture(X, 2, "VVV")
    assert fit.status == Status.OK
    assert np.linalg.det(fit.params.covariances).min() < 1e-4
    assert (fit.predict(X[80:]) == fit.predict(X[80:])[0]).mean() > 0.95


def test_cells_side_by_side_are_cells_alone(cloud):
    search = family_search(cloud, [1, 2, 4], limits=Limits(1e-10, 3000))
    start = from_partitions(search, starting_partitions(cloud, [1, 2, 4], 1))
    together = maximise(search.problem, start, search.limits)
    assert sorted(together.slot) == list(range(len(search.cells)))
    for i in range(0, len(start), 5):
        c, model = cell = search.cells[start.slot[i]]
        alone = FamilySearch(sets_of(cloud, [model])[0], [c], search.limits)
        labels = starting_partitions(cloud, [c], 1)[0][c]
        found = alone.run_alone(cell, 1.0 * (labels == np.arange(c)[:, None]))
        assert loglik_of(found) == pytest.approx(together.objective[i], rel=1e-8)
        assert found.mixture.params.means.shape == (1, c, 2)


@pytest.mark.parametrize("width", [1, BATCH // 100, BATCH // 12, BATCH])
def test_numbers_of_clusters_are_batched_by_the_size_of_the_problem(width):
    numbers = [1, 2, 3, 5, 8, 9]
    batches = batches_of_numbers(numbers, width)
    assert [c for batch in batches for c in batch] == numbers
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(batch) * width <= BATCH
    for one, other in pairwise(batches):  # none could have been longer
        assert (len(one) + 1) * other[0] * width > BATCH


def test_batches_change_no_answer(cloud, answers, monkeypatch):
    monkeypatch.setattr("credpart.mixture.search.grid_search.BATCH", 1)
    for cell, alone in searched(cloud, [1, 2, 4], list(STRUCTURES)).items():
        assert loglik_of(alone) == pytest.approx(loglik_of(answers[cell]), rel=1e-7)


def test_no_nested_structure_is_better(answers):
    for (c, name), answer in answers.items():
        for inner in STRUCTURES[name].nested:
            nested = loglik_of(answers[c, inner])
            assert loglik_of(answer) >= nested - 1e-7 * abs(nested)


def test_all_cells_are_found_and_converged(answers):
    assert set(answers) == {(c, name) for c in (1, 2, 4) for name in STRUCTURES}
    assert all(answer.mixture.status == Status.OK for answer in answers.values())
    assert not any(answer.flaw for answer in answers.values())


def test_answers_have_the_components_of_their_cells(answers):
    for (c, _), answer in answers.items():
        assert answer.mixture.params.means.shape == (1, c, 2)
        assert answer.mixture.statistics.shape[:2] == (1, c)
        assert (answer.mixture.params.proportions > 0.0).all()


@pytest.mark.parametrize(
    ("data", "cell"),
    [
        ("iris", (7, "VVE")),
        ("iris", (8, "VVV")),
        ("diabetes", (8, "VEE")),
        ("diabetes", (9, "VEE")),
    ],
)
def test_a_run_counts_by_where_it_ends(data, cell):
    # After a few iterations one start leads here, on its way to a spike: the cell takes the best
    # start that ends well, not what the other had before it went astray.
    c, model = cell
    fit = select_mixture(load(data).X, c, [model]).best
    assert fit.status == Status.OK
    again = fit_mixture(load(data).X, c, model, start=fit.posteriors(load(data).X))
    assert again.loglik == pytest.approx(fit.loglik, rel=1e-7)


def test_starts_that_are_given_up_cost_no_cell(cloud):
    search = family_search(cloud, [3])
    start = from_partitions(search, starting_partitions(cloud, [3], 4))
    limits = Limits(1e-5, 2000)
    every = maximise(search.problem, start, limits)
    some = maximise(
        search.problem, start, limits, EarlyStopping(search.is_sound, len(search.cells))
    )
    assert (some.status == Status.NOT_CONVERGED).sum() > 5
    best, kept = (
        found.objective[best_of_slots(Policy(search.is_sound).value(found), found.slot, limits.tol)]
        for found in (every, some)
    )
    np.testing.assert_allclose(kept, best, atol=0.1)


@pytest.mark.parametrize("seed", [7, 12])
@pytest.mark.parametrize("limit", [10, 22, 40])
@pytest.mark.filterwarnings("ignore::credpart.errors.ConvergenceWarning")
def test_iterations_of_the_whole_search_are_limited(seed, limit):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    fits = select_mixture(X, [3, 4], max_iter=limit).fits
    assert all(fit.n_iter <= limit for fit in fits.values())


def test_where_the_leader_becomes_singular_a_start_that_was_given_up_goes_on():
    # a column that is nearly constant: others lead VEI for some steps, and end in a spike
    rng = np.random.default_rng(38)
    d, n, g = (int(rng.integers(*span)) for span in ((1, 6), (60, 130), (1, 4)))
    labels = rng.integers(0, g, n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=(g, d))[labels]
    X[:, -1] = np.where(rng.random(n) < 0.9, 0, X[:, -1])
    assert not {(2, "VEI"), (2, "VEE"), (2, "VEV")} & set(select_mixture(X, [2]).missing)


def test_models_start_from_those_nested_in_them_and_those_they_are_nested_in(cloud):
    search = family_search(cloud, [1, 2])
    found = from_partitions(search, starting_partitions(cloud, [1, 2], 1))
    ended = maximise(search.problem, found, search.limits)
    more_starts = RelatedStarts(search)
    every = more_starts(ended, np.arange(len(search.cells)))
    # both ways, for each number of clusters
    n_pairs = sum(len(row.nested) for row in STRUCTURES.values())
    assert len(every) == 2 * 2 * n_pairs
    assert (every.n_iter == 1).all()
    np.testing.assert_array_equal(every.structure_code, search.codes[every.slot])
    targets = more_starts(ended, np.array([search.cells.index((2, "EVV"))]))
    assert {search.cells[slot] for slot in targets.slot} == {(2, "EVE"), (2, "EEV"), (2, "VVV")}
    assert more_starts(ended, np.zeros(0, dtype=np.intp)) is None


def test_starts_of_smaller_families_are_offered_first(cloud):
    search = family_search(cloud, [2], ["EII", "VII"])
    found = from_partitions(search, [{2: np.arange(100) % 2}])
    more_starts = RelatedStarts(search, found)
    first = more_starts(found, np.array([0]))
    assert first.slot.tolist() == [0, 1, 1]  # both, then VII from the answer of EII
    assert more_starts(found, np.array([0])).slot.tolist() == [1]


def test_the_same_partition_starts_once():
    one, renamed, other = np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0, 1, 1])
    starts = [{1: np.zeros(3, int), 2: one}, {2: renamed}, {1: np.zeros(3, int), 2: other}]
    found = list(distinct_partitions(starts))
    assert [c for c, _ in found] == [1, 2, 2]
    np.testing.assert_array_equal([labels for _, labels in found[1:]], [one, other])


def test_every_model_starts_from_every_partition(cloud):
    search = family_search(cloud, [2, 3], ["EII", "VVV"])
    starts = starting_partitions(cloud, [2, 3], 2)
    made = list(search._partitions(starts))
    assert [cell for cell, _ in made[:4]] == [(2, "EII"), (2, "VVV"), (3, "EII"), (3, "VVV")]
    assert len(made) == 8
    np.testing.assert_array_equal(made[0][1][0, :, 0], np.bincount(starts[0][2]))


def test_flaws_have_reasons(answers):
    problem, one, flaw = answers[2, "VVV"]
    assert find_flaw(problem, one) == flaw == ""
    params = one.params._replace(
        flatness=np.array([[1.0, 1e4]]), proportions=np.array([[0.96, 0.04]])
    )
    assert find_flaw(problem, replace(one, params=params)) == (
        "a component is a spurious spike (4.0 objects, relative variance 0.0001)"
    )
    broken = replace(one, status=np.array([Status.DEGENERATE]))
    assert find_flaw(problem, broken) == "a component became singular"


def test_no_cell_of_pairs_of_equal_rows():
    # every component of VVV on two points is singular; equal volumes hold each other up
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 1)), 6, axis=0)
    with (
        pytest.raises(DegenerateMixtureError, match="No mixture of 3 components with model 'V'"),
        pytest.warns(match="20 of 24 rows repeat another row"),
    ):
        fit_mixture(X, 3, "V", regularization="none")


def test_progress_rises_to_one(cloud, monkeypatch):
    monkeypatch.setattr("credpart.mixture.search.grid_search.BATCH", 1)
    shares = []
    searched(cloud, [1, 2, 3], ["EII", "VII"], progress=lambda _, share: shares.append(share))
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])


@pytest.mark.parametrize("limit", [1, 4, 7])
def test_limit_on_iterations_is_kept(cloud, limit):
    found = searched(cloud, [3, 5], ["EII", "VVE", "VVV"], Limits(1e-9, limit))
    mixtures = [answer.mixture for answer in found.values()]
    unfinished = [new for new in mixtures if new.status == Status.NOT_CONVERGED]
    assert unfinished
    assert all(new.n_iter == limit for new in unfinished)
    assert all(new.n_iter <= limit for new in mixtures)
