"""The report as a file: what is in it, and how it is written."""

import base64
import gzip
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from credpart import CalibratedClustering, EvidentialPartition, audit, diagnose, rivals
from credpart._checks import Table
from credpart.datasets import load_butterfly, load_iris
from credpart.diagnostics import Finding
from credpart.profiles import figure, find_profiles
from credpart.report import content, page, payload, to_html, write_report
from credpart.report.charts import (
    LOWEST_MARKER,
    NARROW,
    SHADES,
    WIDE,
    _shade_of,
    criterion_rows,
    density_shades,
    nice_ticks,
    selection_chart,
)
from credpart.report.profile_table import profile_table
from credpart.report.trust import audit_section, rivals_section
from tests.selections import selection_of


@pytest.fixture(scope="module")
def butterfly():
    model = CalibratedClustering(2, model="EII", n_replicates=60, random_state=0)
    return model.fit(load_butterfly().X)


def embedded(text):
    """The description and the arrays that a page carries."""
    about = json.loads(re.search(r'id="about">(.*?)</script>', text, re.S)[1])
    packed = re.search(r'id="arrays">(.*?)</script>', text, re.S)[1]
    content = gzip.decompress(base64.b64decode(packed))
    arrays = {
        name: np.frombuffer(
            content, f"<{place['kind']}", int(np.prod(place["shape"])), place["start"]
        ).reshape(place["shape"])
        for name, place in about["arrays"].items()
    }
    return about, arrays


def test_page_carries_masses_and_replicates_exactly(butterfly):
    about, arrays = embedded(to_html(butterfly))
    np.testing.assert_array_equal(arrays["masses"], butterfly.partition_.masses)
    joint = np.einsum("bkp,np->bnk", arrays["natural"], arrays["features"])
    posteriors = np.exp(joint - joint.max(axis=2, keepdims=True))
    posteriors /= posteriors.sum(axis=2, keepdims=True)
    expected = butterfly.replicates_.posteriors(load_butterfly().X)
    np.testing.assert_allclose(posteriors, expected, atol=1e-12)
    assert about["stored"] == {"objects": 11, "replicates": 60, "of": 60, "resolution": 0.0}


@pytest.mark.parametrize("models", ["t-EEE", ["EEE", "t-EEE"]])
def test_other_families_carry_their_posteriors(models):
    X = load_iris().X.iloc[50:]
    model = CalibratedClustering(2, model=models, n_replicates=20, random_state=0).fit(X)
    about, arrays = embedded(to_html(model))
    expected = model.replicates_.posteriors(X).transpose(1, 2, 0)
    np.testing.assert_allclose(arrays["posteriors"], expected, atol=1e-7)
    assert about["stored"]["replicates"] == 20
    assert about["ids"][0] == "50"


def with_outliers(result):
    """The result with a partition of all four words, on all sets of two clusters."""
    masses = np.tile([0.05, 0.95, 0.0, 0.0], (result.n_objects, 1))
    masses[:4] = [[0.0, 0.4, 0.6, 0.0], [0.0, 0.3, 0.1, 0.6], [0.8, 0.2, 0.0, 0.0], [1.0, 0, 0, 0]]
    return replace(
        result,
        partition=EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1], [1, 1]]),
    )


def test_the_numbers_of_a_page_are_those_of_the_words(butterfly):
    result = with_outliers(butterfly.result_)
    counts = result.partition.doubt_counts()
    assert list(counts.values()) == [7, 1, 1, 2]
    found = content.summary(result.partition)
    assert {row.word: row.n_objects for row in found.words} == counts
    assert sum(float(row.width) for row in found.words) == pytest.approx(100.0, abs=0.01)
    by_cluster = np.array([row.words for row in [*found.clusters, found.outliers]])
    np.testing.assert_array_equal(by_cluster.sum(axis=0), list(counts.values()))
    assert [row.labelled for row in found.clusters] == by_cluster.sum(axis=1).tolist()[:-1]
    # Outliers are in no cluster, as in the table of objects and in profiles, and not on the map,
    # whose corner they would share with the seven sure objects.
    assert found.outliers.words == [0, 0, 0, 2]
    assert found.n_outlying == 2
    assert [shade.label for shade in found.map] == ["1", "7"]
    assert content.summary(butterfly.partition_).outliers is None
    assert found.between == [("{1,2}", 1, 1)]
    text = to_html(result)
    assert re.findall(r'<div class="card tile (\w+)"><b>(\d+)</b>', text) == [
        (word, str(count)) for word, count in counts.items()
    ]
    about, arrays = embedded(text)
    words = [about["words"][code] for code in arrays["verdicts"]]
    assert words == result.partition.doubt()["verdict"].tolist()
    assert "outlying" not in embedded(to_html(butterfly))[0]["words"]


