"""Tables from files: what was written comes back; channels of a cytometer; optional packages."""

import sys

import flowio
import numpy as np
import pandas as pd
import pytest

from credpart.cli import main
from credpart.datasets import load_iris
from credpart.tables import Transform, read_objects

IRIS = load_iris()
CHANNELS = ["FSC-A", "FITC-A", "PE-A", "Time"]
EVENTS = np.random.default_rng(0).normal(1000.0, 300.0, (60, 4)).astype(np.float32).astype(float)


@pytest.fixture
def fcs(tmp_path):
    path = tmp_path / "cells.fcs"
    with path.open("wb") as stream:
        markers = ["", "CD4", "", ""]
        flowio.create_fcs(stream, EVENTS.ravel().tolist(), CHANNELS, opt_channel_names=markers)
    return path


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_table_comes_back_as_it_was(kind, tmp_path):
    path = tmp_path / f"iris.{kind}"
    names = [f"flower {i}" for i in range(150)]
    WRITERS[kind](IRIS.X.assign(kind=IRIS.y, name=names), path)
    objects = read_objects(path, id_column="name", label_column="kind")
    pd.testing.assert_frame_equal(objects.X, IRIS.X)
    assert objects.X.to_numpy().tobytes() == IRIS.X.to_numpy().tobytes()
    assert list(objects.ids) == names
    np.testing.assert_array_equal(objects.classes, IRIS.y)


def test_an_index_of_a_parquet_file_can_name_the_objects(tmp_path):
    frame = IRIS.X.set_axis([f"flower {i}" for i in range(150)]).rename_axis("name")
    frame.to_parquet(tmp_path / "iris.parquet")
    objects = read_objects(tmp_path / "iris.parquet", id_column="name")
    assert objects.ids[3] == "flower 3"
    assert list(objects.X) == list(IRIS.X)


def test_an_fcs_file_comes_back_without_its_time(fcs):
    X = read_objects(fcs).X
    assert list(X) == ["FSC-A", "CD4", "PE-A"]
    np.testing.assert_array_equal(X.to_numpy(), EVENTS[:, :3])
    assert list(read_objects(fcs, columns=["Time", "CD4"]).X) == ["Time", "CD4"]


def test_transforms_are_for_fluorescence(fcs):
    X = read_objects(fcs, transform=Transform("asinh", cofactor=5.0)).X.to_numpy()
    np.testing.assert_array_equal(X[:, 0], EVENTS[:, 0])
    np.testing.assert_allclose(np.sinh(X[:, 1:]) * 5.0, EVENTS[:, 1:3])
    logicle = read_objects(fcs, transform=Transform("logicle")).X.to_numpy()
    np.testing.assert_array_equal(logicle[:, 0], EVENTS[:, 0])
    assert (logicle[:, 1].argsort() == EVENTS[:, 1].argsort()).all()


def test_the_logicle_scale_meets_its_definition():
    # Moore and Parks (2012): T is at the top, and the derivative is least at 0.
    scale = Transform("logicle", logicle=(1000.0, 4.0, 1.0, 0.0))
    ends = scale(np.array([[0.0], [1000.0]]))
    np.testing.assert_allclose(ends[:, 0], [1.0 / 4.0, 1.0])


def test_the_command_line_reads_fcs_and_parquet_alike(fcs, tmp_path):
    frame = read_objects(fcs, columns=["CD4", "PE-A"]).X
    frame.to_parquet(tmp_path / "cells.parquet")
    tables = []
    for source in (fcs, tmp_path / "cells.parquet"):
        arguments = "--columns CD4,PE-A --model EII --clusters 2 --replicates 20 -q --out"
        folder = tmp_path / source.suffix[1:]
        with pytest.raises(SystemExit, match="0"):
            main(["fit", str(source), *arguments.split(), str(folder)])
        tables.append((folder / "masses.csv").read_bytes())
    assert tables[0] == tables[1]


def test_predict_transforms_as_the_fit_did(fcs, tmp_path, capsys):
    arguments = "--transform asinh --cofactor 5 --model EII --clusters 2 --replicates 20 -q --out"
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(fcs), *arguments.split(), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="0"):
        main(["predict", str(tmp_path / "out"), str(fcs), "-q"])
    lines = capsys.readouterr().out.splitlines()
    fitted = (tmp_path / "out" / "masses.csv").read_text().splitlines()
    new, old = (pd.Series([line.split(",")[1] for line in table]) for table in (lines, fitted))
    assert (new == old).all()


def test_the_separator_of_a_csv_file_is_found(tmp_path):
    for mark in ";\t":
        IRIS.X.to_csv(tmp_path / "iris.csv", index=False, sep=mark)
        pd.testing.assert_frame_equal(read_objects(tmp_path / "iris.csv").X, IRIS.X)


def test_names_of_rows_that_r_wrote_are_no_attribute(tmp_path):
    (tmp_path / "r.csv").write_text('"","a","b"\n"1",1,2\n"2",2,3\n')
    objects = read_objects(tmp_path / "r.csv")
    assert list(objects.X) == ["a", "b"]
    assert list(objects.ids) == [1, 2]


@pytest.mark.parametrize(
    ("package", "name"), [("flowio", "cells.fcs"), ("pyarrow", "cells.parquet")]
)
def test_a_missing_package_is_named_with_its_remedy(package, name, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs the package {package}: pip install 'credpart"):
        read_objects(tmp_path / name)


def test_text_is_taken_where_categories_are(tmp_path):
    IRIS.X.assign(kind=IRIS.y).to_csv(tmp_path / "iris.csv", index=False)
    objects = read_objects(tmp_path / "iris.csv", categories=True)
    assert objects.X["kind"].iloc[0] == "setosa"
    with pytest.raises(ValueError, match="got 'setosa' in column 'kind', row 0"):
        read_objects(tmp_path / "iris.csv")
