"""Families on data, and mixtures that start from a partition: what tests of EM have in common."""

from typing import Any

import numpy as np

from credpart.mixture.covariance.structures import NAMES, STRUCTURES
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.optimisation.convergence import Limits
from credpart.mixture.optimisation.e_step import e_step
from credpart.mixture.optimisation.em import em, first_iteration
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import Mixtures, Problem, Samples

ALL = np.arange(len(STRUCTURES))  # one mixture for each of the 14 structures


def codes(*names: str) -> Any:
    """The codes of structures."""
    return np.array([NAMES.index(name) for name in names])


def responsibilities(labels: Any, c: int) -> Any:
    """A partition as responsibilities (1, c, n)."""
    return (labels == np.arange(c)[:, None])[None].astype(float)


def on(family: MixtureFamily[Any], X: Any, weights: Any = None) -> Problem:
    """A family on objects (n, d) with weights (m, n), by default 1."""
    return on_features(family, family.features(X), weights)


def on_features(family: MixtureFamily[Any], features: Any, weights: Any = None) -> Problem:
    """A family on features (n, p) or (m, n, p) with weights (m, n), by default 1."""
    weights = np.ones((1, features.shape[-2])) if weights is None else weights
    return Problem(family, Samples(features, weights))


def samples(problem: Problem, b: int) -> Any:
    """Which sample each of b mixtures has: its own, or the only one."""
    return np.arange(b) if len(problem.data.weights) == b else np.zeros(b, dtype=np.intp)


def begin(problem: Problem, statistics: Any, structure: Any) -> Mixtures:
    """Mixtures after one iteration from statistics (b, k, s)."""
    b = len(statistics)
    every = np.broadcast_to(structure, b)
    return first_iteration(problem, statistics, every, samples(problem, b), np.arange(b))


def begin_from(problem: Problem, resp: Any, structure: Any) -> Mixtures:
    """Mixtures after one iteration from responsibilities (1, k, n), of every sample."""
    family, (features, weights) = problem.family, problem.data
    statistics = [family.statistics(features, resp * row)[0] for row in weights]
    return begin(problem, np.stack(statistics), structure)


def run(problem: Problem, start: Mixtures, **limits: Any) -> Mixtures:
    """Maximise from a start."""
    return maximise(problem, start, Limits(**limits))


def run_em(
    problem: Problem,
    start: Mixtures,
    *,
    is_accelerated: bool = False,
    early_stopping: Any = None,
    **limits: Any,
) -> Mixtures:
    """EM alone from a start."""
    options = {"is_accelerated": is_accelerated, "early_stopping": early_stopping}
    return em(problem, start, Limits(**limits), **options)


def penalised_loglik(problem: Problem, params: Any) -> Any:
    """Log-likelihoods plus log priors (b,)."""
    loglik, _ = e_step(problem, params, samples(problem, len(params[0])))
    return loglik + problem.family.log_prior(params)


def all_structures(X: Any, labels: Any, c: int, weights: Any = None) -> Any:
    """The Gaussian family on data, and one mixture for each structure from the same partition."""
    weights = np.ones(len(X)) if weights is None else weights
    problem = on(Gaussian.of(X, list(STRUCTURES)), X, weights[None])
    resp = responsibilities(labels, c) * weights
    statistics = problem.family.statistics(problem.data.features, resp)
    return problem, np.repeat(statistics, len(ALL), axis=0)
