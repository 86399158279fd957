from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import minimize, minimize_scalar

from credpart.mixture.covariance import batched
from credpart.mixture.covariance.batched import ABSENT, Previous
from credpart.mixture.covariance.common_axes import _precisions, _rotation, in_axes, rotate
from credpart.mixture.covariance.matrices import (
    factor,
    inverse,
    log_determinant,
    matrices_contiguous,
    stack_contiguous,
)
from credpart.mixture.covariance.structures import (
    NAMES,
    ONE_DIMENSION,
    STRUCTURES,
    TABLE,
    common_axes,
    estimate_one,
)

ITERATIVE = ["VEI", "VEE", "VEV", "EVE", "VVE"]
SEEDS = st.integers(0, 2**32 - 1)
SPREADS = (0.7, 2.0)  # condition numbers of about 1e2 and 1e5
NESTED = [(name, inner) for name in STRUCTURES for inner in STRUCTURES[name].nested]


def update(name, scatter, sizes, previous):
    codes = np.full(len(scatter), NAMES.index(name))
    return batched.update(scatter, sizes, codes, warm(previous, sizes))


def warm(covariances, sizes):
    return None if covariances is None else Previous.of(covariances, 1.0 * (sizes > ABSENT))


def draw_statistics(b, c, d, seed, spread=0.7):
    """Scatter matrices (b, c, d, d) of random clusters, and their sizes (b, c)."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(d + 2, 60, (b, c))
    roots = rng.standard_normal((b, c, d, d + 2)) * np.exp(rng.normal(0, spread, (b, c, d, 1)))
    return sizes[..., None, None] / (d + 2) * roots @ roots.mT, sizes


def statistics(lowest=1, highest=5, spreads=(0.7,)):
    """Statistics of one replicate with 1 to 4 clusters and so many features."""
    return st.builds(
        draw_statistics,
        st.just(1),
        st.integers(1, 4),
        st.integers(lowest, highest),
        st.integers(0, 2**32 - 1),
        st.sampled_from(spreads),
    )


def cost(covariances, scatter, sizes):
    """Minus twice the maximised part of the log-likelihood, by replicate."""
    _, logdet = np.linalg.slogdet(covariances)
    traces = np.trace(np.linalg.solve(covariances, scatter), axis1=-2, axis2=-1)
    return (sizes * logdet + traces).sum(axis=-1)


def diagonal(matrices):
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def axes_of(name, covariances):
    """Axes ``D_k`` (c, d, d) by the third letter; eigenvalues ascend where they are own."""
    c, d = covariances.shape[:2]
    whole = {"I": np.eye(d), "E": np.linalg.eigh(covariances.sum(axis=0))[1]}
    if name[2] == "V":
        return np.linalg.eigh(covariances)[1]
    return np.broadcast_to(whole[name[2]], (c, d, d))


def parts(name, covariances):
    """Volumes (c,), shapes (c, d) along the axes, and the axes (c, d, d)."""
    axes = axes_of(name, covariances)
    values = diagonal(axes.mT @ covariances @ axes)
    volumes = np.exp(np.log(values).mean(axis=-1))
    return volumes, values / volumes[:, None], axes


def move(name, covariances, step):
    """Covariances of the same structure: volumes, shapes and axes moved by ``step``."""
    (c, d), steps = covariances.shape[:2], iter(step)

    def own_or_common(letter, size):
        rows = [[next(steps) for _ in range(size)] for _ in range({"E": 1, "V": c, "I": 0}[letter])]
        return np.broadcast_to(rows or np.zeros((1, size)), (c, size))

    volumes, shapes, axes = parts(name, covariances)
    volumes = volumes * np.exp(own_or_common(name[0], 1)[:, 0])
    logs = own_or_common(name[1], d - 1)
    shapes = shapes * np.exp(np.column_stack([logs, -logs.sum(axis=1)]))
    turns = np.zeros((c, d, d))
    i, j = np.triu_indices(d, 1)
    turns[:, i, j] = own_or_common(name[2], len(i))
    axes = axes @ np.stack([expm(turn - turn.T) for turn in turns])
    assert next(steps, None) is None, "a structure has as many steps as free parameters"
    return (axes * (volumes[:, None] * shapes)[:, None, :]) @ axes.mT


@pytest.mark.parametrize("name", STRUCTURES)
@settings(deadline=None, max_examples=10)
@given(statistics=statistics())
def test_update_satisfies_the_trace_identity(name, statistics):
    # Every structure is closed under scaling, so at the maximum of the likelihood
    # sum_k tr(Sigma_k^-1 W_k) = n d.  This holds for closed and iterative forms alike.
    scatter, sizes = statistics
    covariances = update(name, scatter, sizes, None)
    traces = np.trace(np.linalg.solve(covariances, scatter), axis1=-2, axis2=-1)
    np.testing.assert_allclose(traces.sum(axis=1), sizes.sum(axis=1) * scatter.shape[-1])


@pytest.mark.parametrize("name", ONE_DIMENSION)
@settings(deadline=None, max_examples=10)
@given(statistics=statistics(1, 1))
def test_one_dimension_satisfies_the_trace_identity(name, statistics):
    scatter, sizes = statistics
    covariances = update(name, scatter, sizes, None)
    np.testing.assert_allclose((scatter / covariances).sum(axis=(1, 2, 3)), sizes.sum(axis=1))


# Tolerances of the cost for an object, and of the covariances in units of deviations.  Volumes end
# where no logarithm changes by 1e-9.  Common axes end where no angle changes by 1e-5 in a sweep: if
# the matrices are badly conditioned, something is left to gain there.
CLOSED, VOLUMES, AXES = (1e-10, 1e-9), (1e-10, 1e-6), (1e-3, np.nan)
CLOSE = dict.fromkeys(TABLE, CLOSED) | dict.fromkeys(["VEI", "VEE", "VEV"], VOLUMES)
CLOSE |= dict.fromkeys(["EVE", "VVE"], AXES)


def assert_is_estimate(name, found, scatter, sizes, close=CLOSE):
    """Covariances (c, d, d) are those of the literal form; common axes may be better ones."""
    expected = estimate_one(name, scatter, sizes)
    reached, wanted = (cost(S, scatter, sizes) for S in (found, expected))
    gap, atol = close[name]
    assert reached <= wanted + gap * sizes.sum()
    is_same = bool(reached >= wanted - gap * sizes.sum())
    if is_same and np.isfinite(atol):
        deviations = np.sqrt(diagonal(expected))
        units = deviations[:, :, None] * deviations[:, None, :]
        np.testing.assert_allclose(found / units, expected / units, atol=atol)
    return is_same


@pytest.mark.parametrize("name", TABLE)
@settings(deadline=None, max_examples=10, derandomize=True)  # common axes have several minima
@given(c=st.integers(1, 4), d=st.integers(2, 4), seed=SEEDS, spread=st.sampled_from(SPREADS))
def test_update_is_the_literal_estimate(name, c, d, seed, spread):
    d = 1 if name in ONE_DIMENSION else d
    scatter, sizes = draw_statistics(1, c, d, seed, spread)
    found = update(name, scatter, sizes, None)[0]
    is_same = assert_is_estimate(name, found, scatter[0], sizes[0])
    assert is_same or TABLE[name].orientation is common_axes


@pytest.mark.parametrize("name", ["EVE", "VVE"])
def test_common_axes_are_mostly_those_of_the_literal_form(name):
    is_same, exactly = [], {name: (1e-7, 5e-3)}
    for seed in range(20):
        scatter, sizes = draw_statistics(1, 3, 3, seed)
        found = update(name, scatter, sizes, None)[0]
        is_same.append(assert_is_estimate(name, found, scatter[0], sizes[0], exactly))
    assert np.mean(is_same) > 0.7


@settings(deadline=None, max_examples=10, derandomize=True)
@given(seed=SEEDS, spread=st.sampled_from(SPREADS))
def test_a_batch_of_all_structures_with_absent_components_is_literal(seed, spread):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(STRUCTURES)), 2))
    scatter, sizes = draw_statistics(len(codes), 4, 3, seed, spread)
    is_absent = rng.random(sizes.shape) < 0.3
    is_absent[np.arange(len(codes)), rng.integers(4, size=len(codes))] = False
    scatter[is_absent], sizes[is_absent] = 0.0, 0.0
    together = batched.update(scatter, sizes, codes)
    assert np.isfinite(together).all()
    for code, found, W, n in zip(codes, together, scatter, sizes, strict=True):
        assert_is_estimate(NAMES[code], found[n > 0.0], W[n > 0.0], n[n > 0.0])


def literal(name, scatter, sizes):
    """The closed forms of [CG95]: one replicate, loops over components."""
    c, d = scatter.shape[:2]
    n, W = sizes.sum(), scatter.sum(axis=0)
    dets = np.linalg.det(scatter) ** (1 / d)
    products = np.prod(diagonal(scatter), axis=1) ** (1 / d)
    values, axes = np.linalg.eigh(scatter)
    forms = {
        "EII": lambda k: np.trace(W) / (n * d) * np.eye(d),
        "VII": lambda k: np.trace(scatter[k]) / (sizes[k] * d) * np.eye(d),
        "EEI": lambda k: np.diag(np.diag(W)) / n,
        "EVI": lambda k: products.sum() / n * np.diag(np.diag(scatter[k])) / products[k],
        "VVI": lambda k: np.diag(np.diag(scatter[k])) / sizes[k],
        "EEE": lambda k: W / n,
        "EEV": lambda k: axes[k] @ np.diag(values.sum(axis=0) / n) @ axes[k].T,
        "EVV": lambda k: dets.sum() / n * scatter[k] / dets[k],
        "VVV": lambda k: scatter[k] / sizes[k],
    }
    return np.stack([forms[name](k) for k in range(c)])


@pytest.mark.parametrize("name", [name for name in STRUCTURES if name not in ITERATIVE])
@settings(deadline=None, max_examples=8)
@given(statistics=statistics())
def test_closed_forms_are_the_literal_ones(name, statistics):
    scatter, sizes = statistics
    expected = literal(name, scatter[0], sizes[0])
    actual = update(name, scatter, sizes, None)[0]
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", STRUCTURES)
@settings(deadline=None, max_examples=8)
@given(statistics=statistics(2, 5))
def test_result_has_the_form_that_its_name_says(name, statistics):
    covariances = update(name, *statistics, None)[0]
    volumes, shapes, axes = parts(name, covariances)
    # what is not along the axes is zero: "I" and "E" orientations are what they say
    rebuilt = (axes * (volumes[:, None] * shapes)[:, None, :]) @ axes.mT
    np.testing.assert_allclose(rebuilt, covariances, rtol=1e-7, atol=1e-8 * volumes.max())
    if name[0] == "E":
        np.testing.assert_allclose(volumes, volumes[0])
    if name[1] == "I":
        np.testing.assert_allclose(shapes, 1.0)
    if name[1] == "E":
        np.testing.assert_allclose(shapes, np.broadcast_to(shapes[0], shapes.shape), rtol=1e-6)


@pytest.mark.parametrize("name", STRUCTURES)
@settings(deadline=None, max_examples=8)
@given(statistics=statistics(2, 4), seed=st.integers(0, 2**32 - 1))
def test_no_step_within_the_structure_raises_the_likelihood(name, statistics, seed):
    scatter, sizes = statistics
    covariances = update(name, scatter, sizes, None)
    c, d = scatter.shape[1:3]
    rng = np.random.default_rng(seed)
    reached = cost(covariances, scatter, sizes)[0]
    for size in (1e-3, 1e-2, 1e-1):
        step = size * rng.standard_normal(STRUCTURES[name].n_free(c, d))
        moved = move(name, covariances[0], step)[None]
        # the inner loops end where the cost is flat to 1e-10 of itself
        assert cost(moved, scatter, sizes)[0] >= reached - 1e-9 * sizes.sum()


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize(("c", "d"), [(2, 2), (3, 3)])
def test_iterative_forms_are_where_a_general_optimiser_ends(name, c, d):
    scatter, sizes = draw_statistics(1, c, d, seed=10 * c + d)
    covariances = update(name, scatter, sizes, None)

    def objective(step):
        return cost(move(name, covariances[0], step)[None], scatter, sizes)[0]

    size = STRUCTURES[name].n_free(c, d)
    starts = [np.zeros(size), *np.random.default_rng(0).normal(0, 0.5, (1, size))]
    found = min(minimize(objective, start, method="BFGS").fun for start in starts)
    assert objective(starts[0]) == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize(("name", "inner"), NESTED)
@settings(deadline=None, max_examples=10)
@given(statistics=statistics(2, 5))
@example(statistics=draw_statistics(1, 3, 4, 506499915))
def test_nested_structure_is_never_better(name, inner, statistics):
    outer = cost(update(name, *statistics, None), *statistics)
    assert outer <= cost(update(inner, *statistics, None), *statistics) + 1e-7


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_start_from_the_answer_stays_there(name):
    scatter, sizes = draw_statistics(4, 3, 3, seed=5)
    answer = update(name, scatter, sizes, None)
    again = update(name, scatter, sizes, answer)
    np.testing.assert_allclose(again, answer, rtol=1e-4, atol=1e-5 * np.abs(answer).max())
    np.testing.assert_allclose(cost(again, scatter, sizes), cost(answer, scatter, sizes), rtol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
@settings(deadline=None, max_examples=8)
@given(statistics=statistics(2, 4, SPREADS), seed=SEEDS, spread=st.sampled_from(SPREADS))
def test_a_warm_start_never_lowers_the_likelihood(name, statistics, seed, spread):
    c, d = statistics[0].shape[1:3]
    start = update(name, *draw_statistics(1, c, d, seed, spread), None)
    moved = update(name, *statistics, start)
    before = cost(start, *statistics)
    assert cost(moved, *statistics) <= before + 1e-7 + 1e-10 * np.abs(before)


def unlike(ratio, b=20, seed=1):
    """Statistics of pairs of clusters that are long in different directions."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(20, 100, (b, 2))
    spreads = np.array([[1, ratio**-2], [ratio**-2, 1]]) * rng.chisquare(30, (b, 2, 2)) / 30
    spreads *= np.exp(rng.normal(0, 1, (b, 2, 1)))
    return sizes[..., None, None] * spreads[..., None] * np.eye(2), sizes


