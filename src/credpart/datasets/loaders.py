"""Bundled data sets: the csv files beside this module, with where they come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credpart._checks import check_choice

CLASSES = "class"  # the column of the classes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A bundled data set: the measurements, and the classes that they were not clustered by.

    Examples
    --------
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris()
    >>> iris.X.shape, len(iris.y), iris.name
    ((150, 4), 150, 'iris')
    """

    frame: pd.DataFrame  # the measurements, and in a column `CLASSES` the classes, if known
    name: str
    description: str

    @property
    def X(self) -> pd.DataFrame:
        """The measurements."""
        return self.frame.drop(columns=CLASSES, errors="ignore")

    @property
    def y(self) -> NDArray[np.str_] | None:
        """The classes; None if none are known."""
        if CLASSES not in self.frame:
            return None
        classes: NDArray[np.str_] = self.frame[CLASSES].to_numpy(dtype=np.str_)
        classes.flags.writeable = False
        return classes

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}, {n} objects x {d}: {self.description})"


def load_iris() -> Dataset:
    """Return Anderson's irises: 150 flowers x 4 lengths in cm, 50 of each of three species.

    Anderson (1935), Bulletin of the American Iris Society 59, 2-5; Fisher (1936), Annals of
    Eugenics 7, 179-188.  The values are those of R's ``iris``, which agree with Fisher's table
    in rows 35 and 38, where the copy of the UCI repository does not.

    Examples
    --------
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris()
    >>> iris
    Dataset('iris', 150 objects x 4: sizes of flowers of three species)
    >>> iris.X.iloc[34].tolist(), str(iris.y[34])
    ([4.9, 3.1, 1.5, 0.2], 'setosa')
    """
    frame = _read("iris").rename(columns={"species": CLASSES})
    return Dataset(frame, "iris", "sizes of flowers of three species")


def load_diabetes() -> Dataset:
    """Return Reaven and Miller's diabetes data: 145 adults x 3, in three clinical classes.

    Reaven and Miller (1979), Diabetologia 16, 17-24, as in the R package mclust 6.0.0, whose
    values the paper used.  Its manual calls them flawed: ``glucose`` is fasting plasma glucose,
    ``insulin`` the area under the glucose curve and ``sspg`` the area under the insulin curve,
    and row 104 (counted from 1) has 45 for an area of 455.

    Examples
    --------
    >>> from credpart.datasets import load_diabetes
    >>> diabetes = load_diabetes()
    >>> diabetes
    Dataset('diabetes', 145 objects x 3: blood chemistry of healthy and diabetic adults)
    >>> diabetes.X.iloc[103].tolist(), str(diabetes.y[103])
    ([75.0, 45.0, 392.0], 'Chemical')
    """
    description = "blood chemistry of healthy and diabetic adults"
    return Dataset(_read("diabetes"), "diabetes", description)


def load_gvhd(sample: bool = False) -> Dataset:
    """Return cells of a patient with graft-versus-host disease: 9083 x 4 biomarkers.

    Brinkman et al. (2007), Biology of Blood and Marrow Transplantation 13, 691-700, the positive
    patient, as ``GvHD.pos`` in the R package mclust 6.0.0.  No classes are known.

    Parameters
    ----------
    sample : bool
        Take one fixed random sample of 1000 cells.  The paper drew one of this size and does not
        say which.  The index of ``X`` holds their rows in the whole.

    Examples
    --------
    >>> from credpart.datasets import load_gvhd
    >>> load_gvhd(sample=True)
    Dataset('gvhd-sample', 1000 objects x 4: biomarkers of cells, flow cytometry)
    >>> load_gvhd().X.iloc[0].to_dict()
    {'CD4': 308.0, 'CD8b': 220.0, 'CD3': 157.0, 'CD8': 339.0}
    """
    frame, name = _read("gvhd"), "gvhd"
    if sample:
        with files(__package__).joinpath("gvhd_sample.txt").open() as rows:
            frame, name = frame.iloc[np.loadtxt(rows, dtype=int)], "gvhd-sample"
    return Dataset(frame, name, "biomarkers of cells, flow cytometry")


def load_butterfly() -> Dataset:
    """Return the butterfly: 11 points of two clusters and one between them.

    Masson and Denoeux (2008), Pattern Recognition 41, 1384-1397, without the outlier that some
    copies have as row 12, as in the paper.

    Examples
    --------
    >>> from credpart.datasets import load_butterfly
    >>> load_butterfly().X.iloc[5].tolist()
    [0.0, 0.0]
    """
    return Dataset(_read("butterfly"), "butterfly", "two clusters with a point between them")


DATASETS: Mapping[str, Callable[[], Dataset]] = {
    "iris": load_iris,
    "diabetes": load_diabetes,
    "gvhd": load_gvhd,
    "gvhd-sample": partial(load_gvhd, sample=True),
    "butterfly": load_butterfly,
}


def load(name: str) -> Dataset:
    """Return a bundled data set by its name, one of ``DATASETS``.

    Examples
    --------
    >>> from credpart.datasets import load
    >>> load("butterfly")
    Dataset('butterfly', 11 objects x 2: two clusters with a point between them)
    """
    return DATASETS[check_choice("name", name, DATASETS)]()


def _read(stem: str) -> pd.DataFrame:
    """A table with all its measurements as floats; the classes come last."""
    with files(__package__).joinpath(f"{stem}.csv").open(encoding="utf-8") as lines:
        frame = pd.read_csv(lines)
    return frame.astype(dict.fromkeys(frame.select_dtypes("number"), np.float64))
