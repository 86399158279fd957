r"""Two kinds of doubt about the cluster of an object, and the word that sums them up.

Let :math:`m_i` be the mass function of object i on the clusters :math:`\Omega`, and
:math:`\omega_i` its label, the cluster of maximum plausibility.  The mass of 1 has four parts:

.. math::

    \underbrace{m_i(\{\omega_i\})}_{\text{belief}}
    + \underbrace{\sum_{\omega \ne \omega_i} m_i(\{\omega\})}_{\text{overlap}}
    + \underbrace{\sum_{|A| > 1} m_i(A)}_{\text{undecided}}
    + \underbrace{m_i(\emptyset)}_{\text{outlying}} = 1.

*Belief* is ``Bel_i({omega_i})``.  *Overlap* is mass of other single clusters: where it is all of
the doubt, belief and plausibility agree, and the mass function is a probability that is known but
not near 1.  Clusters that overlap have such objects however many data there are.  The *undecided*
part is ``Pl_i({omega_i}) - Bel_i({omega_i})`` and the mass of sets of several clusters without the
label; it is 0 if and only if belief and plausibility agree for all clusters.  It is what the data
do not tell yet, and more data make it smaller.  The *outlying* part says that the object is in no
cluster; it is 0 where the empty set is no focal set.

An object is **sure** if its belief is at least a threshold.  Else its largest part of doubt gives
the word: **overlapping**, **undecided** or **outlying**.  Of equal parts the undecided one counts
first, then the overlap.

The set of maximum mass of [D20] answers another question.  With masses .4, .3 and .3 on three
single clusters it is a single cluster, although the belief in it is only .4.
"""

from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray

THRESHOLD = 0.9  # belief from which on an object is called sure
WORDS = ("sure", "overlapping", "undecided", "outlying")
PARTS_IN_ORDER_OF_TIES = ("undecided", "overlap", "outlying")
WORD_OF_PART = {"overlap": "overlapping", "undecided": "undecided", "outlying": "outlying"}


class Doubt(NamedTuple):
    """The four parts of the mass of each object, each of shape (n,); they sum to 1."""

    belief: Array  # mass of the label alone
    overlap: Array  # mass of the other single clusters
    undecided: Array  # mass of sets of several clusters
    outlying: Array  # mass of the empty set


def divide(masses: Array, focal: BoolArray, labels: IntArray) -> Doubt:
    """Return the parts of masses (n, f) on focal sets (f, c), given the label (n,) of each object.

    >>> focal = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    >>> divide(np.array([[0.5, 0.2, 0.3]]), focal, np.array([0])).overlap
    array([0.2])
    """
    sizes = focal.sum(axis=1)
    single = focal & (sizes == 1)[:, None]  # row of {k}: the indicator of k; other rows: zeros
    is_own = single.T[labels]  # (n, f)
    return Doubt(
        belief=np.where(is_own, masses, 0.0).sum(axis=1),
        overlap=np.where((sizes == 1) & ~is_own, masses, 0.0).sum(axis=1),
        undecided=masses[:, sizes > 1].sum(axis=1),
        outlying=masses[:, sizes == 0].sum(axis=1),
    )


def word_codes(doubt: Doubt, threshold: float) -> IntArray:
    """Return the place (n,) in `WORDS` of the word for each object.

    >>> parts = np.array([[0.95, 0.5, 0.5], [0.05, 0.4, 0.1], [0.0, 0.1, 0.4], [0.0, 0.0, 0.0]])
    >>> word_codes(Doubt(*parts), 0.9)
    array([0, 1, 2])
    """
    parts = np.array([getattr(doubt, name) for name in PARTS_IN_ORDER_OF_TIES])
    codes = np.array([WORDS.index(WORD_OF_PART[name]) for name in PARTS_IN_ORDER_OF_TIES])
    largest = codes[parts.argmax(axis=0)]
    return np.where(doubt.belief >= threshold, WORDS.index("sure"), largest)


def possible_words(focal: BoolArray) -> tuple[str, ...]:
    """Return the words that objects of a partition can have; none is outlying without a set for it.

    >>> possible_words(np.array([[True, False], [False, True]]))
    ('sure', 'overlapping', 'undecided')
    """
    return WORDS if _has_empty_set(focal) else WORDS[:3]


def possible_parts(focal: BoolArray) -> tuple[str, ...]:
    """Return the parts of the mass that a partition can have, in order.

    >>> possible_parts(np.array([[False, False], [False, True]]))
    ('belief', 'overlap', 'undecided', 'outlying')
    """
    return Doubt._fields if _has_empty_set(focal) else Doubt._fields[:3]


def _has_empty_set(focal: BoolArray) -> bool:
    return bool((~focal).all(axis=1).any())


def sets_of_doubt(masses: Array, focal: BoolArray, labels: IntArray, codes: IntArray) -> BoolArray:
    """Return for each object the clusters (n, c) that its word is about.

    A sure object has its label; an overlapping one its label and the other single cluster of the
    highest mass; an undecided one the set of several clusters of the highest mass; an outlying
    one none.

    >>> focal = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    >>> sets_of_doubt(np.array([[0.5, 0.1, 0.4]]), focal, np.array([0]), np.array([1])).astype(int)
    array([[1, 0, 1]])
    """
    n, c = len(masses), focal.shape[1]
    rows, sizes = np.arange(n), focal.sum(axis=1)
    own = np.zeros((n, c), dtype=bool)
    own[rows, labels] = True
    others = np.where(own, -1.0, masses[:, sizes == 1] @ focal[sizes == 1])
    pairs = own.copy()
    pairs[rows, others.argmax(axis=1)] = True
    several = focal[sizes > 1] if (sizes > 1).any() else np.zeros((1, c), dtype=bool)
    heaviest = masses[:, sizes > 1].argmax(axis=1) if (sizes > 1).any() else np.zeros(n, np.intp)
    found: BoolArray = np.choose(
        codes[:, None], [own, pairs, several[heaviest], np.zeros((n, c), dtype=bool)]
    )
    return found
