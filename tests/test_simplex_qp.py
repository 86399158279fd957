from itertools import combinations

import daqp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart.simplex_qp import rise, simplex_qp, violation


def value(Q, u, x):
    return np.einsum("bi,bij,bj->b", x, np.broadcast_to(Q, (*u.shape, u.shape[1])), x) + (
        u * x
    ).sum(axis=1)


def literal_minimum(Q, u):
    # The optimum is stationary on the face of its support: try every support.
    f, best = len(u), np.inf
    for size in range(1, f + 1):
        for support in map(list, combinations(range(f), size)):
            kkt = np.ones((size + 1, size + 1))
            kkt[:size, :size], kkt[size, size] = 2.0 * Q[np.ix_(support, support)], 0.0
            solution = np.linalg.lstsq(kkt, np.append(-u[support], 1.0))[0]
            x = np.zeros(f)
            x[support] = np.maximum(solution[:size], 0.0)
            if x.sum() > 0.0:
                x /= x.sum()
                best = min(best, x @ Q @ x + u @ x)
    return best


def daqp_minimum(Q, u):
    f = len(u)
    upper, lower = np.append(np.full(f, 1e30), 1.0), np.append(np.zeros(f), 1.0)
    equality = np.append(np.zeros(f, dtype=np.int32), np.int32(5))
    x = daqp.solve(2.0 * Q, u.copy(), np.ones((1, f)), upper, lower, equality, primal_tol=1e-12)[0]
    x = np.maximum(x, 0.0)
    x /= x.sum()
    return x @ Q @ x + u @ x


@st.composite
def problems(draw, largest=6):
    f = draw(st.integers(1, largest))
    rank = draw(st.integers(0, f))
    b = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    samples = [
        lambda *size: rng.normal(size=size),
        lambda *size: rng.integers(-1, 2, size).astype(float),  # full of ties
    ]
    sample = draw(st.sampled_from(samples))
    factor, u = sample(b, rank, f), sample(b, f)
    spread = draw(st.sampled_from([0.0, 1e-6, 1.0, 1e6]))
    scale = 10.0 ** draw(st.integers(-100, 100))
    start = draw(st.sampled_from([0.02, 1.0]))  # near a vertex, anywhere
    return (
        scale * factor.mT @ factor,
        scale * spread * u,
        rng.dirichlet(np.full(f, start), size=b),
    )


@settings(deadline=None, max_examples=300)
@given(problem=problems(largest=25))
def test_meets_the_kkt_conditions_from_any_start(problem):
    Q, u, start = problem
    x = simplex_qp(Q, u, start)
    assert (x >= 0.0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=1e-12)
    assert (violation(Q, u, x) <= 2e-11).all()
    assert (rise(Q, u, start, x) <= 0.0).all()
    again = simplex_qp(Q, u, x)
    assert (violation(Q, u, again) <= 2e-11).all()


@settings(deadline=None, max_examples=100)
@given(problem=problems(largest=5))
def test_is_the_minimum_over_all_supports(problem):
    Q, u, start = problem
    scale = max(np.abs(Q).max(), np.abs(u).max(), 1e-300)
    found = value(Q, u, simplex_qp(Q, u, start))
    literal = [literal_minimum(*one) for one in zip(Q / scale, u / scale, strict=True)]
    np.testing.assert_allclose(found / scale, literal, atol=1e-10)


@pytest.mark.parametrize("rank", [1, 8, 60, 130])
def test_agrees_with_daqp_on_130_variables(rank):
    rng = np.random.default_rng(rank)
    factor = rng.normal(size=(4, rank, 130))
    Q, u = factor.mT @ factor, rng.normal(size=(4, 130))
    x = simplex_qp(Q, u, rng.dirichlet(np.ones(130), size=4))
    literal = [daqp_minimum(*one) for one in zip(Q, u, strict=True)]
    np.testing.assert_allclose(value(Q, u, x), literal, rtol=0.0, atol=1e-8)


def test_spectra_down_to_rounding_errors():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(200, 12, 12)))[0]
    Q = (axes * 10.0 ** rng.uniform(-18.0, 0.0, size=(200, 1, 12))) @ axes.mT
    inside = rng.dirichlet(np.ones(12), size=200)
    u = -2.0 * (Q @ inside[:, :, None])[:, :, 0]  # so `inside` is a minimiser, among many
    start = np.eye(12)[rng.integers(12, size=200)]
    x = simplex_qp(Q, u, start)
    assert (violation(Q, u, x) <= 2e-11).all()
    assert (rise(Q, u, inside, x) <= 1e-10).all()


def test_a_linear_program_ends_in_its_vertex():
    u = np.random.default_rng(0).normal(size=(50, 9))
    x = simplex_qp(np.zeros((9, 9)), u, np.full((50, 9), 1.0 / 9.0))
    np.testing.assert_array_equal(x, np.eye(9)[u.argmin(axis=1)])


def test_a_constant_objective_returns_the_start():
    start = np.random.default_rng(0).dirichlet(np.ones(4), size=3)
    np.testing.assert_array_equal(simplex_qp(np.ones((4, 4)), np.full((3, 4), 7.0), start), start)


def test_one_variable_has_one_solution():
    np.testing.assert_array_equal(simplex_qp(np.eye(1), np.zeros((2, 1)), np.ones((2, 1))), 1.0)


def test_together_is_apart():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 3, 7))
    Q, u, start = factor.mT @ factor, rng.normal(size=(20, 7)), rng.dirichlet(np.ones(7), size=20)
    together = simplex_qp(Q, u, start)
    apart = [simplex_qp(Q[[i]], u[[i]], start[[i]])[0] for i in range(20)]
    np.testing.assert_allclose(together, apart, atol=1e-9)


def test_a_common_matrix_is_given_once():
    rng = np.random.default_rng(0)
    Q, u, start = np.diag(np.arange(5.0)), rng.normal(size=(8, 5)), np.full((8, 5), 0.2)
    np.testing.assert_array_equal(
        simplex_qp(Q, u, start), simplex_qp(np.repeat(Q[None], 8, axis=0), u, start)
    )


def test_a_constant_in_the_linear_term_changes_nothing():
    rng = np.random.default_rng(0)
    Q, start = np.diag([1e-3, 2e-3, 0.0]), np.full((30, 3), 1.0 / 3.0)
    u = rng.integers(-4, 4, size=(30, 3)) * 2.0**-10
    np.testing.assert_array_equal(simplex_qp(Q, u + 2.0**20, start), simplex_qp(Q, u, start))


def test_arguments_are_left_alone():
    Q, u, start = np.eye(3), np.arange(3.0)[None], np.full((1, 3), 1.0 / 3.0)
    for array in (Q, u, start):
        array.setflags(write=False)
    assert simplex_qp(Q, u, start) is not start
