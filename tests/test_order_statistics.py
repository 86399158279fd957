import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart import _order_statistics as module
from credpart._order_statistics import quantiles, tails

KINDS = {  # values of replicates, as a function of uniform ones
    "spread": lambda u: u,
    "tiny": lambda u: 1e-12 * u**4,
    "near 1": lambda u: 1.0 - 1e-6 * u,
    "tied": lambda u: np.round(u, 1),
    "0 or 1": lambda u: np.round(u),
    "half 1": lambda u: np.minimum(1.0, 2.0 * u),
    "equal": lambda u: np.full_like(u, 0.3),
    "ascending": lambda u: np.sort(u, axis=1),
    "descending": lambda u: np.sort(u, axis=1)[:, ::-1],
}


def replicates(kind, rows, B, seed):
    uniform = np.random.default_rng(seed).random((rows, B))
    return np.ascontiguousarray(KINDS[kind](uniform), dtype=np.float32)


@settings(deadline=None, max_examples=300)
@given(
    kind=st.sampled_from(list(KINDS)),
    B=st.integers(3, 2100),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_tails_are_the_ends_of_sorted_rows(kind, B, share, seed):
    values = replicates(kind, 3, B, seed)
    number = 1 + round(share * (B - 1))
    ascending = np.sort(values, axis=1)
    low, high = tails(values, number)
    assert np.array_equal(low, ascending[:, :number])
    assert np.array_equal(high, ascending[:, B - number :])


@settings(deadline=None, max_examples=300)
@given(
    kind=st.sampled_from(list(KINDS)),
    B=st.integers(20, 2000),
    levels=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_quantiles_are_those_of_numpy(kind, B, levels, seed):
    values = replicates(kind, 5, B, seed)
    alpha = 1.0 - np.array(levels)
    wanted = np.quantile(values.astype(np.float64), [alpha / 2.0, 1.0 - alpha / 2.0], axis=1)
    found = quantiles(values.copy(), levels)
    # NumPy rounds (B - 1)(1 - alpha / 2), where neighbours may be 1 apart.
    np.testing.assert_allclose(found, wanted.transpose(1, 0, 2), rtol=1e-12, atol=2000 * 1e-15)
    if kind == "tiny":  # no absolute error hides here: the quantiles are in proportion
        np.testing.assert_allclose(found, wanted.transpose(1, 0, 2), rtol=1e-6, atol=0)


@pytest.mark.parametrize("size", [2, 7, 64])
def test_the_size_of_the_pieces_changes_no_byte(size, monkeypatch):
    values = replicates("tied", 20, 1000, seed=0)
    expected = quantiles(values.copy(), [0.9, 0.99, 0.5])
    monkeypatch.setattr(module, "PIECE", size)
    assert quantiles(values.copy(), [0.9, 0.99, 0.5]).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("number", "reach"), [(1, 2), (6, 6), (51, 26), (101, 43)])
def test_the_ends_of_the_pieces_are_joined(number, reach):
    assert module._plan(1000, number) == (4, reach)


def test_rows_are_sorted_whole_if_the_ends_of_the_pieces_are_most_of_them():
    assert module._plan(1000, 450) == (1, 450)


def test_few_rows_in_random_order_are_sorted_whole(monkeypatch):
    sorted_rows = []
    honest = module._sorted_rows
    monkeypatch.setattr(
        module, "_sorted_rows", lambda *blocks: sorted_rows.append(blocks[0]) or honest(*blocks)
    )
    tails(replicates("spread", 5000, 1000, seed=0), 51)
    # One is expected, as a row has too many in a piece with a probability of 1 in 5500.
    assert sum(len(rows) for rows in sorted_rows[2:]) <= 5
    tails(replicates("ascending", 20, 1000, seed=0), 51)
    assert len(sorted_rows[-1]) == 20