@pytest.mark.parametrize("name", ["VEI", "VEE"])
@pytest.mark.parametrize("ratio", [3, 30, 300, 10_000])
def test_own_volumes_are_optimal_where_shapes_are_unlike(name, ratio):
    scatter, sizes = unlike(ratio)
    reached = cost(update(name, scatter, sizes, None), scatter, sizes)
    for W, n, value in zip(scatter, sizes, reached, strict=True):

        def profile(log_volume, W=W, n=n):
            volumes = np.array([1.0, np.exp(log_volume)])[:, None, None]
            C = (W / volumes).sum(axis=0) / n.sum()
            return cost((volumes * C)[None], W[None], n[None])[0]

        assert value <= minimize_scalar(profile, bracket=(-1, 1)).fun + 1e-9


@pytest.mark.parametrize("name", ["VEI", "VEE", "VEV"])
@pytest.mark.parametrize("ratio", [30, 300])
def test_warm_steps_soon_reach_the_cold_answer(name, ratio):
    scatter, sizes = unlike(ratio)
    moved = update(name, *unlike(ratio, seed=2), None)
    for _ in range(15):
        moved = update(name, scatter, sizes, moved)
    answer = cost(update(name, scatter, sizes, None), scatter, sizes)
    np.testing.assert_allclose(cost(moved, scatter, sizes), answer, rtol=1e-7)


