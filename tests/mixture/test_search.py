import numpy as np
import pytest

from credpart import fit_mixture, select_mixture
from credpart._checks import check_data
from credpart.errors import DegeneracyWarning, DegenerateMixtureError
from credpart.datasets import load, make_mixture3
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.families.gaussian import Gaussian, GaussianParams
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation.em import EMResult, Status, Step, take
from credpart.mixture.search.initialisation import starting_partitions
from credpart.mixture.search.model_grid import (
    BATCH,
    WARM,
    Candidate,
    Race,
    Source,
    batches,
    best,
    find_flaws,
    gather,
    improves,
    run,
    set_up,
)
from credpart.mixture.search.multistart import (
    SHORT,
    Exchange,
    distinct,
    divide,
    follow,
    from_partitions,
    is_spare,
    kin,
    search,
)


def searched(X, numbers, models, **options):
    weights = np.ones(len(X))
    (setting,) = set_up({name: MODELS[name] for name in models}, check_data(X), weights)
    starts = starting_partitions(X, weights, numbers, 4)
    options = {"tol": 1e-9, "max_iter": 2000, **options}
    return setting.family, search(setting, starts, **options)


def candidates(X, cells, labels):
    """Candidates from hard partitions, by number of clusters."""
    rows = {name: MODELS[name] for name in STRUCTURES}
    (setting,) = set_up(rows, check_data(X), np.ones(len(X)))
    made = []
    for c, model in cells:
        resp = (labels[c] == np.arange(c)[:, None]) + 0.0
        statistics = setting.family.statistics(setting.features, resp[None])
        made.append(Candidate((c, model), Source(statistics)))
    return setting, made


@pytest.fixture(scope="module")
def cloud():
    return make_mixture3(100, random_state=0).X


@pytest.fixture(scope="module")
def outcomes(cloud):
    return searched(cloud, [1, 2, 4], list(STRUCTURES))[1]


def spike(seed=2):
    """A round cloud with four points near a line in it, and which they are."""
    rng = np.random.default_rng(seed)
    along = np.array([-0.6, -0.1, 0.3, 0.8])
    cloud = rng.standard_normal((80, 2))
    line = np.column_stack([along, 0.5 * along + 0.2 + 5e-3 * rng.standard_normal(4)])
    return np.vstack([cloud, line]), np.repeat([0, 1], [80, 4])


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
    rng = np.random.default_rng(0)
    along = rng.uniform(-2, 2, 30)
    line = np.column_stack([along, 0.5 * along + 5e-3 * rng.standard_normal(30)])
    X = np.vstack([rng.standard_normal((80, 2)), line])
    fit = fit_mixture(X, 2, "VVV")
    assert fit.status == Status.OK
    assert np.linalg.det(fit.params.covariances).min() < 1e-4
    assert (fit.predict(X[80:]) == fit.predict(X[80:])[0]).mean() > 0.95


def test_cells_side_by_side_are_cells_alone(cloud):
    labels = starting_partitions(cloud, np.ones(100), [1, 2, 4], 1)[0]
    cells = [(c, name) for c in (1, 2, 4) for name in STRUCTURES]
    setting, made = candidates(cloud, cells, labels)
    together = run(setting, made, tol=1e-10, max_iter=3000)
    found = {outcome.cell: outcome for outcome in together}
    assert set(found) == set(cells)
    for candidate in made[::5]:
        alone = run(setting, [candidate], tol=1e-10, max_iter=3000)[0]
        same = found[candidate.cell]
        assert alone.loglik == pytest.approx(same.loglik, rel=1e-8)
        assert alone.mixture.means.shape == same.mixture.means.shape == (1, candidate.cell[0], 2)


def test_batches_depend_on_the_problem_only_and_part_no_cell():
    cells = [(c, name) for c in (3, 1, 2) for name in STRUCTURES]
    made = [
        Candidate((c, name), Source(np.zeros((1, c, 6)))) for _ in range(4) for c, name in cells
    ]
    n = BATCH // 40
    parts = list(batches(made, n))
    assert sum(map(len, parts)) == len(made)
    places = {cell: set() for cell in cells}
    for i, part in enumerate(parts):
        assert len(part) * max(candidate.cell[0] for candidate in part) * n <= BATCH
        for candidate in part:
            places[candidate.cell].add(i)
    assert all(len(found) == 1 for found in places.values())
    assert len(parts) < len(cells)
    numbers = [candidate.cell[0] for part in parts for candidate in part]
    assert numbers == sorted(numbers)
    (whole,) = batches(made[:: len(cells)], BATCH)  # one cell is never parted, however large
    assert len(whole) == 4


