"""Colours that colour-blind people can tell apart, and symbols that say the same once more."""

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from credpart._arrays import Array, BoolArray, IntArray

# Okabe and Ito (2008), without yellow, which is not seen on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Thirteen more, each as far as possible from all before it, in OKLab, to normal eyes and to eyes
# without red or without green cones: none of them is nearer to another than 0.07, which is about
# what parts the nearest two of the first seven.
MORE_COLOURS = (
    *("#78001E", "#4B1E87", "#8778FF", "#874B69", "#5AD296", "#B40F00", "#2D3CC3"),
    *("#3C3C5A", "#F05A69", "#4B5AE1", "#4B4B96", "#1ED2E1", "#5A87D2"),
)
N_COLOURS = len(COLOURS) + len(MORE_COLOURS)
SYMBOLS = ("o", "^", "+", "s", "x", "D", "v", "*", "<", "P", ">", "p")
LINES = ("-", "--", "-.", ":")
HATCHES = ("////", "xxxx", "....", "\\\\\\\\", "||||", "++++", "----", "oo", "**")
GREY = "#767676"
OUTLIER_SYMBOL = SYMBOLS.index("x")


def colours(c: int) -> Array:
    """Return c colours (c, 3): those of the lists; of more they repeat, but with other symbols.

    Twenty colours and twelve symbols make sixty pairs.

    >>> colours(2).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.84, 0.37, 0.  ]])
    """
    listed = np.array([to_rgb(colour) for colour in COLOURS + MORE_COLOURS])
    return np.asarray(listed[np.arange(c) % len(listed)])


def symbols(codes: IntArray) -> IntArray:
    """Return which of `SYMBOLS` stands for each code; they repeat if there are more codes."""
    return codes % len(SYMBOLS)


def set_styles(focal: BoolArray) -> list[dict[str, Any]]:
    """How sets of clusters are filled: one alone in its colour, others in their mean, hatched.

    A cluster whose colour is that of an earlier one is hatched too.

    >>> [style["hatch"] for style in set_styles(np.array([[True, False], [True, True]]))]
    [None, '////']
    """
    hatches, palette = cycle(HATCHES), colours(focal.shape[1])
    styles: list[dict[str, Any]] = []
    for members in focal:
        size = members.sum()
        face = palette[members].mean(axis=0) if size else np.ones(3)
        is_plain = size == 1 and members.argmax() < N_COLOURS
        hatch = None if is_plain else next(hatches)
        styles.append({"facecolor": face, "edgecolor": "white" if size else GREY, "hatch": hatch})
    return styles
