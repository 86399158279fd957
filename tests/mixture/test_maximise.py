"""Maximisation in families whose EM is slow, of replicates that start from a fit."""

from dataclasses import replace

import numpy as np
import pytest

from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import SINGLE_FROM

from .families import CASES
from .problems import begin_from, on, on_features, penalised_loglik, responsibilities, run, run_em

SLOW = [name for name, case in CASES.items() if case.family.has_slow_em]


def fitted(name, n):
    """A family on a sample, and the mixture that is fitted to it."""
    family, params, code = CASES[name]
    X, labels = family.sample(params, n, np.random.default_rng(0))
    problem = on(family, X)
    return problem, run(problem, begin_from(problem, responsibilities(labels, 2), code), tol=1e-11)


def replicates(name, b=12, n=300, change=lambda weights: None):
    """Bootstrap samples, and mixtures under way from the fit to the whole sample."""
    problem, fit = fitted(name, n)
    weights = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=b) * 1.0
    change(weights)
    drawn = on_features(problem.family, problem.data.features, weights)
    start = replace(fit.take(np.zeros(b, dtype=np.intp)), sample=np.arange(b))
    return drawn, evaluate(drawn, replace(start, n_iter=np.zeros(b, dtype=np.intp)))


@pytest.mark.parametrize("name", SLOW)
def test_acceleration_shortens_the_way_to_the_maximum(name):
    problem, start = replicates(name, b=6)
    fast, slow = run(problem, start), run_em(problem, start, tol=1e-10, max_iter=1000)
    assert (fast.status == Status.OK).all()
    assert fast.n_iter.mean() < slow.n_iter.mean()
    # a likelihood may have several maxima: a replicate may end at another one
    scale = 1e-6 * np.abs(slow.objective)
    assert (fast.objective > slow.objective - scale).mean() > 0.8


def test_likelihoods_are_exact_where_iterations_started_in_single_precision():
    problem, fit = fitted("t", 5000)
    assert fit.params[0].size * 5000 > SINGLE_FROM
    again = run(problem, fit.resumed())
    np.testing.assert_allclose(again.objective, penalised_loglik(problem, again.params), rtol=1e-13)
    assert again.objective >= fit.objective - 1e-9 * np.abs(fit.objective)


def test_degenerate_replicates_stay_degenerate():
    def spoil(weights):
        weights[0] = 0.0
        weights[0, :2] = 150.0  # two points carry everything

    found = run(*replicates("t", change=spoil))
    assert found.status[0] == Status.DEGENERATE
    assert (found.status[1:] == Status.OK).all()


def test_iterations_are_limited():
    found = run(*replicates("skew-t"), max_iter=7)
    assert found.n_iter.max() == 7
    assert (found.status == Status.NOT_CONVERGED).any()


def test_what_has_converged_is_left_alone():
    problem, fit = fitted("t", 300)
    again = run(problem, fit)
    np.testing.assert_array_equal(again.params[0], fit.params[0])
    assert again.n_iter == fit.n_iter
