"""Cluster the Iris data, and see which objects are between two species."""

import pandas as pd

from credpart import CalibratedClustering
from credpart.datasets import load_iris


def main() -> None:
    iris = load_iris()
    model = CalibratedClustering(n_clusters=3, random_state=0).fit(iris.X)
    print(f"Model {model.mixture_.model}, BIC {model.mixture_.bic:.1f}; replicates chose", end=" ")
    print(", ".join(f"{name} {count}" for name, count in model.replicates_.chosen().items()))
    print()
    print(model.partition_.summary())
    print()
    frame = model.partition_.to_frame()
    print(
        pd.crosstab(iris.y, frame["set_label"].to_numpy(), rownames=["species"], colnames=["set"])
    )


if __name__ == "__main__":
    main()
