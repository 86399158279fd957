import numpy as np
import pytest

from credpart import fit_mixture
from credpart._random import random_generator, seed_sequence
from credpart.datasets import load_iris, make_mixture1


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.SeedSequence(3)])
def test_an_int_and_its_seed_sequence_start_the_same_stream_at_every_call(make):
    expected = np.random.default_rng(3).random(4)
    seed = make()
    for _ in range(2):
        np.testing.assert_array_equal(random_generator(seed).random(4), expected)


def test_generators_are_drawn_from():
    rng = np.random.default_rng(0)
    assert random_generator(rng) is rng
    state = np.random.RandomState(0)
    one, two = (random_generator(state).random() for _ in range(2))
    assert one != two
    assert seed_sequence(rng).entropy != seed_sequence(rng).entropy


def test_samples_take_every_kind_of_seed_and_refuse_others():
    fit = fit_mixture(load_iris().X, 2, "EII")
    for draw in (fit.sample, make_mixture1):
        draw(3, random_state=np.random.RandomState(0))
        with pytest.raises(ValueError, match="`random_state` must be an integer >= 0, got 'a'"):
            draw(3, random_state="a")
