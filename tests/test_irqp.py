from itertools import permutations
from pathlib import Path

import daqp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from credpart._irqp import irqp, row_masses
from credpart._irqp.descent import AllPairs, extrapolate, sweep
from credpart._irqp.restarts import CLEAR, is_symmetric, matching_columns, mean_length
from credpart._irqp.starting_masses import from_posteriors, matching_numbers
from credpart.errors import ConvergenceWarning
from credpart.focal import cluster_similarity, disjoint_matrix, focal_sets, same_matrix
from credpart.intervals import PairwiseIntervals, pairwise_intervals
from credpart.partition import EvidentialPartition

REFERENCE = np.load(Path(__file__).parent / "reference" / "irqp_iris.npz")


def posteriors(n, c, distance, seed=0, B=40):
    """Probabilities of normal clusters on a circle, whose centres and scales are uncertain."""
    rng = np.random.default_rng(seed)
    angles = 2.0 * np.pi * np.arange(c) / c
    radius = distance / (2.0 * np.sin(np.pi / c)) if c > 1 else 0.0
    centres = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    X = centres[rng.integers(c, size=n)] + rng.normal(size=(n, 2))
    moved = centres + 0.2 * rng.normal(size=(B, 1, c, 2))
    scale = np.exp(0.3 * rng.normal(size=(B, 1, c)))
    squares = ((X[:, None] - moved) ** 2).sum(axis=-1)
    return softmax(-0.5 * squares / scale - np.log(scale), axis=-1)


def example(n, c, distance, seed=0):
    return pairwise_intervals(posteriors(n, c, distance, seed), level=0.9)