@pytest.mark.parametrize("name", ["VEI", "VEE", "VEV"])
def test_one_warm_step_finds_the_volumes_of_equal_shapes(name):
    shape, volumes = np.diag([1.0, 4.0, 9.0]), np.array([1.0, 50.0, 0.2])[:, None, None]
    sizes = np.array([[20.0, 50.0, 30.0]])
    scatter = (sizes[..., None, None] * volumes) * shape
    found = update(name, scatter, sizes, np.tile(np.eye(3), (1, 3, 1, 1)))
    np.testing.assert_allclose(found[0], volumes * shape, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["VEI", "VEE", "VEV"])
def test_a_component_without_width_does_not_hold_up_the_others(name):
    scatter, sizes = draw_statistics(5, 4, 3, seed=2)
    scatter[:, 3] *= 1e-20
    sizes[:, 3] = 1e-6
    answer = cost(update(name, scatter, sizes, None), scatter, sizes)
    moved = np.tile(np.eye(3), (5, 4, 1, 1))
    for _ in range(6):
        moved = update(name, scatter, sizes, moved)
    np.testing.assert_allclose(cost(moved, scatter, sizes), answer, rtol=1e-3)


def test_rounding_does_not_blow_up_the_volume_of_one_component():
    X = np.random.default_rng(0).standard_normal((50, 200, 3))
    X[..., 2] = X[..., 0] + X[..., 1] + 1e-5 * X[..., 2]
    scatter, sizes = (X.mT @ X)[:, None], np.full((50, 1), 200.0)
    found = update("VEE", scatter, sizes, scatter)
    np.testing.assert_allclose(found, scatter / 200.0, rtol=1e-6)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("is_warm", [False, True])