def test_coverage_is_held_against_what_is_asked_for(butterfly):
    found = audit(butterfly, n_datasets=2, n_replicates=60)
    section = audit_section(found, Finding("level", "note", "that is so", "Do it."), 0.25)
    assert (section.told, section.advice, section.own_length) == ("That is so", "Do it.", "0.250")
    assert [row.is_own for row in section.by_level].count(True) == 1
    own = next(row for row in section.by_level if row.is_own)
    assert own.coverage == f"{100 * found.coverage:.1f} %"
    # The coverage asked for is the level of the row, or that of the audit.
    assert [f"{float(row.wanted):.4g} %" for row in section.by_level] == [
        row.name for row in section.by_level
    ]
    assert {float(row.wanted) for row in section.by_tenth} == {100 * found.nominal_level}
    shown = to_html(butterfly, diagnosis=diagnose(butterfly, audit=2, rivals=False))
    assert shown.count('class="wanted"') == shown.count('class="track"') > 0
    assert sum(float(row.pairs.split()[-2]) for row in section.by_tenth) == pytest.approx(
        100.0, abs=0.5
    )


SENSES = [
    (0.92, 0.04, 0.89, ": that agrees with the 90 % asked for."),
    (0.98, 0.01, 0.89, ": that is not below the 90 % asked for."),
    (0.96, 0.001, 0.89, "which does not show that they are too long for these data."),
    (0.92, 0.1, 0.89, ": the data sets differ too much to say that the level holds."),
    (0.8, 0.04, 0.71, ": that is less than the 90 % asked for. On these data sets intervals of"),
    (0.8, 0.05, 0.71, ": the difference from 90 % may be chance. More would tell"),
]


@pytest.mark.parametrize(("coverage", "error", "of_masses", "told"), SENSES)
def test_the_page_says_of_an_audit_what_the_verdict_says(
    butterfly, coverage, error, of_masses, told
):
    found = audit(butterfly, n_datasets=2, n_replicates=60)
    found = replace(
        found,
        nominal_level=0.9,
        n_datasets=30 if error == 0.001 else 8,
        coverage=coverage,
        standard_error=error,
        coverage_partition=of_masses,
        standard_error_partition=0.034,
        length=1.0,
        lowest=0.4,
        highest=0.99,
        recommended_level=0.97,
        is_reached=True,
    )
    diagnosis = diagnose(butterfly, audit=found, rivals=False)
    text = re.sub("<[^>]+>", "", to_html(butterfly, diagnosis=diagnosis))
    section = text[text.index("An audit draws") :]
    level = diagnosis.findings[0]
    assert f"{level.text[0].upper()}{level.text[1:]}. {level.advice}" in section
    assert told in section
    assert ("0.97 would have covered" in section) == (coverage + 2.0 * error < 0.9)
    assert "Between data sets coverage ranged from 40.0 % to 99.0 %." in section
    of_mass = "that is less than" if of_masses == 0.71 else "that agrees with"
    assert f"cover {100 * of_masses:.1f} % of the pairs (standard error 3.4 %" in section
    assert f": {of_mass} the 90 % asked for. An audit cannot" in re.sub(r"\s+", " ", section)


def test_a_page_keeps_the_reservations_of_the_verdict(butterfly):
    # Two places said of one audit that the level holds, and that it says little.
    found = audit(butterfly, n_datasets=8, n_replicates=60)
    short = replace(found, coverage=0.9, standard_error=0.01, length=1e-8)
    text = to_html(butterfly, diagnosis=diagnose(butterfly, audit=short, rivals=False))
    section = text[text.index('<section id="audit"') :]
    assert "the audit says little of such intervals" in section
    assert "mean length is below 0.001" in section


