"""AnnData objects and files."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from credpart import ECM, EvidentialPartition
from credpart.annotated_data import annotate, objects_of
from credpart.datasets import load_iris
from credpart.tables import TextFormat, read_objects

IRIS = load_iris()
NAMES = pd.Index([f"cell {i}" for i in range(150)])


def like_anndata(X=None, **obsm):
    obs = pd.DataFrame({"kind": IRIS.y, "day": 3}, index=NAMES)
    values = IRIS.X.to_numpy() if X is None else X
    return SimpleNamespace(
        X=values, obs=obs, obsm=dict(obsm), obs_names=NAMES, var_names=IRIS.X.columns, layers={}
    )


def test_the_matrix_that_is_named_is_taken():
    pca = np.arange(300.0).reshape(150, 2)
    assert objects_of(like_anndata()).equals(IRIS.X.set_axis(NAMES))
    adata = like_anndata(X_pca=pca)
    found = objects_of(adata, "X_pca")
    assert list(found) == ["X_pca 1", "X_pca 2"]
    assert found.to_numpy().tobytes() == pca.tobytes()
    assert objects_of(adata, "X").shape == (150, 4)
    with pytest.raises(ValueError, match=r"one of 'X', 'X_pca', got None\. Say .*use='X_pca'"):
        objects_of(adata)
    with pytest.raises(ValueError, match="`use` must be one of 'X', 'X_pca', got 'X_umap'"):
        objects_of(adata, "X_umap")
    with pytest.raises(TypeError, match="`adata` must be an AnnData object, got 'DataFrame'"):
        objects_of(IRIS.X)


def test_a_sparse_matrix_is_made_dense_if_it_fits(monkeypatch):
    adata = like_anndata(sparse.csr_matrix(IRIS.X.to_numpy()))
    assert objects_of(adata).equals(IRIS.X.set_axis(NAMES))
    monkeypatch.setattr("credpart.annotated_data.free_memory", lambda: 100.0)
    with pytest.raises(ValueError, match=r"be dense in the 0\.0 GB of memory"):
        objects_of(adata)


def test_masses_labels_and_doubts_go_into_the_object():
    adata = like_anndata()
    model = ECM(3, random_state=0).fit(objects_of(adata))
    annotate(adata, model)
    obs, partition = adata.obs, model.partition_
    assert adata.obsm["credpart_masses"].to_numpy().tobytes() == partition.masses.tobytes()
    assert obs["credpart_label"].astype(int).tolist() == (model.labels_ + 1).tolist()
    np.testing.assert_array_equal(obs["credpart_belief"], model.probabilities_)
    parts = ["belief", "overlap", "undecided", "outlying"]
    np.testing.assert_allclose(obs[[f"credpart_{part}" for part in parts]].sum(axis=1), 1.0)
    annotate(adata, partition, name="again")
    assert (obs["again_set"] == obs["credpart_set"]).all()


def test_an_outlier_has_no_label():
    adata = like_anndata()
    masses = np.tile([0.1, 0.9, 0.0], (150, 1))
    masses[7] = [0.8, 0.1, 0.1]
    annotate(adata, EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1]]))
    assert np.flatnonzero(adata.obs["credpart_label"].isna()).tolist() == [7]


def test_other_observations_are_refused():
    adata, hard = like_anndata(), np.zeros(150, dtype=int)
    with pytest.raises(ValueError, match="got 2 objects for 150 observations"):
        annotate(adata, EvidentialPartition.from_hard([0, 1]))
    with pytest.raises(ValueError, match="other names, or in another order"):
        annotate(adata, EvidentialPartition.from_hard(hard, index=NAMES[::-1]))
    with pytest.raises(TypeError, match="`model` must be a fitted clustering"):
        annotate(adata, hard)
    assert list(adata.obs) == ["kind", "day"]


@pytest.mark.filterwarnings("ignore")  # of anndata, about pandas and zarr
def test_a_file_of_anndata_is_read_with_the_columns_of_its_observations(tmp_path):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"kind": IRIS.y, "depth": 3.5}, index=NAMES)
    adata = anndata.AnnData(IRIS.X.set_axis(NAMES), obs=obs)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    found = read_objects(path, label_column="kind")
    assert found.X.equals(IRIS.X)
    assert found.ids.tolist() == NAMES.tolist()
    assert found.classes.tolist() == list(IRIS.y)
    adata.obsm["X_pca"] = IRIS.X.to_numpy()[:, :2]
    adata.write_h5ad(path)
    with pytest.raises(ValueError, match="Say which, as in `sheet='X_pca'`"):
        read_objects(path)
    pca = read_objects(path, text_format=TextFormat(sheet="X_pca"))
    assert list(pca.X) == ["X_pca 1", "X_pca 2"]
    annotate(adata, ECM(3, random_state=0).fit(objects_of(adata, "X")))
    adata.write_h5ad(path)
    again = anndata.read_h5ad(path)
    np.testing.assert_allclose(again.obsm["credpart_masses"].sum(axis=1), 1.0)
    path.write_bytes(b"no")
    with pytest.raises(ValueError, match=r"cells\.h5ad' must be an AnnData file"):
        read_objects(path)
