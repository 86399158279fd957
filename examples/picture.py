"""Draw the picture of the README: the evidential partition of the Iris data."""

import sys

import matplotlib.pyplot as plt

from credpart import CalibratedClustering, plot
from credpart.datasets import load_iris


def main(path: str) -> None:
    iris = load_iris()
    model = CalibratedClustering(n_clusters=3, random_state=0).fit(iris.X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    plot.partition(
        model.partition_,
        iris.X,
        features=("petal_length", "petal_width"),
        classes=iris.y,
        ax=left,
    )
    plot.memberships(model.partition_, most=30, ax=right)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main(sys.argv[1])
