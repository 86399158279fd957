"""Data sets that other people made and classified: ``python -m benchmarks.published [file] [B]``.

Nothing was tuned on them; wine and wdbc are also in `benchmarks.doubt`.  They are read where they
are installed, from scikit-learn, palmerpenguins, and R's mclust and MASS, whose data are not
copied.  Options are the defaults but for B: the model and the number of clusters, from 1 to 9, are
chosen in each replicate; where there are more than 20 columns, once, and digits are the first ten
principal components.

Printed are the number of clusters found, the adjusted Rand index with the classes, the share of
objects that the masses call sure, and the share of objects, and of sure objects, whose class is the
most frequent one of their cluster.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import subprocess
import sys
import warnings
from importlib.util import find_spec
from io import StringIO
from time import process_time

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from benchmarks.coverage import Book
from credpart import CalibratedClustering

WIDE = 20  # columns above which the model is chosen once
R_DATA = {  # package, what to write as a table whose first column is the class
    "banknote": ("mclust", "banknote"),
    "thyroid": ("mclust", "thyroid"),
    "cross": ("mclust", "cross"),
    "crabs": ("MASS", "cbind(paste(crabs$sp, crabs$sex), crabs[4:8])"),
}


def sklearn_data(load):
    def read():
        found = load()
        return found.data, found.target

    return read


def digits():
    found = load_digits()
    return PCA(10, random_state=0).fit_transform(found.data), found.target


def penguins():
    from palmerpenguins import load_penguins

    table = load_penguins().dropna(subset="bill_length_mm")
    return table.iloc[:, 2:6].to_numpy(float), table["species"].to_numpy()


def r_data(package, value):
    def read():
        code = f"library({package}); write.csv({value}, row.names = FALSE)"
        run = ["Rscript", "-e", f"suppressPackageStartupMessages({{{code}}})"]
        text = subprocess.run(run, capture_output=True, check=True, text=True).stdout
        table = pd.read_csv(StringIO(text))
        return table.iloc[:, 1:].to_numpy(float), table.iloc[:, 0].to_numpy()

    return read


DATA = {
    "wine": sklearn_data(load_wine),
    **({"penguins": penguins} if find_spec("palmerpenguins") else {}),
    **{name: r_data(*where) for name, where in R_DATA.items()},
    "wdbc": sklearn_data(load_breast_cancer),
    "digits": digits,
}


def one_set(read, n_replicates):
    X, classes = read()
    began = process_time()
    model = CalibratedClustering(
        selection="each" if X.shape[1] <= WIDE else "once",
        n_replicates=n_replicates,
        random_state=0,
        n_jobs=1,
    ).fit(X)
    seconds = process_time() - began
    counts = pd.crosstab(model.labels_, classes)
    is_right = counts.idxmax(axis=1).loc[model.labels_].to_numpy() == classes
    is_sure = (model.partition_.doubt()["verdict"] == "sure").to_numpy()
    return {
        "n": len(X),
        "columns": X.shape[1],
        "classes": len(np.unique(classes)),
        "clusters": model.mixture_.n_clusters,
        "model": model.mixture_.model,
        "adjusted Rand": float(adjusted_rand_score(classes, model.labels_)),
        "sure": float(is_sure.mean()),
        "right, all": float(is_right.mean()),
        "right, sure": float(is_right[is_sure].mean()) if is_sure.any() else float("nan"),
        "right, others": float(is_right[~is_sure].mean()) if not is_sure.all() else float("nan"),
        "seconds": seconds,
    }


def print_table(results):
    columns = list(next(iter(results.values())))
    print("| data | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for (name,), found in results.items():
        values = found.values()
        cells = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in values)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "published.jsonl")
    for name, read in DATA.items():
        try:
            book.once((name,), one_set, read, int(sys.argv[2]) if len(sys.argv) > 2 else 500)
        except (FileNotFoundError, subprocess.CalledProcessError):
            print(f"{name}: R or its package is not installed")
    print_table(book.results)