@st.composite
def any_intervals(draw, smallest=2, largest=12):
    n = draw(st.integers(smallest, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bounds = np.sort(rng.random((n * (n - 1) // 2, 2)), axis=1)
    rounded = np.round(bounds, draw(st.sampled_from([0, 1, 16])))  # certain, tied, neither
    return PairwiseIntervals(rounded[:, 0], rounded[:, 1], level=0.9)


@st.composite
def families(draw):
    c = draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["singletons", "pairs", "full"]))
    return focal_sets(c, kind, omega=draw(st.booleans()))


def literal_objective(intervals, partition):
    # Eq. (2)-(3) and (8), pair by pair and set by set.
    M, F = partition.masses.tolist(), partition.focal_sets
    total, pair = 0.0, 0
    singletons = [k for k in range(len(F)) if F[k].sum() == 1]
    meeting = [(k, g) for k in range(len(F)) for g in range(len(F)) if (F[k] & F[g]).any()]
    for i in range(len(M)):
        for j in range(i + 1, len(M)):
            belief = sum(M[i][k] * M[j][k] for k in singletons)
            plausibility = sum(M[i][k] * M[j][g] for k, g in meeting)
            total += (belief - intervals.lower[pair]) ** 2
            total += (plausibility - intervals.upper[pair]) ** 2
            pair += 1
    return total


def literal_row(i, intervals, partition):
    # Eq. (13) and (16)-(18) as printed, Kronecker products and all.
    M, focal = partition.masses, partition.focal_sets
    lower, upper = intervals.square()
    B = np.vstack([same_matrix(focal), disjoint_matrix(focal)])
    A = {j: np.kron(np.eye(2), M[j]) for j in range(len(M)) if j != i}
    target = {j: np.array([lower[i, j], 1.0 - upper[i, j]]) for j in A}
    Q = B.T @ sum(A[j].T @ A[j] for j in A) @ B
    u = -2.0 * sum(target[j] @ A[j] for j in A) @ B
    return Q, u, sum(target[j] @ target[j] for j in A)


def daqp_minimum(Q, u):
    f = len(u)
    upper, lower = np.append(np.full(f, 1e30), 1.0), np.append(np.zeros(f), 1.0)
    equality = np.append(np.zeros(f, dtype=np.int32), np.int32(5))
    x = daqp.solve(2.0 * Q, u.copy(), np.ones((1, f)), upper, lower, equality, primal_tol=1e-12)[0]
    x = np.maximum(x, 0.0) / np.maximum(x, 0.0).sum()
    return x @ Q @ x + u @ x


def pairs_of(intervals, focal, weights=None):
    n = intervals.n_objects
    forms = np.stack([same_matrix(focal), disjoint_matrix(focal)])
    values = np.stack([squareform(intervals.lower), 1.0 - squareform(intervals.upper)])
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    own = 0.0 if intervals.own_lower is None else [intervals.own_lower, 1.0 - intervals.own_upper]
    values[:, range(n), range(n)] = np.where(weights > 1.0, own, 0.0)
    return AllPairs(forms, values, weights)


def relabelled(masses, focal):
    """The masses under every numbering of the clusters."""
    for order in permutations(range(focal.shape[1])):
        moved = focal[:, order]
        columns = [int(np.flatnonzero((moved == row).all(axis=1))[0]) for row in focal]
        yield masses[:, columns]


STARTS_ON_IRIS = [{}] + [{"start": "random", "random_state": seed} for seed in range(5)]


@pytest.mark.parametrize("options", STARTS_ON_IRIS)
def test_iris_reaches_the_reference_from_any_start(options):
    intervals = PairwiseIntervals(REFERENCE["lower"], REFERENCE["upper"], level=0.9)
    focal = focal_sets(3, "pairs")
    np.testing.assert_array_equal(focal, REFERENCE["focal"])
    result = irqp(intervals, focal, **options)
    assert result.objective == pytest.approx(float(REFERENCE["objective"]), abs=1e-10)
    errors = [
        np.abs(M - REFERENCE["masses"]).max() for M in relabelled(result.partition.masses, focal)
    ]
    assert min(errors) < 1e-8
    assert result.converged
    assert result.n_sweeps < 25


CASES = {
    "two clusters": (example(60, 2, 2.0), focal_sets(2, "pairs")),
    "two far clusters": (example(40, 2, 20.0), focal_sets(2, "pairs")),
    "one cluster": (example(20, 1, 0.0), focal_sets(1)),
    "omega": (example(60, 3, 2.5), focal_sets(3, "pairs", omega=True)),
    "full": (example(60, 4, 3.0), focal_sets(4, "full")),
    "singletons": (example(60, 3, 3.0), focal_sets(3, "singletons")),
    "far apart": (example(80, 4, 20.0), focal_sets(4, "pairs")),
    "far apart, full": (example(80, 4, 20.0), focal_sets(4, "full")),
    "no singletons": (example(30, 3, 2.5), focal_sets(3, [[1, 1, 0], [0, 1, 1], [1, 0, 1]])),
    "two objects": (PairwiseIntervals([0.2], [0.6], level=0.9), focal_sets(3, "pairs")),
}


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_the_optimum_of_its_literal_program(name):
    intervals, focal = CASES[name]
    result = irqp(intervals, focal)
    M = result.partition.masses
    for i in range(len(M)):
        Q, u, _ = literal_row(i, intervals, result.partition)
        gradient = 2.0 * Q @ M[i] + u
        assert gradient[M[i] > 0.0].max() - gradient.min() < 1e-8
        assert M[i] @ Q @ M[i] + u @ M[i] == pytest.approx(daqp_minimum(Q, u), abs=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_objective_is_the_literal_one(name):
    intervals, focal = CASES[name]
    result = irqp(intervals, focal, start="random", random_state=0)
    literal = literal_objective(intervals, result.partition)
    assert result.objective == pytest.approx(literal, rel=1e-12, abs=1e-12)
    assert result.history[-1] == result.objective
    assert len(result.history) == result.n_sweeps


def test_clusters_far_apart_are_certain():
    for name in ("far apart", "far apart, full", "two far clusters"):
        result = irqp(*CASES[name])
        assert result.objective == pytest.approx(0.0, abs=1e-12)
        assert result.partition.masses.max(axis=1).min() > 1.0 - 1e-6
        assert result.n_sweeps < 10


def test_one_cluster_has_one_answer():
    result = irqp(*CASES["one cluster"])
    np.testing.assert_array_equal(result.partition.masses, 1.0)
    assert result.objective == pytest.approx(0.0, abs=1e-12)


def test_one_object_fits_anything():
    result = irqp(PairwiseIntervals([], [], level=0.9), focal_sets(2))
    assert result.objective == 0.0
    assert result.partition.masses.shape == (1, 3)


def test_two_objects_that_must_part_do_not_chase_each_other():
    # From the same cluster both would move to the other one, for ever.
    intervals = PairwiseIntervals([0.0], [0.0], level=0.9)
    result = irqp(intervals, focal_sets(2), start=[0, 0])
    assert result.objective == pytest.approx(0.0, abs=1e-15)


def test_a_block_that_would_not_lower_the_objective_is_halved():
    # Objects 0 and 1, of one block, must part; all else is vacuous, and gets the set of all.
    apart = np.zeros((8, 8))
    apart[0, 1] = apart[1, 0] = 1.0
    focal = focal_sets(2)
    forms = np.stack([same_matrix(focal), disjoint_matrix(focal)])
    pairs = AllPairs(forms, np.stack([np.zeros((8, 8)), apart]), np.ones(8))
    M, drop, _ = sweep(pairs, np.eye(3)[[0, 0, 2, 2, 2, 2, 2, 2]])
    assert drop == pytest.approx(2.0)  # together and not apart, before
    assert pairs.objective(M) == pytest.approx(0.0, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(intervals=any_intervals(), focal=families(), seed=st.integers(0, 5))
def test_sweeps_never_raise_the_objective(intervals, focal, seed):
    result = irqp(intervals, focal, start="random", n_starts=1, random_state=seed)
    assert (np.diff(result.history) <= 0.0).all()
    assert result.converged
    literal = literal_objective(intervals, result.partition)
    assert result.objective == pytest.approx(literal, rel=1e-10, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(intervals=any_intervals(), focal=families(), seed=st.integers(0, 100))
def test_a_sweep_knows_by_how_much_it_lowers_the_objective(intervals, focal, seed):
    pairs = pairs_of(intervals, focal)
    rng = np.random.default_rng(seed)
    M = rng.dirichlet(np.ones(len(focal)), size=intervals.n_objects)
    path = []
    for _ in range(3):
        before, J = M, pairs.objective(M)
        M, drop, _ = sweep(pairs, before)
        path.append((before, M))
        assert drop >= 0.0
        assert pairs.objective(M) == pytest.approx(J - drop, abs=1e-11)
    beyond, gain = extrapolate(pairs, path)
    assert gain >= 0.0
    assert pairs.objective(beyond) == pytest.approx(pairs.objective(M) - gain, abs=1e-11)
    assert (beyond >= 0.0).all()
    np.testing.assert_allclose(beyond.sum(axis=1), 1.0, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(intervals=any_intervals(), focal=families(), seed=st.integers(0, 100))
def test_row_problems_are_those_printed(intervals, focal, seed):
    n = intervals.n_objects
    M = np.random.default_rng(seed).dirichlet(np.ones(len(focal)), size=n)
    Q, u = pairs_of(intervals, focal).row_problems(M, M.T @ M, slice(0, n))
    for i in range(n):
        literal_Q, literal_u, _ = literal_row(i, intervals, EvidentialPartition(M, focal))
        np.testing.assert_allclose(Q[i], literal_Q, atol=1e-12)
        np.testing.assert_allclose(u[i], literal_u, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 100), step=st.floats(0.0, 1.0))
def test_line_coefficients_are_those_of_the_objective(seed, step):
    rng = np.random.default_rng(seed)
    forms, values = rng.normal(size=(2, 5, 5)), rng.normal(size=(2, 9, 9))
    values[:, range(9), range(9)] = 0.0
    pairs = AllPairs(forms + forms.mT, values + values.mT, np.ones(9))
    M, goal = rng.dirichlet(np.ones(5), size=(2, 9))
    coefficients = pairs.line_coefficients(M, goal - M)
    change = pairs.objective(M + step * (goal - M)) - pairs.objective(M)
    assert np.polynomial.Polynomial(coefficients)(step) == pytest.approx(change, abs=1e-9)


@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 1000))
def test_order_of_objects_and_numbers_of_clusters_do_not_matter(seed):
    intervals = example(50, 3, 2.5)
    focal = focal_sets(3, "pairs")
    J = irqp(intervals, focal).objective
    rng = np.random.default_rng(seed)
    order = rng.permutation(50)
    lower, upper = (squareform(bound) for bound in (intervals.lower, intervals.upper))
    shuffled = PairwiseIntervals(
        squareform(lower[np.ix_(order, order)]), squareform(upper[np.ix_(order, order)]), level=0.9
    )
    assert irqp(shuffled, focal[rng.permutation(6)]).objective == pytest.approx(J, abs=1e-8)


def test_chosen_pairs_of_many_clusters():
    P = posteriors(90, 20, 4.0)
    labels = P.mean(axis=0).argmax(axis=1)
    focal = focal_sets(20, "overlapping", similarity=cluster_similarity(P.mean(axis=0)))
    intervals = pairwise_intervals(P, level=0.9)
    result = irqp(intervals, focal, start=labels)
    assert (result.partition.labels == labels).mean() > 0.9
    # Without labels the clusters must be numbered as the pairs ask for.
    without = irqp(intervals, focal)
    random = irqp(intervals, focal, start="random", n_starts=1, random_state=0)
    assert without.objective < random.objective


def test_clusters_are_numbered_so_that_neighbours_share_focal_sets():
    # Clusters in a row, 0-3-1-2, and the pairs {0,1}, {1,2}, {2,3}.
    row = [0, 3, 1, 2]
    near = np.zeros((4, 4))
    near[row] = np.eye(4) + np.diag([0.5, 0.4, 0.5], 1)
    numbers = matching_numbers(near, focal_sets(4, "pairs", pairs=[[0, 1], [1, 2], [2, 3]]))
    assert numbers[row].tolist() in ([0, 1, 2, 3], [3, 2, 1, 0])


def test_same_seed_same_bytes_for_any_number_of_threads():
    intervals = example(70, 3, 2.5)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(irqp(intervals, focal_sets(3), start="random", random_state=3))
    assert found[0].partition.masses.tobytes() == found[1].partition.masses.tobytes()
    assert found[0].history.tobytes() == found[1].history.tobytes()


def test_a_start_at_the_answer_stays_there():
    intervals, focal = CASES["omega"]
    first = irqp(intervals, focal)
    again = irqp(intervals, focal, start=first.partition.masses)
    assert again.n_sweeps == 1
    np.testing.assert_allclose(again.partition.masses, first.partition.masses, atol=1e-8)


def test_a_loose_tolerance_stops_early():
    intervals, focal = CASES["full"]
    rough, exact = irqp(intervals, focal, tol=1e-3), irqp(intervals, focal)
    assert rough.converged
    assert rough.n_sweeps < exact.n_sweeps
    assert rough.objective == pytest.approx(exact.objective, rel=1e-2)


def test_the_limit_on_sweeps_is_told():
    intervals, focal = CASES["full"]
    with pytest.warns(ConvergenceWarning, match="had not converged after 2 sweeps"):
        result = irqp(intervals, focal, max_sweeps=2)
    assert not result.converged
    assert result.n_sweeps == 2


@pytest.mark.parametrize("name", CASES)
def test_masses_of_a_new_object_are_the_optimum_of_its_literal_program(name):
    intervals, focal = CASES[name]
    result = irqp(intervals, focal)
    lower, upper = intervals.square()
    n = intervals.n_objects
    known = EvidentialPartition(result.partition.masses[1:], focal)
    masses = row_masses(known, lower[:1, 1:], upper[:1, 1:])
    Q, u, _ = literal_row(0, intervals, result.partition)
    assert masses.shape == (1, len(focal))
    assert masses[0] @ Q @ masses[0] + u @ masses[0] == pytest.approx(
        daqp_minimum(Q, u), abs=1e-8 * n
    )


def test_new_objects_are_independent_of_each_other():
    intervals, focal = CASES["full"]
    partition = irqp(intervals, focal).partition
    lower = np.random.default_rng(0).random((300, 60)) / 2.0
    together = row_masses(partition, lower, lower + 0.2)
    apart = np.vstack([row_masses(partition, row[None], row[None] + 0.2) for row in lower[:5]])
    np.testing.assert_allclose(together[:5], apart, atol=1e-8)
    assert row_masses(partition, lower[:0], lower[:0]).shape == (0, len(focal))


# Weights.


@st.composite
def weighted_problems(draw):
    """Posteriors (B, n, c), whole weights, and focal sets."""
    n, c = draw(st.integers(4, 14)), draw(st.integers(2, 4))
    seed = draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    P = posteriors(n, c, draw(st.floats(1.0, 4.0)), seed)
    weights = rng.integers(1, 5, size=n)
    kind = draw(st.sampled_from(["singletons", "pairs", "full"]))
    return P, weights, focal_sets(c, kind, omega=draw(st.booleans()))


@settings(deadline=None, max_examples=40)
@given(problem=weighted_problems(), seed=st.integers(0, 100))
def test_a_weighted_row_problem_is_that_of_one_copy_among_repeated_objects(problem, seed):
    P, weights, focal = problem
    pairs = pairs_of(pairwise_intervals(P), focal, weights)
    n, rng = len(weights), np.random.default_rng(seed)
    M = rng.dirichlet(np.ones(len(focal)), size=n)
    Q, u = pairs.row_problems(M, (weights[:, None] * M).T @ M, slice(0, n))
    many = pairwise_intervals(P.repeat(weights, axis=1))
    repeated = EvidentialPartition(M.repeat(weights, axis=0), focal)
    for i, copy in enumerate(np.cumsum(weights) - 1):
        literal_Q, literal_u, _ = literal_row(copy, many, repeated)
        np.testing.assert_allclose(Q[i], literal_Q, atol=1e-10)
        np.testing.assert_allclose(u[i], literal_u, atol=1e-10)
    assert pairs.objective(M) == pytest.approx(literal_objective(many, repeated), rel=1e-12)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000), c=st.integers(2, 4), largest=st.sampled_from([2, 3, 10]))
def test_a_weight_of_2_is_the_object_twice(seed, c, largest):
    P = posteriors(40, c, 2.5, seed)
    weights = np.random.default_rng(seed).integers(1, largest + 1, size=40)
    focal = focal_sets(c, "pairs")
    start = from_posteriors(P.mean(axis=0), focal)
    few = irqp(pairwise_intervals(P), focal, sample_weight=weights, start=start, n_starts=1)
    many = irqp(
        pairwise_intervals(P.repeat(weights, axis=1)),
        focal,
        start=start.repeat(weights, axis=0),
        n_starts=1,
    )
    assert few.objective == pytest.approx(many.objective, rel=1e-10)
    np.testing.assert_allclose(
        few.partition.masses.repeat(weights, axis=0), many.partition.masses, atol=1e-6
    )


@settings(deadline=None, max_examples=40)
@given(problem=weighted_problems(), seed=st.integers(0, 100), scale=st.floats(0.1, 30.0))
def test_a_weighted_sweep_knows_by_how_much_it_lowers_the_objective(problem, seed, scale):
    P, _, focal = problem
    n, rng = P.shape[1], np.random.default_rng(seed)
    pairs = pairs_of(pairwise_intervals(P), focal, scale * rng.exponential(size=n) + 1e-3)
    M = rng.dirichlet(np.ones(len(focal)), size=n)
    path, accuracy = [], 1e-13 * pairs.weights.sum() ** 2
    for _ in range(3):
        before, J = M, pairs.objective(M)
        M, drop, _ = sweep(pairs, before)
        path.append((before, M))
        assert drop >= 0.0
        assert pairs.objective(M) == pytest.approx(J - drop, abs=accuracy)
    beyond, gain = extrapolate(pairs, path)
    assert gain >= 0.0
    assert pairs.objective(beyond) == pytest.approx(pairs.objective(M) - gain, abs=accuracy)


def test_the_step_of_a_heavy_object_is_halved_until_the_objective_falls():
    # Copies of one object, which should be in one cluster with probability 1/2, and apart else.
    # One copy alone moves to where it is right beside the others; together they go too far.
    intervals = PairwiseIntervals([0.5], [0.5], 0.9, own_lower=[0.5, 0.5], own_upper=[0.5, 0.5])
    start = [[0.1, 0.9], [0.5, 0.5]]
    focal = focal_sets(2, "singletons")
    result = irqp(intervals, focal, sample_weight=[1000, 1], start=start)
    assert (np.diff(result.history) <= 0.0).all()
    np.testing.assert_allclose(result.partition.masses, 0.5, atol=1e-6)


def test_equal_weights_of_at_most_1_change_nothing():
    P = posteriors(30, 3, 2.5)
    plain = irqp(pairwise_intervals(P), focal_sets(3))
    light = irqp(pairwise_intervals(P), focal_sets(3), sample_weight=np.full(30, 0.5))
    assert light.objective == pytest.approx(0.25 * plain.objective)
    np.testing.assert_allclose(light.partition.masses, plain.partition.masses, atol=1e-8)


def test_without_weights_or_with_weights_of_1_the_bytes_are_the_same():
    P = posteriors(30, 3, 2.5)
    plain = irqp(pairwise_intervals(P), focal_sets(3)).partition.masses
    ones = irqp(pairwise_intervals(P), focal_sets(3), sample_weight=np.ones(30)).partition.masses
    assert plain.tobytes() == ones.tobytes()


def test_an_object_without_weight_is_a_new_object():
    P, focal = posteriors(30, 3, 2.5), focal_sets(3)
    weights = np.repeat([1.0, 0.0, 2.0], 10)
    kept = weights > 0.0
    result = irqp(pairwise_intervals(P), focal, sample_weight=weights)
    others = irqp(pairwise_intervals(P[:, kept]), focal, sample_weight=weights[kept])
    assert result.partition.masses[kept].tobytes() == others.partition.masses.tobytes()
    assert result.objective == others.objective
    lower, upper = (bound[np.ix_(~kept, kept)] for bound in pairwise_intervals(P).square())
    new = row_masses(others.partition, lower, upper, sample_weight=weights[kept])
    np.testing.assert_allclose(result.partition.masses[~kept], new, atol=1e-9)


def test_new_objects_see_weighted_objects_as_repeated_ones():
    intervals, focal = CASES["full"]
    M = irqp(intervals, focal).partition.masses
    rng = np.random.default_rng(0)
    lower, weights = rng.random((20, 60)) / 2.0, rng.integers(0, 4, size=60)
    weighted = row_masses(EvidentialPartition(M, focal), lower, lower + 0.2, sample_weight=weights)
    lower = lower.repeat(weights, axis=1)
    repeated = row_masses(EvidentialPartition(M.repeat(weights, axis=0), focal), lower, lower + 0.2)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("start", ["prototypes", "random", "given"])
def test_copies_in_rows_in_any_order_are_weights_to_the_bit(start):
    P, focal = posteriors(30, 3, 2.5), focal_sets(3)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=30)
    rows = rng.permutation(np.arange(30).repeat(np.maximum(weights, 1)))
    begin = rng.dirichlet(np.ones(len(focal)), size=30)
    few, many = (begin, begin[rows]) if start == "given" else (start, start)
    once = irqp(pairwise_intervals(P), focal, sample_weight=weights, start=few)
    found = irqp(
        pairwise_intervals(P[:, rows]),
        focal,
        sample_weight=np.minimum(weights, 1)[rows],
        objects=rows,
        start=many,
    )
    assert found.partition.masses.tobytes() == once.partition.masses[rows].tobytes()
    assert found.objective == once.objective


def test_weights_above_1_need_the_bounds_of_copies():
    intervals, focal = CASES["two objects"]
    message = r"`intervals` must have `own_lower` .* and a weight of 2 in row 1"
    with pytest.raises(ValueError, match=message):
        irqp(intervals, focal, sample_weight=[1, 2])
    irqp(intervals, focal, sample_weight=[1, 0.5])


# Several starts.


def uncertain(seed, n=12, c=3):
    """Posteriors and intervals of objects without clear clusters, for which J has local minima."""
    rng = np.random.default_rng(seed)
    centres = rng.dirichlet(np.full(c, 0.3), size=n)
    P = np.array([[rng.dirichlet(3.0 * one + 0.02) for one in centres] for _ in range(20)])
    return P, pairwise_intervals(P)


def test_more_starts_find_a_lower_minimum_where_the_intervals_are_long():
    _, intervals = uncertain(0)
    focal = focal_sets(3)
    assert intervals.length.mean() > CLEAR
    one, several = irqp(intervals, focal, n_starts=1), irqp(intervals, focal)
    random = [
        irqp(intervals, focal, start="random", n_starts=1, random_state=seed) for seed in range(3)
    ]
    assert several.objective < 0.99 * one.objective
    assert several.objective == pytest.approx(min(r.objective for r in random))
    assert several.objective == pytest.approx(literal_objective(intervals, several.partition))
    assert several.n_starts > one.n_starts == 1
    assert several.history[-1] == several.objective


def test_one_start_is_enough_where_the_intervals_are_clear():
    intervals = PairwiseIntervals(REFERENCE["lower"], REFERENCE["upper"], level=0.9)
    assert irqp(intervals, focal_sets(3)).n_starts == 1
    assert irqp(intervals, focal_sets(3), n_starts=3).n_starts == 3


def test_the_first_start_is_kept_where_no_other_is_better():
    intervals, focal = CASES["omega"]
    first, best = irqp(intervals, focal, n_starts=1), irqp(intervals, focal, n_starts=4)
    assert best.partition.masses.tobytes() == first.partition.masses.tobytes()


def test_the_clusters_of_the_best_start_are_numbered_as_in_the_given_one():
    _, intervals = uncertain(0)
    focal = focal_sets(3)
    best = irqp(intervals, focal)
    # A start that leads to the worse minimum, with every numbering of the clusters.
    for masses in relabelled(irqp(intervals, focal, n_starts=1).partition.masses, focal):
        found = irqp(intervals, focal, start=masses, n_starts=6)
        assert found.objective == pytest.approx(best.objective)
        given_ = EvidentialPartition(masses, focal).pignistic
        agreement = given_.T @ found.partition.pignistic
        orders = [sum(agreement[k, order[k]] for k in range(3)) for order in permutations(range(3))]
        assert np.trace(agreement) == pytest.approx(max(orders))


def test_a_renumbering_that_the_focal_sets_do_not_allow_is_left_out():
    focal = focal_sets(3, "pairs", pairs=[[0, 1]])  # {0}, {1}, {2}, {0, 1}
    M = np.array([[0.6, 0.0, 0.0, 0.4], [0.0, 0.7, 0.0, 0.3], [0.0, 0.0, 1.0, 0.0]])
    ones = np.ones(3)
    assert matching_columns(M, focal, np.eye(4)[[1, 0, 2]], ones) == [1, 0, 2, 3]
    assert matching_columns(M, focal, np.eye(4)[[2, 1, 0]], ones) is None


def test_pairs_of_given_clusters_allow_one_start_only():
    # Other starts number the clusters differently, and the chosen pairs become other pairs.
    P, intervals = uncertain(0)
    labels = P.mean(axis=0).argmax(axis=1)
    chosen = focal_sets(3, "pairs", pairs=[[0, 1]])
    assert irqp(intervals, chosen, start=labels).n_starts == 1
    assert irqp(intervals, chosen).n_starts > 1
    assert irqp(intervals, focal_sets(3), start=labels).n_starts > 1


@pytest.mark.parametrize("kind", ["singletons", "pairs", "full"])
def test_families_that_treat_all_clusters_alike(kind):
    for omega in (False, True):
        assert is_symmetric(focal_sets(4, kind, omega=omega))
    assert not is_symmetric(focal_sets(4, "pairs", pairs=[[0, 1], [2, 3]]))


def test_the_mean_length_is_that_of_repeated_objects():
    P, _ = uncertain(0)
    weights = np.r_[30, np.ones(11, dtype=int)]
    pairs = pairs_of(pairwise_intervals(P), focal_sets(3), weights)
    repeated = pairwise_intervals(P.repeat(weights, axis=1))
    assert mean_length(pairs) == pytest.approx(repeated.length.mean())


def test_the_result_is_read_only():
    result = irqp(*CASES["two objects"])
    for array in (result.history, result.partition.masses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "hot"}, r"`start` must be one of 'prototypes', 'random', got 'hot'"),
        ({"start": [0, 3]}, r"`start` must be in 0\.\.2, got 3 in row 1"),
        ({"start": [0]}, r"`start` must be 2 integers if it is 1-D, got 1 of int64"),
        ({"start": [0.5, 0.5]}, r"`start` must be 2 integers if it is 1-D, got 2 of float64"),
        ({"start": np.eye(2)}, r"`start` must have shape \(2,\) or \(2, 6\), got \(2, 2\)"),
        ({"start": np.ones((2, 6))}, r"`start` must have rows summing to 1"),
        ({"tol": 0.0}, r"`tol` must be a number in the open interval"),
        ({"n_starts": 0}, r"`n_starts` must be 'auto' or an integer >= 1, got 0"),
        ({"n_starts": "many"}, r"`n_starts` must be 'auto' or an integer >= 1, got 'many'"),
        ({"sample_weight": [1, -1]}, r"`sample_weight` must be finite, non-negative"),
        ({"objects": [0]}, r"`objects` must be 2 integers, got shape \(1,\) of int"),
        (
            {"objects": [0, 2]},
            r"`objects` must number .* got 2 numbers from 0 to 2",
        ),
        ({"max_sweeps": 0}, r"`max_sweeps` must be an integer >= 1, got 0"),
        ({"focal_sets": focal_sets(3, empty=True)}, r"non-empty sets, got the empty set in row 0"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    intervals, focal = CASES["two objects"]
    with pytest.raises(ValueError, match=message):
        irqp(intervals, **{"focal_sets": focal} | options)


def test_intervals_must_be_intervals():
    with pytest.raises(TypeError, match=r"`intervals` must be a PairwiseIntervals, got tuple\."):
        irqp(([0.1], [0.2]), focal_sets(2))


@pytest.mark.parametrize(
    ("lower", "message"),
    [
        ([0.1, 0.2], r"`lower` must have shape \(m, 2\), got \(2,\)"),
        ([[0.1, 1.2]], r"`lower` must be in \[0, 1\], got 1.2 in row 0"),
        ([[0.1, np.nan]], r"`lower` must be in \[0, 1\], got nan in row 0"),
    ],
)
def test_bounds_of_new_objects_are_checked(lower, message):
    partition = irqp(*CASES["two objects"]).partition
    with pytest.raises(ValueError, match=message):
        row_masses(partition, lower, lower)