def test_runs_are_gathered_from_their_sources():
    one = Source(np.ones((1, 1, 2)))
    other = Source(np.arange(24.0).reshape(2, 6, 2))  # two runs, of three components at most
    other.statistics[:, 3:] = 0.0
    runs = [Candidate((3, "VVV"), other, place) for place in (1, 0)]
    runs.insert(1, Candidate((1, "VVV"), one))
    statistics, params = gather(runs, 4)
    assert params is None
    assert statistics[1].tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    np.testing.assert_array_equal(statistics[[2, 0]], other.statistics[:, :4])


def test_runs_that_go_on_start_from_the_parameters_they_had(outcomes):
    runs = [outcomes[1, "VVV"], outcomes[4, "EEE"]]
    statistics, params = gather(runs, 4)
    for i, old in enumerate(runs):
        c = old.cell[0]
        np.testing.assert_array_equal(statistics[i, :c], old.source.statistics[old.place, :c])
        for found, own in zip(params, old.mixture, strict=True):
            np.testing.assert_array_equal(found[i, :c], own[0])
    assert (statistics[0, 1:, 0] < 1e-290).all()


def test_no_nested_structure_is_better(outcomes):
    for (c, name), outcome in outcomes.items():
        for inner in STRUCTURES[name].nested:
            nested = outcomes[c, inner].loglik
            assert outcome.loglik >= nested - 1e-7 * abs(nested)


def test_all_cells_are_found_and_converged(outcomes):
    assert set(outcomes) == {(c, name) for c in (1, 2, 4) for name in STRUCTURES}
    assert all(outcome.status == Status.OK for outcome in outcomes.values())
    assert not any(outcome.flaw for outcome in outcomes.values())


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


def test_who_is_too_far_behind_gives_up(cloud):
    cells = [(2, "VVV")] * 3 + [(2, "EII")]
    setting, made = candidates(cloud, cells, {2: np.arange(100) % 2})
    race, rows = Race(setting, made), np.arange(4)
    params = setting.family.m_step(gather(made, 2)[0], np.full(4, MODELS["VVV"].variant), None)
    loglik, gains = np.array([-100.0, -120.0, -200.0, -300.0]), np.full(4, 1.0)
    step = Step(params, loglik, np.zeros((4, 1)), np.ones(4, dtype=bool))
    for _ in range(WARM - 1):
        assert not race(rows, step, gains).any()
    assert race(rows, step, gains).tolist() == [False, False, True, False]
    assert not race(rows, step, 4.0 * gains).any()
    # the best is remembered when it has left
    rest = Step(take(params, rows[2:]), loglik[2:], np.zeros((2, 1)), step.valid[2:])
    assert race(rows[2:], rest, gains[2:]).tolist() == [True, False]


def test_the_first_start_goes_on_unless_it_gave_up(outcomes):
    one = outcomes[2, "VVV"]._replace(n_iter=SHORT, status=Status.NOT_CONVERGED)
    first = one._replace(is_first=True)
    assert is_spare(first, SHORT)
    assert is_spare(first._replace(n_iter=3, status=Status.OK), SHORT)
    assert not is_spare(one, SHORT)
    assert not is_spare(first._replace(n_iter=SHORT - 1), SHORT)
    assert not is_spare(first._replace(flaw="a spike"), SHORT)


def test_nobody_gives_up_because_of_a_spike_or_of_what_is_no_mixture(cloud):
    cells = [(2, "VVV")] * 3
    setting, made = candidates(cloud, cells, {2: np.arange(100) % 2})
    statistics = gather(made, 2)[0]
    params = setting.family.m_step(statistics, np.full(3, MODELS["VVV"].variant), None)
    params.flatness[0, 0], params.proportions[0] = 1e4, [0.04, 0.96]
    step = Step(params, np.array([-1.0, -2.0, -900.0]), statistics, np.array([True, False, True]))
    race = Race(setting, made)
    for _ in range(WARM + 1):
        assert not race(np.arange(3), step, np.ones(3)).any()


def test_starts_that_give_up_cost_no_cell(cloud):
    X, n = cloud, [3]
    labels = starting_partitions(X, np.ones(100), n, 4)
    cells = [(3, name) for name in STRUCTURES]
    runs = []
    for start in labels:
        setting, made = candidates(X, cells, start)
        runs += made
    alone = best(run(setting, runs, tol=1e-5, max_iter=SHORT), 1e-5)
    raced = run(setting, runs, is_race=True, tol=1e-5, max_iter=SHORT)
    assert sum(new.n_iter < SHORT and new.status == Status.NOT_CONVERGED for new in raced) > 5
    for cell, new in best(raced, 1e-5).items():
        assert new.loglik == pytest.approx(alone[cell].loglik, abs=0.1)