def test_units_count_where_spheres_and_angles_do(name, is_warm):
    scatter, sizes = draw_statistics(4, 3, 3, seed=6)
    codes, scales = np.full(4, NAMES.index(name)), np.array([1.0, 30.0, 1e-3])
    units = scales[:, None] * scales
    # of another structure, so that it counts how it is read
    start = draw_statistics(4, 3, 3, seed=7)[0] if is_warm else None
    found = batched.update(scatter, sizes, codes, warm(start, sizes), scales)
    if name in ("EII", "VII", "EVE", "VVE", "EEV", "VEV"):
        there = None if start is None else start * units
        expected = update(name, scatter * units, sizes, there) / units
    else:
        expected = update(name, scatter, sizes, start)
    # Common axes are found by iterations, which end a little elsewhere with another LAPACK.
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(["VEI", "VEE", "VEV"]))
def test_a_warm_step_never_raises_the_cost_however_far_the_volumes_are(seed, name):
    rng = np.random.default_rng(seed)
    d, c, spread = rng.integers(2, 5), rng.integers(2, 7), rng.uniform(1, 5)
    A = rng.standard_normal((20, c, d, d)) * spread ** rng.standard_normal((20, c, 1, d))
    sizes = rng.uniform(2, 100, (20, c))
    scatter = A @ A.mT + 1e-3 * np.eye(d)
    moved = update(name, scatter, sizes, None) * spread ** rng.standard_normal((20, c, 1, 1))
    before = cost(moved, scatter, sizes)
    for _ in range(4):
        moved = update(name, scatter, sizes, moved)
        after = cost(moved, scatter, sizes)
        assert (after <= before + 1e-9 * np.abs(before)).all()
        before = after