def test_an_audit_of_one_cluster_says_nothing(butterfly):
    found = replace(audit(butterfly, n_datasets=2, n_replicates=60), n_clusters=1)
    text = to_html(butterfly, diagnosis=diagnose(butterfly, audit=found, rivals=False))
    section = text[text.index('<section id="audit"') :]
    assert "with one cluster that says nothing, as any two objects belong together." in section
    assert "agrees with" not in section


def test_replicates_with_other_numbers_of_clusters_are_told(butterfly):
    result = with_outliers(butterfly.result_)
    mixed = "Mass on several clusters then also stands for clusters that may be split or merged"
    assert content.divided(result) == ""
    assert mixed not in to_html(result)
    # 60 replicates: 3 are 5 %, as many as lie beyond a bound of a 90 % interval.
    for others, is_told in [([3] * 2, False), ([3] * 2 + [4] * 3, True)]:
        numbers = np.array([2] * (60 - len(others)) + others)
        text = content.divided(replace(result, replicates=Numbered(numbers)))
        assert text.startswith("3 of 60 replicates have 4 clusters. " + mixed) == is_told
        assert bool(text) == is_told


class Numbered:
    """Replicates of which only the numbers of clusters are known."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __len__(self):
        return len(self.numbers)

    def chosen_numbers(self):
        values, counts = np.unique(self.numbers, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))


def test_a_poor_verdict_stands_before_the_shares(butterfly):
    good = diagnose(butterfly, audit=0, rivals=False)
    for grade, is_first in (("good", False), ("poor", True)):
        text = to_html(butterfly, diagnosis=replace(good, grade=grade))
        assert text.count('class="tiles"') == 1
        assert (text.index('id="verdict"') < text.index('class="tiles"')) == is_first
        assert f"How many objects are sure stands {'below' if is_first else 'above'}." in text


def test_no_overlap_is_not_taken_for_clusters_that_are_apart():
    undecided = EvidentialPartition([[1.0, 0.0, 0.0], [0.1, 0.1, 0.8]], [[1, 0], [0, 1], [1, 1]])
    overlap = EvidentialPartition([[0.5, 0.4, 0.1], [0.1, 0.1, 0.8]], [[1, 0], [0, 1], [1, 1]])
    assert content.summary(undecided).on_no_overlap.startswith("0 overlapping does not mean")
    assert not content.summary(overlap).on_no_overlap
    few = EvidentialPartition([[1.0, 0.0, 0.0]] * 18 + [[0.1, 0.1, 0.8]] * 2, undecided.focal_sets)
    assert content.summary(few).on_no_overlap == (
        "No object is called overlapping; of the 2 undecided the data do not tell whether they "
        "overlap."
    )
    assert not content.summary(EvidentialPartition.from_hard([0, 1])).on_no_overlap


def test_one_cluster_is_no_finding(butterfly):
    one = CalibratedClustering(1, model="EII", n_replicates=20, random_state=0)
    one.fit(load_butterfly().X)
    told = "With one cluster all objects are in it by definition."
    assert told in to_html(one)
    assert told in one.partition_.summary()
    assert told not in to_html(butterfly)
    assert told not in butterfly.partition_.summary()
    with_noise = EvidentialPartition([[0.2, 0.8]], [[0], [1]])  # in the cluster, or in none
    assert told not in with_noise.summary()


def some_rivals(butterfly, **columns):
    """Rivals of which no two coincide, the first of them plausible."""
    found = rivals(butterfly)
    assert len(found.table) > 20
    table = found.table.iloc[:20].assign(
        plausible=np.arange(20) < 14,
        bic=np.arange(0.0, -20.0, -1.0),
        lead=10.0 - np.arange(20),
        lead_aicc=1234.56 - np.arange(20),
        outside=0.1,
        nested=False,
    )
    return replace(found, table=table.assign(**columns))


def test_all_plausible_rivals_are_shown(butterfly):
    section = rivals_section(some_rivals(butterfly), 0.9)
    assert [row.is_plausible for row in section.rows] == [True] * 14
    assert (section.n_rivals, section.n_plausible, section.n_left_out) == (20, 14, 6)
    assert section.rows[0].lead_aicc == "+1,234.6"
    assert not section.has_merged
    assert not section.has_incomparable


def test_rivals_that_coincide_are_one_row_with_all_names(butterfly):
    separate = some_rivals(butterfly).table
    same = separate.assign(n_clusters=1, relabelled=3)
    for name in ("bic", "lead", "lead_aicc", "left_set"):
        same.loc[:4, name] = separate.loc[0, name]
    section = rivals_section(some_rivals(butterfly, **same), 0.9)
    assert " ".join(section.rows[0].model) == ", ".join(separate["model"].iloc[:5])
    assert len(section.rows[0].model) == 2
    assert (section.n_rivals, section.n_plausible, len(section.rows)) == (16, 10, 12)
    assert section.has_merged
    other = rivals_section(some_rivals(butterfly, **same.assign(relabelled=np.arange(20))), 0.9)
    assert other.n_rivals == 20


def test_rivals_with_too_many_parameters_are_not_plausible(butterfly):
    lead_aicc = np.where(np.arange(20) == 1, -np.inf, 5.0 - np.arange(20))
    found = some_rivals(butterfly, lead_aicc=lead_aicc, outside=np.arange(20) / 10.0)
    section = rivals_section(found, 0.9)
    assert section.n_plausible == len(found.plausible) == 13
    assert [row.is_comparable for row in section.rows[:3]] == [True, False, True]
    # The verdict means the best by BIC and AICc that leaves more than 15 % outside.
    assert [row.is_meant for row in section.rows] == [k == 2 for k in range(len(section.rows))]
    diagnosis = diagnose(butterfly, audit=0, rivals=found)
    name = found.table["model"].iloc[2]
    text = to_html(butterfly, diagnosis=diagnosis)
    assert f"{name} <small>(in the verdict)</small>" in text
    assert text.count("(in the verdict)") == text.count("<td>not comparable</td>") == 1
    assert f"model {name}" in {f.topic: f for f in diagnosis.findings}["rival models"].text


def test_same_result_makes_the_same_page(butterfly, tmp_path):
    first = write_report(butterfly, tmp_path / "a.html", source="butterfly")
    assert first.read_text(encoding="utf-8") == to_html(butterfly, source="butterfly")


@pytest.mark.parametrize("seed", [7, np.random.SeedSequence])
def test_another_run_makes_the_same_page(seed):
    def made():
        state = seed if isinstance(seed, int) else np.random.default_rng(seed(7))
        model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=state)
        return to_html(model.fit(load_butterfly().X))

    assert made() == made()


def test_a_file_name_that_is_no_text_can_be_written(butterfly, tmp_path):
    ids = ["\udcff", *range(10)]  # as Python names the byte 0xff of a file's name
    path = write_report(butterfly, tmp_path / "report.html", source="b\udcff.csv", ids=ids)
    assert "<h1>b?.csv: 11 objects" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("c", "widths"), [(3, [3]), (6, [6]), (8, [4, 4]), (13, [5, 5, 3])])
def test_profiles_of_many_clusters_stand_in_blocks(c, widths):
    X = np.arange(4.0 * c)[:, None] * [1.0, -1.0]
    partition = EvidentialPartition.from_hard(np.repeat(np.arange(c), 4))
    found = find_profiles(Table(X, None, None), ["a", "b"], np.ones(len(X)), partition)
    blocks = profile_table(found).blocks
    assert [len(block.heads) for block in blocks] == widths
    assert [head.code for block in blocks for head in block.heads] == found.by_size.tolist()
    for j, column in enumerate(found.columns):
        cells = [cell for block in blocks for cell in block.rows[j][2]]
        expected = [figure(column.figures["mean"][k]) for k in found.by_size]
        assert [cell.text for cell in cells] == expected


def test_a_model_with_noise_has_its_name_and_groups_are_told():
    X = load_iris().X
    model = CalibratedClustering(2, model="EII", noise=True, n_replicates=20, random_state=0)
    text = re.sub("<[^>]+>", "", to_html(model.fit(X, groups=np.arange(150) // 5)))
    assert "2 clusters, model EII+noise · 90 % intervals for pairs" in text
    assert "Groups30, resampled whole" in text


def test_one_cluster_is_not_several(butterfly):
    one = CalibratedClustering(1, model="EII", n_replicates=20, random_state=0)
    text = to_html(one.fit(load_butterfly().X))
    assert "1 clusters" not in re.sub("<[^>]+>", " ", text).replace("  ", " ")


def test_a_file_is_not_replaced_unless_asked(butterfly, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"`path` must be a new file, got .*overwrite=True"):
        write_report(butterfly, path)
    assert path.read_text() == "mine"
    assert write_report(butterfly, path, overwrite=True) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_directory_and_wrong_names_are_refused(butterfly, tmp_path):
    with pytest.raises(FileNotFoundError, match="`path` must be in an existing folder"):
        write_report(butterfly, tmp_path / "no" / "report.html")
    with pytest.raises(ValueError, match="`ids` must have 11 names, got 2"):
        write_report(butterfly, tmp_path / "report.html", ids=["a", "b"])
    with pytest.raises(ValueError, match=r"`classes` must have shape \(11,\)"):
        write_report(butterfly, tmp_path / "report.html", classes=["a", "b"])
    assert not list(tmp_path.iterdir())


def test_policy_allows_exactly_the_page_s_own_script_and_style(butterfly):
    text = to_html(butterfly)
    assert "default-src &#39;none&#39;" in text
    assert "unsafe" not in text.split("<style>")[0]
    assert not re.search(r"<[^>]+ (style|on\w+)=", text.split('id="about"')[0])
    assert not re.search(r"(src|href)=[\"']?(?!#)[a-z]", text.split('id="about"')[0])


@pytest.mark.parametrize(
    ("exact", "largest", "kept", "replicates"),
    [(1 << 20, 14_000_000, 150, 100), (0, 14_000_000, 150, 100), (0, 60 * 3 * 50, 60, 50)],
)
def test_posteriors_are_rounded_or_left_out_where_there_are_many(
    monkeypatch, exact, largest, kept, replicates
):
    monkeypatch.setattr(payload, "EXACT_VALUES", exact)
    monkeypatch.setattr(payload, "MOST_VALUES", largest)
    monkeypatch.setattr(payload, "FEWEST_REPLICATES", 50)
    X = load_iris().X
    model = CalibratedClustering(3, model="EEE", n_replicates=100, random_state=0).fit(X)
    order = np.arange(150)[::-1]
    stored = payload._posteriors(model.replicates_, X.to_numpy(), order, 0.9, 10**7)
    assert (len(stored.objects), stored.replicates, stored.of) == (kept, replicates, 100)
    assert stored.objects[-1] == 149
    values = stored.arrays["posteriors"] * (stored.resolution or 1.0)
    every = model.replicates_.posteriors(X)[payload._spaced(100, replicates)]
    expected = every[:, stored.objects].transpose(1, 2, 0)
    np.testing.assert_allclose(values, expected, atol=0.51 * stored.resolution + 1e-7)


def test_objects_are_left_out_when_the_replicates_do_not_compress(monkeypatch):
    class Noise:
        n_clusters, parts = np.full(40, 2), (None, None)

        def __len__(self):
            return 40

        def posteriors_of(self, values):
            return np.random.default_rng(0).dirichlet([1, 1], (40, len(values)))

    monkeypatch.setattr(payload, "EXACT_VALUES", 0)
    stored = payload.store(Noise(), np.zeros((100, 1)), np.arange(100), 0.9, room=3000)
    assert len(stored.objects) < 100
    np.testing.assert_array_equal(stored.objects, np.arange(len(stored.objects)))
    assert stored.replicates >= 20


def test_categories_have_their_names():
    table = Table(np.array([[0.0, 2.5], [np.nan, 1.5]]), ["q", "x"], None, (("no", "<b>"), None))
    assert content.columns(table, ["q", "x"]) == [
        ("q", "2 categories", "", ""),
        ("x", "1.5", "2", "2.5"),
    ]
    objects = page.ReportObjects(table, ["q", "x"], ["a", "b"], [], None)
    assert [axis["levels"] for axis in page._axes(objects)] == [["no", "<b>"], None]


@pytest.mark.parametrize(
    ("offset", "scale", "expected"), [(0, 1, "<f4"), (1.7e9, 1, "<f8"), (0, 1e60, "<f8")]
)
def test_many_values_are_rounded_only_where_it_is_not_seen(monkeypatch, offset, scale, expected):
    values = offset + scale * np.random.default_rng(0).random((50, 2))
    values[0, 0] = np.nan
    assert payload.table_values(values).dtype == "<f8"
    monkeypatch.setattr(payload, "DOUBLES", 10)
    kept = payload.table_values(values)
    assert kept.dtype == expected
    np.testing.assert_allclose(kept - offset, values - offset, atol=1e-4 * scale)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_markers_are_whole_and_lines_that_leave_the_chart_are_counted(width):
    values = {"EII": [-9000, -100], "VEV": [-120, -90], "VVV": [-110, -95], "EEE": [-8e3, -7e3]}
    chart = selection_chart(selection_of(values), width)
    lines = {line.name: [y for _, y, _ in line.points] for line in chart.lines}
    is_drawn = {name: [y <= LOWEST_MARKER for y in places] for name, places in lines.items()}
    assert is_drawn == {
        "EII": [False, True], "VEV": [True, True], "VVV": [True, True], "EEE": [False, False]
    }  # fmt: skip
    assert (chart.n_cut, chart.n_below) == (1, 1)
    assert max(x for line in chart.lines for x, _, _ in line.points) < width


def test_numbers_below_a_narrow_chart_stay_apart():
    table = {"EII": range(40)}
    for width in (WIDE, NARROW):
        places = [tick.place for tick in selection_chart(selection_of(table), width).x_ticks]
        assert np.diff(places).min() >= 20.0


def test_ticks_are_round_and_within():
    for low, high in [(0.0, 1.0), (-1830.0, -540.0), (1e-9, 3e-9), (5.0, 5.0)]:
        ticks = np.array(nice_ticks(low, high))
        assert ticks.min() >= low - 1e-9 * abs(low)
        assert ticks.max() <= high + 1e-9 * abs(high)
        assert 1 <= len(ticks) <= 8


@pytest.mark.parametrize("count", [1, 238, 2000])
def test_the_fullest_cell_is_drawn(count):
    (shade,) = density_shades(np.full(count, 0.3), np.full(count, 0.7))
    assert (shade.opacity, shade.label) == (1.0, f"{count:,}")


def test_no_count_is_beyond_the_darkest_shade():
    for count in range(1, 2001):
        assert _shade_of(np.array([0, count])).tolist() == [0, SHADES]


def test_shades_hold_every_pair_once():
    rng = np.random.default_rng(0)
    x, y = rng.random(500), rng.random(500)
    cells = sum(shade.path.count("M") for shade in density_shades(x, y))
    occupied = {(int(40 * a), int(40 * b)) for a, b in zip(x, y, strict=True)}
    assert cells == len(occupied)


def test_bars_of_a_criterion_are_cut_so_that_a_poor_model_does_not_squeeze_the_others():
    values = {"VEV": [0.0], "VVV": [-10.0], "EEE": [-40.0], "VVI": [-60.0], "EII": [-5000.0]}
    rows = {row.name: row for row in criterion_rows(selection_of(values))}
    assert list(rows) == list(values)
    assert float(rows["EEE"].share) == pytest.approx(100.0 / 3.0, abs=0.1)  # the median gap
    assert (rows["EII"].share, rows["EII"].gap) == ("100.0", "5,000.0 (bar cut)")
    assert rows["VVI"].gap == "60.0"
    # Where no model is far below the others, the longest bar is that of the worst.
    del values["EII"]
    shares = [row.share for row in criterion_rows(selection_of(values))]
    assert shares == ["0.0", "16.7", "66.7", "100.0"]
