"""A user's own family; `test_families` has its laws."""

import ast
import inspect
import io
import tokenize
from pathlib import Path

import numpy as np
import pytest
from scipy.special import digamma

from credpart import CalibratedClustering, MixtureFamily, bootstrap, fit_mixture, select_mixture
from examples import gamma_family
from examples.gamma_family import Gamma

ROOT = Path(__file__).parents[2]
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@pytest.fixture(scope="module")
def waits():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.gamma(2.0, 1.0, 120), rng.gamma(20.0, 0.7, 80)])[:, None]


def lines_of_code(source):
    """Lines without those that are blank, comments or docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(code)


def test_the_example_is_short_and_the_page_has_its_code():
    assert lines_of_code(inspect.getsource(gamma_family)) < 40
    page = (ROOT / "docs" / "own-family.md").read_text()
    assert inspect.getsource(Gamma).rstrip() in page


def test_m_step_solves_the_likelihood_equations(waits):
    family = Gamma(waits)
    statistics = family.features(waits).sum(axis=0)[None, None]
    _, shapes, scales = family.m_step(statistics, np.array([0]), None)
    np.testing.assert_allclose(shapes * scales, waits.mean(), rtol=1e-12)
    np.testing.assert_allclose(
        digamma(shapes) + np.log(scales), np.log(waits).mean(), rtol=1e-10, atol=1e-12
    )


def test_components_that_are_absent_have_the_means_of_all_objects():
    statistics = np.array([[[2.0, 6.0, 2.0], [0.0, 0.0, 0.0], [4.0, 6.0, 1.0]]])
    sizes, means = MixtureFamily.sizes_and_means(statistics)
    assert sizes.tolist() == [[2.0, 0.0, 4.0]]
    assert means.tolist() == [[[3.0, 1.0], [2.0, 0.5], [1.5, 0.25]]]


@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian", "parametric"])
def test_own_family_runs_through_the_whole_pipeline(waits, resampling):
    model = CalibratedClustering(
        (1, 2, 3), model=Gamma, n_replicates=40, resampling=resampling, random_state=0
    ).fit(waits)
    assert model.mixture_.model == "Gamma"
    assert model.mixture_.n_clusters == 2
    assert model.mixture_.n_parameters == 5
    assert model.replicates_.counts()["ok"] == 40
    truth = np.repeat([0, 1], [120, 80])
    assert max((model.labels_ == truth).mean(), (model.labels_ != truth).mean()) > 0.95
    np.testing.assert_allclose(model.predict_masses(waits[:3]).sum(axis=1), 1.0)


def test_an_object_or_a_class_or_several(waits):
    one, two = (fit_mixture(waits, 2, family) for family in (Gamma, Gamma(waits)))
    assert one.loglik == two.loglik
    names = list(select_mixture(waits, 2, [Gamma, "V"]).table.columns)
    assert names == ["Gamma", "V"]


def test_units_of_own_families_count_in_the_choice(waits):
    # densities in the data's units: a family without units beside one with them
    fits = list(select_mixture(waits, 2, [Gamma, "V"]).fits.values())
    assert max(fits, key=lambda fit: fit.bic).model == "Gamma"
    replicates = bootstrap(waits, fits, 30, random_state=0)
    assert next(iter(replicates.chosen())) == "Gamma"


class GammaWithoutSpikes(Gamma):
    """A component whose values are all but equal is no cluster."""

    largest = 1e4

    def is_spurious(self, params, n):
        return (params.shapes > self.largest).any(axis=-1)

    def describe_spurious(self, params, k, n):
        return f"component {k + 1} is a spike"


def test_own_rule_for_spurious_components_is_used(waits):
    # On six equal waiting times a gamma component has a likelihood without bound.
    X = np.concatenate([waits, np.full((6, 1), 40.0)])
    assert fit_mixture(X, 3, Gamma).params.shapes.max() > 1e4
    fit = fit_mixture(X, 3, GammaWithoutSpikes)
    assert fit.params.shapes.max() < 1e4
    fits = [fit, fit_mixture(X, 3, "V")]  # with several models, replicates are checked too
    replicates = bootstrap(X, fits, 20, random_state=0)
    assert replicates.chosen()["GammaWithoutSpikes"] > 0


def test_own_rule_is_asked_again_without_copies_of_what_may_concern_it(waits):
    asked = []

    class FewSpikes(GammaWithoutSpikes):
        """As above, of few objects."""

        def is_flat(self, params):
            return (params.shapes > self.largest).any(axis=-1)

        def is_spurious(self, params, n):
            asked.append(n)
            return self.is_flat(params) & (n * params.proportions < 5.0)

    X = np.concatenate([waits, np.full((6, 1), 40.0)])  # six objects may be a cluster
    fits = [fit_mixture(X, 3, FewSpikes), fit_mixture(X, 3, "V")]
    assert fits[0].params.shapes.max() > 1e4
    asked.clear()
    bootstrap(X, fits, 20, random_state=0)
    assert max(asked) == len(X)
    assert min(asked) < 0.8 * len(X)  # a sample has about 63 % of the objects


def test_own_words_for_spurious_components_are_used(waits):
    class NoGamma(GammaWithoutSpikes):
        largest = 0.0

    with pytest.raises(ValueError, match="component 1 is a spike"):
        fit_mixture(waits, 2, NoGamma, regularization="none")


def test_what_a_family_lacks_is_said(waits):
    class Empty(MixtureFamily):
        pass

    with pytest.raises(NotImplementedError, match="must have `log_joint`, `m_step`, `n_free`"):
        fit_mixture(waits, 2, Empty)


def test_a_family_without_samples_says_so(waits):
    class WithoutSamples(Gamma):
        sample = MixtureFamily.sample

    fit = fit_mixture(waits, 2, WithoutSamples)
    with pytest.raises(ValueError, match="WithoutSamples has no method `sample`"):
        bootstrap(waits, fit, 20, resampling="parametric", random_state=0)


def test_the_contract_lists_every_member():
    members = {name for name in vars(MixtureFamily) if not name.startswith("_")}
    contract = inspect.getdoc(MixtureFamily)
    assert {name for name in members if f"``{name}" not in contract} == set()
