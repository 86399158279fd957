"""The paper's experiments run in their quick mode, resume, and write the same page again."""

import json
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

from benchmarks.paper import mixtures
from benchmarks.paper.__main__ import EXPERIMENTS, main
from benchmarks.paper.bench import PRINTED, Bench, Figures, Section, write_atomically
from benchmarks.paper.compare import judge_number
from benchmarks.paper.mixture_tables import EDGES, PAPER, conditional


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page of all experiments, in quick mode."""
    out = tmp_path_factory.mktemp("paper")
    main(["--jobs", "1", "--out", str(out)])
    return out


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_mode_runs(folder, name):
    text = (folder / "cache" / f"{name}.md").read_text(encoding="utf-8")
    assert "**Verdict:**" in text
    assert text in (folder / "paper.md").read_text(encoding="utf-8")


def test_every_figure_of_the_page_was_written_and_is_small(folder):
    page = (folder / "paper.md").read_text(encoding="utf-8")
    names = [line.split("(")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    figures = {f"paper/figure-{k}.png" for k in range(1, 25)}
    assert figures <= set(names)
    for name in names:
        assert 5_000 < (folder / name).stat().st_size <= 150_000


def test_vector_figures_are_reproducible_and_left_out_if_large(tmp_path):
    figures = Figures(tmp_path)
    for points, kept in ((3, True), (4000, False)):
        name = f"line-{points}"
        written = []
        for _ in range(2):
            figures.save(name, lambda n=points: _line(n))
            file = tmp_path / f"{name}.svg"
            assert file.exists() is kept
            written.append(file.read_bytes() if kept else b"")
        assert written[0] == written[1]
    assert Figures(None).save("nothing", lambda: 1 / 0) is None


def _line(n):
    figure, ax = plt.subplots()
    ax.plot(np.random.default_rng(0).random(n), "o")
    return figure


def test_a_second_run_keeps_results_and_gives_the_same_bytes(folder, capsys, monkeypatch):
    def fail(*arguments):
        raise AssertionError("computed again")

    names = ["example3_4", "mixtures"]
    before = {f: f.read_bytes() for f in (folder / "paper").iterdir()}
    page = (folder / "paper.md").read_bytes()
    monkeypatch.setattr("benchmarks.paper.bench.timed", fail)
    main([*names, "--jobs", "1", "--out", str(folder)])
    assert "Table 4: Mixture 3" in capsys.readouterr().out
    assert (folder / "paper.md").read_bytes() == page
    assert {f: f.read_bytes() for f in (folder / "paper").iterdir()} == before
    assert "| **mixtures** | quick |" in (folder / "paper-run.md").read_text()


def test_results_do_not_depend_on_what_was_computed_before(tmp_path):
    def square(x):
        return {"value": x / 3.0}

    cases = [{"x": x} for x in range(3)]
    fresh = Bench(False, 1, None).map("squares", square, cases)
    bench = Bench(False, 1, tmp_path)
    bench.map("squares", square, cases[1:2])
    assert bench.map("squares", square, cases) == fresh
    assert len(list((tmp_path / "cache" / "squares").iterdir())) == 3


def test_a_stopped_run_leaves_whole_files_only(tmp_path):
    def task(x):
        if x == 2:
            raise KeyboardInterrupt
        return {"value": x}

    with pytest.raises(KeyboardInterrupt):
        Bench(False, 1, tmp_path).map("stopped", task, [{"x": x} for x in range(4)])
    files = list((tmp_path / "cache" / "stopped").iterdir())
    assert sorted(json.loads(f.read_text())["result"]["value"] for f in files) == [0, 1]
    write_atomically(tmp_path / "a", b"b")
    assert [f.name for f in tmp_path.iterdir() if f.is_file()] == ["a"]


def test_a_stopped_run_knows_which_data_sets_are_complete(tmp_path):
    bench, size = Bench(True, 1, tmp_path, so_far=True), {"n": 60, "replicates": 40}
    for case in [*mixtures._cases(size, "paper", 0), *mixtures._cases(size, "paper", 1)[:2]]:
        file = bench._file("mixtures, paper", mixtures.one_data_set, case)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    assert mixtures._complete(bench, size, "paper", 100) == 1
    assert mixtures._complete(bench, size, "each", 100) == 0


def test_unknown_experiments_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["table_2"])
    assert "NAME must be one of examples1_2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ours", "printed", "error", "nominal", "verdict"),
    [
        (0.88, 0.87, 0.0, None, "agrees"),
        (0.895, 0.87, 0.0, 0.9, "closer to nominal"),
        (0.84, 0.87, 0.02, 0.9, "within noise"),
        (0.80, 0.87, 0.02, 0.9, "differs"),
        (0.80, 0.87, math.nan, None, "differs"),
    ],
)
def test_verdicts(ours, printed, error, nominal, verdict):
    assert judge_number(ours, printed, 0.02, error, nominal) == verdict


@pytest.mark.parametrize("table", ["table 2", "table 3", "table 4"])
def test_printed_tables_are_complete(table):
    for level in ("0.90", "0.95"):
        for what in ("coverage", "length"):
            numbers = PRINTED[table]["levels"][level][what]
            assert list(numbers) == ["EII", "EEE", "VVV", "Auto"]
            assert all(set(row) == {"CI", "[Bel, Pl]"} for row in numbers.values())


@pytest.mark.parametrize(
    ("table", "sizes"),
    [
        *((f"table {k}", [50, 50, 50]) for k in (6, 7, 8)),
        *((f"table {k}", [36, 76, 33]) for k in (9, 10, 11, 12)),
    ],
)
def test_printed_confusions_count_every_object(table, sizes):
    assert np.array(PRINTED[table]["counts"]).sum(axis=1).tolist() == sizes


def test_printed_masses_sum_to_one_but_for_the_known_slip():
    for table, slips in (("table 1", set()), ("table 5", {"69"})):
        for name, row in PRINTED[table]["masses"].items():
            assert (abs(sum(row) - 1.0) > 2e-3) is (name in slips)


def test_conditional_coverage_is_a_ratio_over_data_sets():
    bins = len(EDGES) - 1
    arm, key = PAPER[0], "0.90 CI"
    results = [
        {"pairs": [10] * bins, "arms": {arm: {key: {"hits": [9] * bins}}}},
        {"pairs": [30] * bins, "arms": {arm: {key: {"hits": [21] * bins}}}},
    ]
    rate, error = conditional(results, arm, "0.90", "CI")
    np.testing.assert_allclose(rate, 0.75)
    np.testing.assert_allclose(error, math.hypot(9 - 7.5, 21 - 22.5) / 40)


def test_a_section_counts_its_verdicts():
    section = Section("Title", Bench(True, 1, None).section("x").figures)
    for verdict in ("agrees", "differs", "agrees"):
        section.judge(verdict)
    section.table(["a", "b"], [[1, 2]])
    assert section.markdown() == (
        "## Title\n\n**Verdict:** 2 agrees, 1 differs.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    )