@pytest.mark.parametrize("name", ["EVE", "VVE"])
def test_common_axes_are_kept_where_their_covariances_add_up_to_a_sphere(name):
    answer = np.array([[[[2.5, 1.5], [1.5, 2.5]], [[2.5, -1.5], [-1.5, 2.5]]]])
    scatter, sizes = 50.0 * answer, np.full((1, 2), 50.0)
    np.testing.assert_allclose(update(name, scatter, sizes, answer), answer)


def test_spheres_need_no_rotation():
    scatter, start = 50.0 * np.tile(np.eye(3), (1, 2, 1, 1)), np.eye(3)[None]
    axes, angles = rotate(scatter, np.full((1, 2), 50.0), np.ones(1, bool), start)
    assert angles.max() == 0.0
    np.testing.assert_array_equal(axes, start)


@settings(deadline=None, max_examples=20)
@given(statistics=statistics(2, 5))
def test_turns_that_would_raise_the_cost_are_shortened(statistics):
    R, sizes = statistics
    d = R.shape[-1]
    precisions = _precisions(diagonal(R), sizes, np.zeros(1, bool))
    y = (precisions[..., None] * R).sum(axis=1)
    # down in every plane, but much too far
    rotations = _rotation(R, precisions, 1.5 * np.sign(y.mT - y))
    turned = in_axes(R, rotations)
    before, after = ((precisions * diagonal(W)).sum(axis=(1, 2)) for W in (R, turned))
    assert after <= before * (1 + 1e-11)
    np.testing.assert_allclose(rotations @ rotations.mT, np.eye(d)[None], atol=1e-12)
    direct = rotations[:, None].mT @ R @ rotations[:, None]
    np.testing.assert_allclose(turned, direct, atol=1e-10 * np.abs(R).max())


