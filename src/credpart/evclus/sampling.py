"""Some pairs of objects instead of all: each object has k partners [DSK16].

References
----------
.. [DSK16] Denoeux, Sriboonchitta, Kanjanatarakul: Evidential clustering of large dissimilarity
   data.  Knowledge-Based Systems 106, 2016.
"""

from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, IntArray
from credpart._irqp.descent import blocks_of, missed_change

BLOCK = 256  # rows solved together, at most: more than for all pairs, as few are partners
STRIPE_PAIRS = 2**16  # pairs looked at together


def sample_partners(n: int, k: int, rng: np.random.Generator) -> IntArray:
    """Return k partners of each of n objects, shape (n, k); if i has the partner j, then j has i.

    Objects are placed on a circle in random order.  Two of them are partners if the number of
    places between them is one of several random numbers: every pair is equally likely, and every
    object is in k pairs.  No such sample exists if n and k are odd; each object then has k + 1
    partners.

    >>> sample_partners(4, 3, np.random.default_rng(0)).shape
    (4, 3)
    """
    with_opposite = k % 2 == 1 and n % 2 == 0
    n_steps = k // 2 if with_opposite else (k + 1) // 2
    steps = 1 + rng.choice((n - 1) // 2, size=n_steps, replace=False)
    steps = np.concatenate([steps, -steps, np.full(int(with_opposite), n // 2)])
    order = rng.permutation(n)
    place = np.argsort(order)
    return order[(place[:, None] + steps) % n]


class SampledPairs(NamedTuple):
    """The values that a form should take for the pairs of a sample; see `Pairs`."""

    form: Array  # B (f, f), symmetric
    partners: IntArray  # (n, k): if i has the partner j, then j has i
    values: Array  # T (n, k)

    @property
    def weights(self) -> Array:
        """See `Pairs`: all 1."""
        return np.ones(len(self.partners))

    @property
    def block(self) -> int:
        """See `Pairs`."""
        return BLOCK

    def row_problems(self, M: Array, gram: Array, rows: slice) -> tuple[Array, Array]:
        """See `Pairs`: in (18), the sums are over the partners."""
        B, T = self.form, self.values[rows]
        near = M[self.partners[rows]]
        Q = B @ (near.mT @ near) @ B  # (18a)
        u = -2.0 * (T[:, None] @ near)[:, 0] @ B  # (18b)
        return Q, u

    def cross_terms(self, old: Array, move: Array, rows: slice) -> float:
        """See `Pairs`: only partners within the block matter."""
        B, J = self.form, self.partners[rows]
        i, slot = np.nonzero((rows.start <= J) & (rows.stop > J))
        j = J[i, slot] - rows.start
        old_B, move_B = old @ B, move @ B
        r = _products(old_B, i, old, j) - self.values[rows][i, slot]
        p, p_back = _products(move_B, i, old, j), _products(old_B, i, move, j)
        missed = missed_change(r, p, p_back, _products(move_B, i, move, j))
        return 0.5 * float(missed.sum())  # each pair was met twice

    def objective(self, M: Array) -> float:
        """See `Pairs`."""
        MB, total = M @ self.form, 0.0
        for rows in self._stripes():
            errors = (M[self.partners[rows]] @ MB[rows, :, None])[:, :, 0] - self.values[rows]
            total += float(np.vdot(errors, errors))
        return 0.5 * total

    def line_coefficients(self, M: Array, E: Array) -> Array:
        """See `Pairs`: the error of a pair is ``a + b s + c s^2``."""
        left = np.stack([M @ self.form, E @ self.form], axis=2)
        total = np.zeros(5)
        for rows in self._stripes():
            J = self.partners[rows]
            MM, EM = np.moveaxis(M[J] @ left[rows], 2, 0)
            ME, c = np.moveaxis(E[J] @ left[rows], 2, 0)
            a, b = MM - self.values[rows], ME + EM
            ab, ac, bb, bc, cc = (
                np.vdot(x, y) for x, y in ((a, b), (a, c), (b, b), (b, c), (c, c))
            )
            total += 0.0, 2.0 * ab, bb + 2.0 * ac, 2.0 * bc, cc
        return 0.5 * total

    def _stripes(self) -> list[slice]:
        n, k = self.partners.shape
        return blocks_of(n, max(1, STRIPE_PAIRS // k))


def _products(left: Array, i: IntArray, right: Array, j: IntArray) -> Array:
    return np.einsum("pf,pf->p", left[i], right[j])
