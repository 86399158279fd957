"""The numerical attacks in a short form."""

import numpy as np
import pytest

from tests.attacks import (
    any_intervals,
    combinations,
    degenerate_data,
    representations,
    units,
    weights,
)


@pytest.mark.parametrize("seed", [3])
def test_jobs_and_backends_change_no_byte(seed):
    ways = [("argument", 2), ("argument", -1), ("threading", 2), ("loky", 2)]
    assert combinations.failures(len(ways), seed, ways) == []


@pytest.mark.parametrize("kind", degenerate_data.KINDS)
def test_degenerate_data_get_an_error_or_a_valid_result(kind):
    outcome = degenerate_data.attempt(degenerate_data.KINDS.index(kind))
    assert outcome.kind != "failure", outcome.text


@pytest.mark.parametrize("seed", [0, 28])
def test_weights_do_what_repeated_rows_do(seed):
    # 28 had intervals that differed by .17 before distinct objects were gathered
    outcome = weights.attempt(seed)
    assert outcome.is_same, outcome
    assert outcome.intervals == 0.0


@pytest.mark.parametrize("name", representations.FORMS)
@pytest.mark.parametrize("seed", [5])
def test_the_form_of_the_data_changes_no_mass(name, seed):
    assert np.max(representations.attempt(seed, name)) < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_irqp_minimises_for_any_intervals(seed):
    assert any_intervals.attempt(seed) == ""


@pytest.mark.parametrize("model", units.EQUIVARIANT)
def test_units_of_columns_change_no_fit(model):
    # 18 and 24 ended at other maxima, under VVV and EEI, when starts depended on units
    outcomes = [units.attempt(seed, model) for seed in (18, 24)]
    assert [outcome.kind for outcome in outcomes] == ["same", "same"], outcomes