def test_numbers_of_free_parameters():
    # [CG95], Table 1, of the covariances alone: c = 3, d = 4 and c = 2, d = 3
    table = {
        "EII": (1, 1),
        "VII": (3, 2),
        "EEI": (4, 3),
        "VEI": (6, 4),
        "EVI": (10, 5),
        "VVI": (12, 6),
        "EEE": (10, 6),
        "VEE": (12, 7),
        "EVE": (16, 8),
        "VVE": (18, 9),
        "EEV": (22, 9),
        "VEV": (24, 10),
        "EVV": (28, 11),
        "VVV": (30, 12),
    }
    assert {name: (s.n_free(3, 4), s.n_free(2, 3)) for name, s in STRUCTURES.items()} == table
    assert {name: s.n_free(3, 1) for name, s in ONE_DIMENSION.items()} == {"E": 1, "V": 3}


def test_nested_structures_have_fewer_parameters_and_no_more_freedom():
    order = {"I": 0, "E": 1, "V": 2}
    for name, inner in NESTED:
        assert STRUCTURES[inner].n_free(3, 4) < STRUCTURES[name].n_free(3, 4)
        assert all(order[a] <= order[b] for a, b in zip(inner, name, strict=True))
    pairs = combinations(STRUCTURES, 2)
    assert all((late, early) not in {(b, a) for a, b in NESTED} for early, late in pairs)


@pytest.mark.parametrize("name", STRUCTURES)
def test_batch_is_one_by_one(name):
    scatter, sizes = draw_statistics(6, 3, 3, seed=2)
    together = update(name, scatter, sizes, None)
    apart = np.concatenate([update(name, scatter[[b]], sizes[[b]], None) for b in range(6)])
    # a replicate that has converged goes on while others have not: up to TOLERANCE
    rtol = 1e-4 if name in ITERATIVE else 1e-12
    np.testing.assert_allclose(together, apart, rtol=rtol, atol=rtol * np.abs(apart).max())
    np.testing.assert_allclose(
        cost(together, scatter, sizes), cost(apart, scatter, sizes), rtol=5e-9
    )


@pytest.mark.parametrize("name", STRUCTURES)
@settings(deadline=None, max_examples=8)
@given(statistics=statistics(), seed=st.integers(0, 2**32 - 1), warm=st.sampled_from([None, 0, 1]))
def test_absent_components_have_no_influence(name, statistics, seed, warm):
    scatter, sizes = statistics
    (_, c, d, _) = scatter.shape
    start = padded_start = None
    if warm is not None:  # nothing, or anything, is known of absent components
        start = update(name, *draw_statistics(1, c, d, seed), None)
        unknown = float(warm) * draw_statistics(1, 2, d, seed + 1)[0]
        padded_start = np.concatenate([start, unknown], axis=1)
    absent = np.broadcast_to(ABSENT * np.eye(d), (1, 2, d, d))
    padded = update(
        name,
        np.concatenate([scatter, absent], axis=1),
        np.concatenate([sizes, np.full((1, 2), ABSENT)], axis=1),
        padded_start,
    )
    alone = update(name, scatter, sizes, start)
    assert np.isfinite(padded).all()
    rtol = 1e-5 if name in ITERATIVE else 1e-10
    np.testing.assert_allclose(
        padded[:, : sizes.shape[1]], alone, rtol=rtol, atol=rtol * np.abs(alone).max()
    )
    np.testing.assert_allclose(
        cost(padded[:, : sizes.shape[1]], scatter, sizes), cost(alone, scatter, sizes), rtol=1e-9
    )