@pytest.mark.parametrize("seed", [7, 12])
@pytest.mark.parametrize("limit", [10, 22, 40])
def test_what_is_held_in_reserve_may_go_on_at_any_limit(seed, limit):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    fits = select_mixture(X, [3, 4], max_iter=limit).fits
    assert all(fit.n_iter <= limit for fit in fits.values())


def test_where_the_leader_becomes_singular_a_start_that_gave_up_goes_on():
    # a column that is nearly constant: others lead VEI for some steps, and end in a spike
    rng = np.random.default_rng(38)
    d, n, g = (int(rng.integers(*span)) for span in ((1, 6), (60, 130), (1, 4)))
    labels = rng.integers(0, g, n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=(g, d))[labels]
    X[:, -1] = np.where(rng.random(n) < 0.9, 0, X[:, -1])
    assert not {(2, "VEI"), (2, "VEE"), (2, "VEV")} & set(select_mixture(X, [2]).missing)


def test_unflawed_outcome_is_better_than_any_flawed_one(outcomes):
    good = outcomes[2, "VVV"]
    flawed = good._replace(flaw="a spike", loglik=good.loglik + 100.0)
    assert best([flawed, good], 1e-9)[2, "VVV"] is good
    assert best([good, flawed], 1e-9)[2, "VVV"] is good
    assert best([flawed], 1e-9)[2, "VVV"] is flawed
    # of equals the first: rounding does not choose
    twin = good._replace(loglik=good.loglik + 1e-9)
    assert best([good, twin], 1e-9)[2, "VVV"] is good
    assert improves(good._replace(loglik=good.loglik + 1e-3), good, 1e-9)


def test_models_exchange_with_their_neighbours(outcomes):
    exchange = Exchange(MODELS, 1e-9)
    exchange.settle(outcomes.values())
    assert exchange.found == outcomes
    made = exchange.offers()
    # both ways between a structure and those directly nested in it, for each number of clusters
    assert {candidate.cell for candidate in made} == set(outcomes)
    assert len(made) == 3 * 2 * sum(len(STRUCTURES[name].nested) for name in STRUCTURES)
    relatives = kin(MODELS)
    assert "EVV" in relatives["VVV"]
    assert "VVV" in relatives["EVV"]
    assert "EII" not in relatives["VVV"]
    # what has not changed has been tried
    exchange.settle(outcomes.values())
    assert not exchange.offers()


def test_a_refused_cell_takes_and_does_not_give(outcomes):
    exchange = Exchange(MODELS, 1e-9)
    exchange.settle([outcomes[2, "EII"]._replace(flaw="a spike"), outcomes[2, "VII"]])
    assert [candidate.cell for candidate in exchange.offers()] == [(2, "EII")]


def test_offers_wait_until_a_cell_has_found_something(outcomes):
    exchange = Exchange(MODELS, 1e-9)
    exchange.settle([outcomes[2, "EII"]])
    assert not exchange.offers()
    exchange.settle([outcomes[2, "VII"]])
    assert {candidate.cell for candidate in exchange.offers()} == {(2, "EII"), (2, "VII")}
    assert not exchange.offers()


def test_the_next_best_way_gets_its_turn_where_the_best_is_refused(outcomes):
    old = outcomes[2, "VVV"]
    cell = old.cell
    ahead = [old._replace(loglik=old.loglik + gain) for gain in (1.0, 3.0, -1.0, 2.0)]
    exchange = Exchange(MODELS, 1e-9)
    exchange.settle([old])
    exchange.weigh(ahead)
    (first,) = exchange.ways([])
    assert first.loglik == old.loglik + 3.0
    assert exchange.ways([first]) == []  # it is on its way
    exchange.settle([first._replace(flaw="a spike")])
    (second,) = exchange.ways([old._replace(loglik=old.loglik + 1.5)])  # which is behind
    assert second.loglik == old.loglik + 2.0
    exchange.settle([second])  # better than what is left
    assert exchange.ways([]) == []
    assert exchange.found[cell] is second


