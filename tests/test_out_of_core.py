"""Data in partitions: the same bytes however they are worked on, and after every interruption."""

import json
import os
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from credpart import CalibratedClustering, cluster_dataset, load_model
from credpart._bootstrap.block_sums import RowsInMemory
from credpart.cli import main
from credpart.datasets import make_mixture1
from credpart.errors import ExistingFileError, FileContentError, InputError, MissingFileError
from credpart.mixture import fit_mixture
from credpart.mixture.optimisation.e_step import e_step_of_block
from credpart.out_of_core import partitioned_sources, resumable_run
from credpart.out_of_core.partitioned_sources import open_partitions
from credpart.out_of_core.passes import PartitionedRows, Reading, count_rows, draw_rows
from tests.attacks import partitioned_runs

N, FILES = 10_000, 5
OPTIONS = {
    "model": "EII",
    "n_replicates": 40,
    "pairs": 12,
    "random_state": 0,
    "sample_rows": 600,
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Several Parquet files with a column of names."""
    folder = tmp_path_factory.mktemp("cells")
    frame = pd.DataFrame(make_mixture1(N, random_state=1).X, columns=["x", "y"])
    frame.insert(0, "cell", [f"cell {i}" for i in range(N)])
    for i, rows in enumerate(np.array_split(np.arange(N), FILES)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet", row_group_size=750)
    return folder, frame


def run(cells, out, **options):
    how = {**OPTIONS, **options}
    return cluster_dataset(str(cells[0] / "*.parquet"), out, 3, id_column="cell", **how)


@pytest.fixture(scope="module")
def found(cells, tmp_path_factory):
    return run(cells, tmp_path_factory.mktemp("found") / "out")


def content(result):
    """All bytes that must not depend on how a run went."""
    summary = {name: value for name, value in result.summary.items() if name != "timings"}
    return [path.read_bytes() for path in result.parts], json.dumps(summary)


def test_profiles_say_that_they_are_those_of_a_sample(found):
    said = "These are figures of a random sample of 600 of the 10,000 objects."
    assert load_model(found.folder / "model.npz").result_.profiles().scope == said
    assert said in (found.folder / "report.html").read_text(encoding="utf-8")


def test_every_row_gets_its_masses(cells, found):
    table = pd.concat([pd.read_parquet(path) for path in found.parts])
    assert table["id"].tolist() == cells[1]["cell"].tolist()
    np.testing.assert_allclose(table[["belief", "overlap", "undecided"]].sum(axis=1), 1.0)
    assert (table["belief"] <= table["plausibility"] + 1e-12).all()
    shares = table["verdict"].value_counts(normalize=True, sort=False)
    assert found.summary["verdicts"] == pytest.approx(
        {word: shares[word] for word in ("sure", "overlapping", "undecided")}
    )
    assert ((table["verdict"] == "sure") == (table["belief"] >= 0.9)).all()
    parts = table[["belief", "overlap", "undecided"]].mean()
    assert found.summary["doubt"] == pytest.approx(parts.to_dict())
    assert found.summary["sets"] == {
        name: count for name, count in table["set"].value_counts(sort=False).items() if count
    }
    assert sum(found.summary["sets"].values()) == found.summary["n"] == N
    assert sorted(path.name for path in found.folder.iterdir()) == [
        *("masses", "model.npz", "report.html", "summary.json")
    ]


def test_masses_are_those_of_the_stored_model(cells, found):
    model = load_model(found.folder / "model.npz")
    table = pd.read_parquet(found.parts[0])
    masses = model.predict_masses(cells[1][["x", "y"]].iloc[:50])
    np.testing.assert_allclose(masses.max(axis=1), table["mass"][:50], atol=1e-9)
    assert model.mixture_.n_objects == N


def test_masses_are_close_to_those_of_data_in_memory(cells, found):
    X = cells[1][["x", "y"]].to_numpy()
    options = {name: OPTIONS[name] for name in ("model", "n_replicates", "pairs", "random_state")}
    inside = CalibratedClustering(3, **options).fit(X)
    assert found.summary["loglik"] == pytest.approx(inside.mixture_.loglik, rel=1e-8)
    assert found.result.replicates.decision.kind == "linear"
    order = inside.mixture_.params.means[:, 0].argsort().argsort()
    ours = found.result.mixture.params.means[:, 0].argsort().argsort()
    table = pd.concat([pd.read_parquet(path) for path in found.parts])
    labels = ours[table["label"].to_numpy() - 1]
    assert (labels == order[inside.labels_]).mean() > 0.995
    # Landmarks are those of other samples of a thousand objects.
    belief = inside.partition_.belief()[np.arange(N), inside.labels_]
    same = labels == order[inside.labels_]
    assert np.abs(table["belief"].to_numpy() - belief)[same].mean() < 0.02


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_backends_give_the_same_bytes(cells, found, tmp_path, backend):
    with parallel_config(backend=backend, n_jobs=2):
        assert content(run(cells, tmp_path / "out")) == content(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask, when its workers end
def test_dask_gives_the_same_bytes(cells, found, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        parallel_config(backend="dask"),
    ):
        assert content(run(cells, tmp_path / "out")) == content(found)


class Killed(BaseException):
    """What no handler of errors catches."""


STAGES = ("scan", "draw_sample", "select_on_sample", "refine", "find_replicates", "find_result")


def test_a_run_that_is_killed_in_every_stage_ends_with_the_same_bytes(
    cells, found, tmp_path, monkeypatch
):
    times = {}
    for stage in (*STAGES, "write_partition", "dump_model", "to_html"):
        calls, original = [], getattr(resumable_run, stage)

        def interrupt(*args, stage=stage, calls=calls, original=original, **kwargs):
            calls.append(args)
            if stage == "write_partition" and len(calls) < 3:
                return original(*args, **kwargs)
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(resumable_run, stage, interrupt)
            with pytest.raises(Killed):
                run(cells, tmp_path / "out", resume=True)
        (begun,) = tmp_path.iterdir()  # hidden, and nothing else is there
        assert begun.name.startswith(".out.")
        if stage == "write_partition":
            times = {path.name: path.stat().st_mtime_ns for path in begun.glob("masses/part-*")}
            assert len(times) == 2
    again = run(cells, tmp_path / "out", resume=True)
    assert content(again) == content(found)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    kept = {path.name: path.stat().st_mtime_ns for path in again.parts}
    assert times.items() <= kept.items()  # these were not made again


def test_other_data_or_parameters_are_not_resumed(cells, tmp_path, monkeypatch):
    folder = shutil.copytree(cells[0], tmp_path / "cells")

    def killed(*args):
        raise Killed

    monkeypatch.setattr(resumable_run, "refine", killed)
    with pytest.raises(Killed):
        run((folder,), tmp_path / "out")
    with pytest.raises(InputError, match=r"`resume` must go on with .* got other parameters"):
        run((folder,), tmp_path / "out", resume=True, level=0.8)
    frame = pd.read_parquet(folder / "2.parquet")
    frame.iloc[1:].to_parquet(folder / "2.parquet")
    with pytest.raises(InputError, match=r"got other data \(.*2.parquet\)"):
        run((folder,), tmp_path / "out", resume=True)


def test_a_run_that_is_not_resumed_starts_again(cells, tmp_path, monkeypatch):
    def killed(*args):
        raise Killed

    monkeypatch.setattr(resumable_run, "select_on_sample", killed)
    for _ in range(2):
        with pytest.raises(Killed):
            run(cells, tmp_path / "out")
        assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_exists_is_replaced_only_if_asked(cells, found):
    with pytest.raises(ExistingFileError, match="`out` must be a new folder"):
        run(cells, found.folder)


def test_a_bad_cell_is_named_by_file_column_and_row(cells, tmp_path):
    folder = shutil.copytree(cells[0], tmp_path / "cells")
    frame = pd.read_parquet(folder / "3.parquet")
    frame.loc[frame.index[1700], "y"] = np.nan
    frame.to_parquet(folder / "3.parquet", row_group_size=1500)
    with pytest.raises(FileContentError, match=r"3.parquet' must hold fin.*column 'y', row 1700"):
        run((folder,), tmp_path / "out")
    assert not list(tmp_path.glob(".out*"))
    frame["y"] = frame["y"].fillna(0.0).astype(str)
    frame.loc[frame.index[5], "y"] = "low"
    frame.to_parquet(folder / "3.parquet")
    with pytest.raises(FileContentError, match=r"hold numbers, got 'low' in column 'y', row 5"):
        run((folder,), tmp_path / "out")
    frame.drop(columns="y").to_parquet(folder / "3.parquet")
    with pytest.raises(FileContentError, match=r"3.parquet' must have the columns of the others"):
        run((folder,), tmp_path / "out")
    (folder / "3.parquet").write_bytes(b"no such thing")
    with pytest.raises(FileContentError, match=r"3.parquet' must be a Parquet file"):
        run((folder,), tmp_path / "out")


def test_arguments_are_refused_before_anything_is_read(cells, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MissingFileError, match="`source` must name at least one file"):
        cluster_dataset(str(tmp_path / "*.parquet"), out, 3)
    with pytest.raises(InputError, match=r"`columns` must be in .* got 'z'"):
        run(cells, out, columns=["x", "z"])
    with pytest.raises(InputError, match="`model` must be a model of numbers"):
        run(cells, out, model="latent-class")
    with pytest.raises(InputError, match="`pairs` must be 'auto' or a number"):
        run(cells, out, pairs="all")
    with pytest.raises(InputError, match="`source` must be a path"):
        cluster_dataset(3, out, 3)
    assert not out.exists()


def test_kinds_of_sources_hold_the_same_rows(cells, tmp_path):
    frame = cells[1][["x", "y"]]
    for i, rows in enumerate(np.array_split(np.arange(N), 3)):
        frame.iloc[rows].to_csv(tmp_path / f"{i}.csv", index=False)
    dask_frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    dask_array = pytest.importorskip("dask.array").from_array(frame.to_numpy(), chunks=(6000, 1))
    reading = Reading(("x", "y"))
    for source in (frame, str(tmp_path), dask_frame, cells[0], dask_array):
        opened = open_partitions(source)
        how = reading if opened.has_names else Reading(("0", "1"))
        drawn = [draw_rows(part, how, 0, i, 2.0) for i, part in enumerate(opened.partitions)]
        assert np.array_equal(np.concatenate([part.values for part in drawn]), frame.to_numpy())
        assert sum(count_rows(part, how) for part in opened.partitions) == N


def test_small_row_groups_make_one_partition(cells, monkeypatch):
    monkeypatch.setattr(partitioned_sources, "PARTITION_ROWS", 1500)
    parts = open_partitions(cells[0]).partitions
    assert [part.n_rows for part in parts] == [1500, 500] * FILES
    assert [part.first_row for part in parts] == [0, 1500] * FILES


def test_no_frame_is_longer_than_the_limit(cells, monkeypatch):
    monkeypatch.setattr(partitioned_sources, "FRAME_ROWS", 700)
    for part in open_partitions(cells[0]).partitions:
        sizes = [len(frame) for frame in part.frames(["x"])]
        assert max(sizes) <= 700
        assert sum(sizes) == part.n_rows


def test_passes_over_partitions_add_up_to_those_of_data_in_memory(cells):
    X = cells[1][["x", "y"]].to_numpy()
    fit = fit_mixture(X[:500], 3, "VVV")
    kernel = partial(e_step_of_block, fit.family, fit.internal, False)
    rows = PartitionedRows(open_partitions(cells[0]).partitions, Reading(("x", "y")))
    for one, other in zip(
        rows.sum_over_blocks(kernel),
        RowsInMemory(X, np.ones(N)).sum_over_blocks(kernel),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-6)


def test_refits_of_the_sample_take_over_where_linear_replicates_fail(cells, tmp_path):
    X = cells[1][["x", "y"]].to_numpy()[:3000]
    options = {"n_replicates": 40, "sample_rows": 400, "random_state": 0}
    full = cluster_dataset(X, tmp_path / "full", 3, model="EII", refit="full", **options)
    assert full.result.replicates.decision.kind == "subsample"
    t = cluster_dataset(X, tmp_path / "t", 3, model="t-EII", **options)
    assert t.result.replicates.decision.kind == "sample"
    assert "model t-EII has no linear replicates" in t.summary["refits"]


def exit_code(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_the_command_takes_a_folder_and_refuses_what_partitions_lack(cells, tmp_path, capsys):
    out = tmp_path / "out"
    few = ["--clusters", "3", "--model", "EII", "--replicates", "40", "--pairs", "12"]
    few += ["--sample-rows", "600", "--id-column", "cell"]
    assert exit_code("fit", cells[0], *few, "--out", out, "--quiet") == 0
    assert len(list((out / "masses").iterdir())) == FILES
    for option in (["--no-header"], ["--drop", "x"], ["--missing", "drop"]):
        assert exit_code("fit", cells[0], *few, *option, "--out", tmp_path / "new") == 2
        assert "must not be given with data in partitions" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("model", ["EII", "t"])
def test_a_dry_run_says_what_each_stage_would_take_and_writes_nothing(
    cells, tmp_path, capsys, model
):
    command = ["fit", cells[0], "--clusters", "3", "--model", model, "--id-column", "cell"]
    assert exit_code(*command, "--out", tmp_path / "out", "--dry-run") == 0
    said = capsys.readouterr().out
    stages = ("scan", "sample", "select", "refine", "bootstrap", "partition", "masses", "in all")
    assert said.startswith(f"{N} rows in ")
    assert [line.split("  ")[0].strip() for line in said.splitlines()[1:]] == list(stages)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = tmp_path_factory.mktemp("undisturbed")
    partitioned_runs.make_source(place / "in")
    return partitioned_runs.run(place)


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize(
    "attack",
    [
        "a link to itself",
        "a file has other numbers at the end",
        "a stage that was kept is damaged",
        "a part of the masses is cut short",
        "what the run depends on is damaged",
        "the disk is full",
    ],
)
def test_files_that_change_and_lost_bytes_give_no_other_result(undisturbed, attack):
    assert partitioned_runs.attempt(attack, undisturbed) in ("same", "refused")