@settings(deadline=None, max_examples=10)
@given(d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_factor_inverts_and_takes_determinants(d, seed):
    matrices = draw_statistics(5, 1, d, seed)[0][:, 0]
    half, logdet = factor(matrices)
    np.testing.assert_allclose(half.mT @ half @ matrices, np.tile(np.eye(d), (5, 1, 1)), atol=1e-8)
    assert np.array_equal(half, np.tril(half))
    np.testing.assert_allclose(logdet, np.linalg.slogdet(matrices)[1], atol=1e-9)
    np.testing.assert_allclose(log_determinant(matrices), logdet, atol=1e-12)


def test_factor_marks_what_is_not_positive_definite_and_leaves_the_rest():
    matrices = np.stack([np.eye(2), [[1.0, 2.0], [2.0, 1.0]], -np.eye(2), 4 * np.eye(2)])
    with np.errstate(invalid="ignore"):
        half, logdet = factor(matrices)
    assert np.isnan(logdet).tolist() == [False, True, True, False]
    np.testing.assert_allclose(logdet[[0, 3]], [0.0, np.log(16.0)], atol=1e-15)
    assert np.isfinite(half[[0, 3]]).all()


@pytest.mark.parametrize("name", STRUCTURES)
def test_singular_scatter_raises_nothing_and_spoils_no_other_replicate(name):
    # Both clusters of the first replicate have no spread: in a plane, then in any direction.
    scatter, sizes = draw_statistics(3, 2, 3, seed=1)
    scatter[0, :, 2] = scatter[0, :, :, 2] = 0.0
    scatter[1] = 0.0
    with np.errstate(all="ignore"):
        mixed = update(name, scatter, sizes, None)
    alone = update(name, scatter[[2]], sizes[[2]], None)
    np.testing.assert_allclose(mixed[[2]], alone, rtol=1e-5, atol=1e-6)


def test_structures_together_are_structures_apart():
    scatter, sizes = draw_statistics(2 * len(STRUCTURES), 3, 3, seed=3)
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(STRUCTURES)), 2))
    start = batched.update(*draw_statistics(len(codes), 3, 3, seed=4), codes)
    for previous in (None, start):
        together = batched.update(scatter, sizes, codes, warm(previous, sizes))
        for code, name in enumerate(STRUCTURES):
            rows = codes == code
            own = None if previous is None else previous[rows]
            apart = update(name, scatter[rows], sizes[rows], own)
            # rows of another structure may keep an inner loop going: up to TOLERANCE
            np.testing.assert_allclose(together[rows], apart, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", [stack_contiguous, matrices_contiguous])
def test_the_layout_in_memory_changes_nothing(layout):
    scatter, sizes = draw_statistics(2 * len(STRUCTURES), 3, 3, seed=3)
    codes = np.repeat(np.arange(len(STRUCTURES)), 2)
    np.testing.assert_array_equal(layout(scatter), scatter)
    assert layout(scatter).flags[{stack_contiguous: "F", matrices_contiguous: "C"}[layout]]
    found = batched.update(layout(scatter), layout(sizes), codes)
    np.testing.assert_array_equal(found, batched.update(scatter, sizes, codes))


def test_precisions_are_inverses_of_the_covariances():
    scatter, sizes = draw_statistics(2 * len(STRUCTURES), 3, 3, seed=3)
    scatter[::2, 2], sizes[::2, 2] = 0.0, 0.0
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(STRUCTURES)), 2))
    covariances = batched.update(scatter, sizes, codes, units=np.array([1.0, 30.0, 1e-2]))
    precisions, logdet = inverse(covariances)
    np.testing.assert_allclose(
        precisions @ covariances, np.broadcast_to(np.eye(3), covariances.shape), atol=1e-9
    )
    np.testing.assert_allclose(logdet, np.linalg.slogdet(covariances)[1], atol=1e-9)