def test_a_cell_tries_the_answers_of_others_while_a_run_of_it_goes_on(outcomes, monkeypatch):
    old, neighbour = outcomes[2, "VVV"], outcomes[2, "EVV"]
    behind, ahead = (
        old._replace(status=Status.NOT_CONVERGED, loglik=old.loglik + gain) for gain in (-5.0, 1.0)
    )
    trials, windows = [], []

    def play(_setting, runs, *, max_iter, **_limits):
        if max_iter == 1:
            trials.append({candidate.cell for candidate in runs})
            return [ahead if candidate.cell == old.cell else neighbour for candidate in runs]
        windows.append([new.loglik - old.loglik for new in runs])
        status = Status.OK if len(windows) > 1 else Status.NOT_CONVERGED  # two windows each
        return [new._replace(status=status) for new in runs]

    monkeypatch.setattr("credpart.mixture.search.multistart.run", play)
    exchange = Exchange(MODELS, 1e-9, reserve=[old._replace(loglik=old.loglik + 0.5)])
    limits = {"window": 20, "trial": 1, "max_iter": 100}
    follow(None, exchange, [old, behind, neighbour], lambda share: None, **limits)
    assert trials[0] == {neighbour.cell, old.cell}
    # what is in reserve is behind what is on its way
    assert windows[:2] == [pytest.approx([-5.0, 1.0])] * 2
    assert exchange.found[old.cell].loglik == ahead.loglik


def test_of_equal_answers_that_of_the_first_start_is_kept(outcomes):
    other = outcomes[2, "VVV"]._replace(is_first=False)
    first = other._replace(is_first=True, loglik=other.loglik - 1e-8)
    exchange = Exchange(MODELS, 1e-9)
    exchange.settle([other])
    exchange.settle([first])
    assert exchange.answers() == {other.cell: first}
    exchange.settle([other._replace(loglik=other.loglik + 1.0)])
    assert exchange.answers()[other.cell].loglik == other.loglik + 1.0


def test_runs_end_by_converging_or_at_the_limit(outcomes):
    ok = outcomes[2, "VVV"]._replace(n_iter=7)
    crawling, broken = (ok._replace(status=s) for s in (Status.NOT_CONVERGED, Status.DEGENERATE))
    assert divide([ok, crawling, broken], 8) == ([ok, broken], [crawling])
    assert divide([ok, crawling, broken], 7) == ([ok, crawling, broken], [])


def test_the_same_partition_starts_once():
    one, renamed, other = np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0, 1, 1])
    starts = [{1: np.zeros(3, int), 2: one}, {2: renamed}, {1: np.zeros(3, int), 2: other}]
    assert [(rank, c) for rank, c, _ in distinct(starts)] == [(0, 1), (0, 2), (2, 2)]


def test_candidates_of_the_first_partition_are_known(cloud):
    setting, _ = candidates(cloud, [], {})
    starts = starting_partitions(cloud, np.ones(100), [2, 3], 2)
    made = list(from_partitions(setting, starts))
    assert len(made) == 4 * len(STRUCTURES)
    assert [one.is_first for one in made] == [True] * (2 * len(STRUCTURES)) + [False] * (
        2 * len(STRUCTURES)
    )
    sizes = made[0].source.statistics[0, :, 0]
    np.testing.assert_array_equal(sizes, np.bincount(starts[0][2]))


def test_flaws_have_reasons(outcomes, cloud):
    family = Gaussian.of(cloud, ["VVV"])
    params = GaussianParams(*(np.repeat(part, 3, axis=0) for part in outcomes[2, "VVV"].mixture))
    params.flatness[1], params.proportions[1] = [1.0, 1e4], [0.96, 0.04]
    status = np.array([Status.OK, Status.OK, Status.DEGENERATE])
    result = EMResult(params, np.zeros((3, 2, 6)), np.zeros(3), np.ones(3, dtype=int), status)
    assert find_flaws(family, result, 100.0) == {
        1: "a component is a spurious spike (4.0 objects, relative variance 0.0001)",
        2: "a component became singular",
    }


def test_no_cell_of_pairs_of_equal_rows():
    # every component of VVV on two points is singular; equal volumes hold each other up
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 1)), 6, axis=0)
    with (
        pytest.raises(DegenerateMixtureError, match="No mixture of 3 components with model 'V'"),
        pytest.warns(match="20 of 24 rows repeat another row"),
    ):
        fit_mixture(X, 3, "V", regularization="none")


def test_progress_rises_to_one(cloud):
    seen = []
    searched(cloud, [2], ["EII", "VII"], progress=lambda *step: seen.append(step))
    stages, shares = zip(*seen, strict=True)
    assert set(stages) == {"select"}
    assert list(shares) == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0


@pytest.mark.parametrize("limit", [1, SHORT - 1, SHORT + 2])
def test_limit_on_iterations_is_kept(cloud, limit):
    _, found = searched(cloud, [3, 5], ["EII", "VVE", "VVV"], max_iter=limit)
    unfinished = [new for new in found.values() if new.status == Status.NOT_CONVERGED]
    assert unfinished
    assert all(new.n_iter == limit for new in unfinished)
    assert all(new.n_iter <= limit for new in found.values())
