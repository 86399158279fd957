"""The report as its reader has it: in a browser, offline, by pointer and by keyboard.

Needs Chromium.  Without it these tests are skipped, or, where ``CREDPART_NEEDS_CHROMIUM`` is set
as in CI, fail.
"""

import io
import os
import re
import shutil
import struct
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from credpart import CalibratedClustering, diagnose, plot
from credpart._rivals import CHANGES, COLUMNS, Rivals, distinct_rivals
from credpart.cli.folder import masses_table
from credpart.cli.spreadsheet import write_csv
from credpart.datasets import load_butterfly, load_iris
from credpart.metrics import adjusted_rand
from credpart.partition import EvidentialPartition
from credpart.plot._palette import colours
from credpart.report import page as report_page
from credpart.report import payload, write_report
from credpart.report.charts import _luminance, on_dark
from credpart.report.script import bundle, page_modules
from tests.payloads import PAYLOADS

IRIS = load_iris()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IDS = [f"flower {i}" for i in range(150)]

PLACE = """i => {
    const box = document.getElementById("scatter").getBoundingClientRect();
    const { x, y } = credpartReport.pixelOf(i);
    return [box.x + x, box.y + y];
}"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("CREDPART_NEEDS_CHROMIUM"):
            pytest.fail("Chromium is needed, and was not found")
        pytest.skip("Chromium was not found")
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open pages, and in the end check that nothing else was asked for, and nothing told."""
    contexts, visits, requests, told = [], [], [], []

    def open_page(path, page=None, **options):
        if page is None:
            context = browser.new_context(offline=True, **options)
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.on("request", lambda request: requests.append(request.url))
            page.on("console", lambda message: told.append(message.text))
            page.on("pageerror", lambda error: told.append(str(error)))
            page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
        visits.append(path.as_uri())
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert told == []
    assert requests == visits


@pytest.fixture(scope="module")
def model():
    return CalibratedClustering(3, model="VEV", n_replicates=100, random_state=0).fit(IRIS.X)


@pytest.fixture(scope="module")
def diagnosis(model):
    return diagnose(model, audit=2, rivals=True)


@pytest.fixture(scope="module")
def report(model, diagnosis, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "iris.html"
    about = {"ids": IDS, "classes": IRIS.y, "source": "iris", "diagnosis": diagnosis}
    return write_report(model, path, **about)


@pytest.fixture
def page(opened, report):
    return opened(report, viewport={"width": 1280, "height": 900})


def show_columns(page, x, y):
    page.select_option("#x-axis", label=x)
    page.select_option("#y-axis", label=y)
    page.locator("#scatter").scroll_into_view_if_needed()


def alone(model):
    """Objects that no other object is near to in the plane of the first two columns."""
    points = IRIS.X.to_numpy()[:, :2] / np.ptp(IRIS.X.to_numpy()[:, :2], axis=0)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(len(points))
    return np.argsort(-gaps.min(axis=1))


HEADLINE = (".tile", "#verdict", "#doubt", "#clusters", "#profiles", "#scatter")


def test_words_come_before_pictures(page, model):
    verdict = page.locator("#verdict")
    assert "✓ Good" in verdict.inner_text() or "! Caution" in verdict.inner_text()
    heights = [page.locator(place).first.bounding_box()["y"] for place in HEADLINE]
    assert heights == sorted(heights)
    tiles = page.locator(".tile b").all_inner_texts()
    assert tiles == [*map(str, model.partition_.doubt_counts().values())]


@pytest.mark.parametrize(("x", "y"), [(0, 1), (3, 2)])
def test_axes_change(page, model, x, y):
    names = list(IRIS.X.columns)
    show_columns(page, names[x], names[y])
    places = np.array([page.evaluate(PLACE, i) for i in range(0, 150, 7)])
    values = IRIS.X.to_numpy()[::7]
    assert np.corrcoef(places[:, 0], values[:, x])[0, 1] == pytest.approx(1.0)
    assert np.corrcoef(places[:, 1], values[:, y])[0, 1] == pytest.approx(-1.0)


def test_principal_components_come_first(page, model):
    assert page.locator("#x-axis option:checked").inner_text().startswith("PC 1 (")
    assert "principal component 1" in " ".join(saved_words(page))
    places = np.array([page.evaluate(PLACE, i) for i in range(150)])
    X = IRIS.X.to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    first = Z @ np.linalg.svd(Z, full_matrices=False)[2][0]
    assert abs(np.corrcoef(places[:, 0], first)[0, 1]) == pytest.approx(1.0)


def test_pointing_at_an_object_shows_its_masses(page, model):
    names = [f"{{{','.join(str(k + 1) for k in np.flatnonzero(row))}}}"
             for row in model.partition_.focal_sets]  # fmt: skip
    show_columns(page, *IRIS.X.columns[:2])
    most = np.argsort(model.partition_.belief().max(axis=1))
    for i in [*alone(model)[:4].tolist(), *[i for i in most if i in alone(model)[:60]][:2]]:
        page.mouse.move(*page.evaluate(PLACE, int(i)))
        tip = page.locator("#tip")
        assert tip.is_visible()
        assert tip.locator("h3").inner_text() == IDS[i]
        shown = {
            row.get_attribute("data-set"): row.locator(".mass").inner_text()
            for row in tip.locator("tr[data-set]").all()
        }
        masses = dict(zip(names, model.partition_.masses[i], strict=True))
        assert shown == {name: f"{m:.3f}" for name, m in masses.items() if m >= 0.0005}
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def figures(page):
    shown = page.locator("#pair-figures dd").all()
    return {item.get_attribute("data-figure"): float(item.text_content()) for item in shown}


def test_two_clicks_show_the_interval_of_the_pair(page, model):
    show_columns(page, *IRIS.X.columns[:2])
    belief, plausibility = model.partition_.pairwise()
    lower, upper = model.intervals_.square()
    posteriors = model.result_.posteriors
    lone = [int(i) for i in alone(model)[:60]]
    doubtful = sorted(lone, key=lambda i: model.partition_.belief()[i].max())
    for i, j in [(lone[0], lone[1]), (doubtful[0], doubtful[1]), (doubtful[2], lone[5])]:
        page.mouse.click(*page.evaluate(PLACE, i))
        page.mouse.click(*page.evaluate(PLACE, j))
        expected = {
            "lower": lower[i, j], "upper": upper[i, j], "belief": belief[i, j],
            "plausibility": plausibility[i, j], "fit": posteriors[i] @ posteriors[j],
        }  # fmt: skip
        # The page has the posteriors in single precision, the intervals have P_ij so.
        assert figures(page) == pytest.approx(expected, abs=1e-7)
        text = page.locator("#interval svg").text_content()
        assert f"90 % confidence interval [{lower[i, j]:.3f}, {upper[i, j]:.3f}]" in text
        assert f"[{belief[i, j]:.3f}, {plausibility[i, j]:.3f}]" in text
        low, high = (f"{100 * bound:.0f}\u00a0%" for bound in (lower[i, j], upper[i, j]))
        range_told = f"about {low}" if low == high else f"between {low} and {high}"
        assert f": {range_told} (90 % confidence)." in page.locator("#interval").inner_text()
        bars = page.locator("#interval svg title").all_text_contents()
        assert sum(int(bar.split()[0]) for bar in bars) == 100  # each replicate once
        assert page.locator("#object-a").input_value() == IDS[i]
    page.click("#clear")
    assert page.locator("#interval").inner_text().startswith("Choose two objects")


def test_rounded_posteriors_give_the_interval_too(model, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "_products", lambda *_: None)
    monkeypatch.setattr(payload, "EXACT_VALUES", 0)
    page = opened(write_report(model, tmp_path / "rounded.html"))
    lower, upper = model.intervals_.square()
    for i, j in [(50, 70), (83, 133)]:
        page.fill("#object-a", str(i))
        page.fill("#object-b", str(j))
        page.keyboard.press("Tab")
        shown = figures(page)
        # three posteriors each rounded to 1/65535
        assert shown["lower"] == pytest.approx(lower[i, j], abs=5e-5)
        assert shown["upper"] == pytest.approx(upper[i, j], abs=5e-5)
    assert "rounded to multiples of 1.5e-05" in page.locator("#reading").inner_text()


def test_a_level_that_is_not_trusted_is_not_called_confidence(model, opened, tmp_path):
    judged = diagnose(model, audit=0, rivals=False)
    for grade in ("caution", "poor"):
        told = {"diagnosis": replace(judged, grade=grade)}
        page = opened(write_report(model, tmp_path / f"{grade}.html", **told))
        page.fill("#object-a", "50")
        page.fill("#object-b", "70")
        page.keyboard.press("Tab")
        panel = page.locator("#interval").inner_text()
        panel += page.locator("#interval svg").text_content()
        if grade == "poor":
            assert "The verdict above says not to trust the level of this interval." in panel
            assert "(nominal 90 %)" in panel
            assert "nominal 90 % interval [" in panel
            assert "confidence" not in panel
        else:
            assert "Quote the confidence interval" in panel
            assert "(90 % confidence)" in panel
            assert "nominal" not in panel


def test_many_objects_have_no_rings_and_the_legend_says_what_to_choose(page):
    module = bundle(page_modules(), "colourings.js")
    of_cluster = "n => %s.COLOURINGS.set.legend({ ...credpartReport.store.state.data, n })"
    for n, told in [(150, "not sure"), (5000, "too many objects for rings: under Colour choose")]:
        texts = [entry["text"] for entry in page.evaluate(of_cluster % module, n)]
        assert len([text for text in texts if text.startswith(told)]) == 1
    chosen = page.locator("#colour option[value=verdict]").inner_text()
    assert any(f"“{chosen}”" in text for text in texts)


def test_pairs_that_are_not_stored_say_so(model, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "_products", lambda *_: None)
    monkeypatch.setattr(payload, "MOST_VALUES", 100 * 3 * 10)
    page = opened(write_report(model, tmp_path / "few.html"))
    page.fill("#object-a", "0")
    page.fill("#object-b", "1")
    page.keyboard.press("Tab")
    assert "not stored on this page" in page.locator("#interval").inner_text()
    assert "(belief to plausibility)" in page.locator("#interval").inner_text()
    page.fill("#object-b", "nobody")
    page.keyboard.press("Tab")
    assert page.locator("#pair-error").inner_text() == "No object is named “nobody”."


def test_one_sentence_is_told_at_a_time(page, model):
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    told = page.locator("#told")
    first = page.locator("#tip h3").inner_text()
    assert re.fullmatch(
        rf"{first}: cluster \d, [a-z]+: belief [^ ]+, plaus[^:]+\.", told.inner_text()
    )
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    second = page.locator("#tip h3").inner_text()
    page.keyboard.press("Enter")
    answer = rf"Are {first} and {second} in the same cluster\? [^.]+\."
    assert re.fullmatch(answer, told.inner_text())
    live = page.evaluate("[...document.querySelectorAll('[aria-live]')].map(e => e.id)")
    assert live == ["told", "count"]


def saved(page, button):
    """The name and the bytes of the file that a button saves, pressed by the keyboard."""
    page.focus(button)
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    return download.value.suggested_filename, download.value.path().read_bytes()


def as_csv(partition, ids):
    text = io.StringIO()
    write_csv(masses_table(partition).set_axis(ids).rename_axis("id"), text)
    return text.getvalue()


def test_masses_are_saved_as_the_command_line_writes_them(page, model):
    name, content = saved(page, "#save-masses")
    assert name == "iris-150-objects-in-3-clusters.csv"
    expected = pd.read_csv(io.StringIO(as_csv(model.partition_, IDS)))
    found = pd.read_csv(io.BytesIO(content))
    pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-15)


def test_saved_masses_hold_no_formula_and_name_outliers(opened, tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    result = model.fit(load_butterfly().X).result_
    masses = np.tile([0.25, 0.5, 0.25, 0.0], (11, 1))
    masses[0] = [1.0, 0.0, 0.0, 0.0]
    partition = EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1], [1, 1]])
    ids = ["=1+1", "'=1", "-1.5", "-a", 'a"b', "a,b", "＝1", "c\nd", "@e", "", "+2e3"]
    path = tmp_path / "a.html"
    write_report(replace(result, partition=partition), path, ids=ids, title="</script>")
    name, content = saved(opened(path), "#save-masses")
    assert name == "script.csv"
    assert content.decode() == as_csv(partition, ids).replace(".0,", ",")  # 1 is written as 1
    named = replace(partition, cluster_names=["one", "=two"])
    write_report(replace(result, partition=named), path, ids=ids, overwrite=True)
    _, content = saved(opened(path), "#save-masses")
    assert content.decode() == as_csv(named, ids).replace(".0,", ",")


def test_the_picture_is_saved_as_svg(page, model):
    show_columns(page, *IRIS.X.columns[:2])
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    name, content = saved(page, "#save-svg")
    assert name == "iris-150-objects-in-3-clusters.svg"
    root = ElementTree.fromstring(content)  # noqa: S314  the page of this test made it
    space = "{http://www.w3.org/2000/svg}"
    words = [element.text for element in root.iter(f"{space}text")]
    assert {*IRIS.X.columns[:2], "cluster 1", "not sure", "A"} <= set(words)
    # every object once, where it is in the page; then the outlines of ellipses
    plot = next(element for element in root.iter(f"{space}g") if element.get("clip-path"))
    drawn = [element for element in plot if element.get("opacity") == "0.9"]
    assert len(drawn) == 150
    box = page.locator("#scatter").bounding_box()
    x, y = np.subtract(page.evaluate(PLACE, 0), [box["x"], box["y"]])
    circles = [re.match(r"M(\S+) (\S+)A\S+ \S+ 0 1 1 (\S+) ", e.get("d")) for e in drawn]
    centres = [((float(m[1]) + float(m[3])) / 2, float(m[2])) for m in circles if m]
    assert np.abs(np.array(centres) - [x, y]).max(axis=1).min() < 0.02  # as rounded in the file
    assert x < float(root.get("width"))
    assert box["height"] < float(root.get("height"))  # the legend is below
    assert not [element for element in root.iter() if element.get("style") or element.get("href")]


def test_the_picture_is_saved_as_png(opened, report):
    page = opened(report, viewport={"width": 1280, "height": 900}, color_scheme="dark")
    box = page.locator("#scatter").bounding_box()
    name, content = saved(page, "#save-png")
    assert name == "iris-150-objects-in-3-clusters.png"
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 3 * box["width"]
    assert height > 3 * box["height"]  # the legend is below
    with Image.open(io.BytesIO(content)) as image:
        assert image.convert("RGB").getpixel((3, 3)) == (255, 255, 255)  # light on a dark page too


def test_audit_and_rivals_are_told(page, diagnosis):
    audit, rivals = diagnosis.audit, diagnosis.rivals
    page.locator("#verdict a[href='#audit']").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "audit"
    text = page.locator("#audit").inner_text()
    assert f"with {audit.n_replicates} replicates." in text
    assert f"{100 * audit.coverage:.1f} % of the pairs (standard error" in text
    assert ": that is too few data sets to tell." in text
    shown = page.locator("#rivals tbody tr")
    assert shown.count() == 12
    first, best = rivals.table.iloc[0], shown.first.locator("th, td").all_inner_texts()
    leads = [f"{first[name]:+,.1f}" for name in ("lead", "lead_aicc")]
    assert best[0].startswith(first["model"])
    assert best[1:5] == [str(first["n_clusters"]), *leads, "yes"]
    shares = [f"{100 * first[name]:.1f} %" for name in ("outside", "far_outside")]
    assert best[5:8] == [*shares, str(first["relabelled"])]
    assert (
        f"{len(distinct_rivals(rivals.table))} other models" in page.locator("#rivals").inner_text()
    )


def test_classes_are_compared_with_clusters(page, model):
    expected = adjusted_rand(model.partition_, IRIS.y)
    assert f"Adjusted Rand index of clusters and classes: {expected:.3f}" in page.inner_text(
        "#clusters"
    )


def test_one_column_is_drawn_against_the_doubt(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"length": rng.normal(np.repeat([0.0, 3.0], 40))})
    model = CalibratedClustering(2, model="E", n_replicates=50, random_state=0).fit(X)
    page = opened(write_report(model, tmp_path / "one.html"))
    assert page.locator("#y-axis option:checked").inner_text() == "doubt (1 − belief)"
    places = np.array([page.evaluate(PLACE, i) for i in range(80)])
    belief = model.partition_.doubt()["belief"].to_numpy()
    assert np.corrcoef(places[:, 0], X["length"])[0, 1] == pytest.approx(1.0)
    assert np.corrcoef(places[:, 1], belief)[0, 1] == pytest.approx(1.0)
    assert page.locator("#ellipses-label").is_hidden()  # nothing to switch
    words = saved_words(page)
    assert "doubt (1 − belief)" in words
    assert not any("ellipses" in word for word in words)


@pytest.fixture(scope="module")
def many_clusters():
    """Ten clusters of 12 objects, of which the last of each is between its own and the next."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 12)
    X = pd.DataFrame(rng.normal(size=(120, 2)) + 9.0 * np.c_[labels % 4, labels // 4])
    X.columns = ["width_of_the_left_wing", "length_of_the_body"]
    model = CalibratedClustering(10, model="EII", n_replicates=20, random_state=0).fit(X)
    return model.result_


def test_many_clusters_have_their_names_in_the_picture(opened, many_clusters, page, tmp_path):
    told = {"diagnosis": diagnose(many_clusters, audit=0, rivals=False)}
    full = opened(write_report(many_clusters, tmp_path / "ten.html", **told))
    names = {str(k) for k in range(1, 11)}
    assert set(saved_words(full, "bold")) == names
    legend = full.locator("#legend").inner_text()
    assert "numbers or names in the picture: clusters" in legend
    assert "cluster 1" not in legend  # the names are in the picture
    full.select_option("#colour", "doubt")
    assert set(saved_words(full, "bold")) == names
    assert saved_words(page, "bold") == []  # three have symbols and colours enough


@pytest.mark.parametrize("width", [400, 718])
def test_many_clusters_fit_a_phone_and_a_printed_page(opened, many_clusters, tmp_path, width):
    told = {"diagnosis": diagnose(many_clusters, audit=0, rivals=False)}
    path = write_report(many_clusters, tmp_path / "ten.html", **told)
    page = opened(path, viewport={"width": width, "height": 900})
    if width == 718:  # a page of A4 within its margins; nothing can be scrolled there
        page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [table.bounding_box() for table in page.locator("#profiles table").all()]
    assert len(boxes) == 2
    if width == 718:
        assert max(box["x"] + box["width"] for box in boxes) <= width


def told_in_legend(page, colour):
    page.select_option("#colour", colour)
    return page.locator("#legend > span").all_inner_texts()


def test_legends_tell_symbols_where_colours_are_no_clusters(page):
    clusters = ["cluster 1", "cluster 2", "cluster 3"]
    for colour in ("verdict", "doubt"):
        assert [text for text in told_in_legend(page, colour) if text in clusters] == clusters
        module = bundle(page_modules(), "colourings.js")
        entries = page.evaluate(
            f"name => {module}.COLOURINGS[name].legend(credpartReport.store.state.data)", colour
        )
        found = {entry["text"]: entry for entry in entries}
        assert [found[name]["symbol"] for name in clusters] == ["o", "^", "+"]
        assert {found[name]["colour"] for name in clusters} == {"#767676"}


@pytest.mark.parametrize("colour", ["set", "verdict", "doubt", "class"])
def test_ellipses_have_names_where_colours_are_no_clusters(page, colour):
    page.select_option("#colour", colour)
    _, content = saved(page, "#save-svg")
    root = ElementTree.fromstring(content)  # noqa: S314  the page of this test made it
    plot = next(element for element in root.iter() if element.get("clip-path"))
    outlines = [e for e in plot if e.get("d", "").count("L") == 72]
    halos, ellipses = outlines[::2], outlines[1::2]
    assert len(ellipses) == 6
    assert {halo.get("stroke") for halo in halos} == {"#ffffff"}
    names = set(saved_words(page, "bold"))
    shown = {ellipse.get("stroke") for ellipse in ellipses}
    if colour == "set":
        assert shown == {to_hex(each) for each in colours(3)}
        assert names == set()
    else:
        assert shown == {"#565e68"}
        assert names == {"1", "2", "3"}
        assert any("the cluster named in them" in word for word in saved_words(page))


def test_the_legend_says_what_ellipses_hold_of_the_objects(opened, page, tmp_path):
    meaning = "ellipses: 50 % and 90 % of a cluster, under the model"
    assert told_in_legend(page, "set")[-1] == meaning
    # Columns are not independent within the one cluster, as EEI has it.
    x, left, right = np.random.default_rng(0).standard_normal((3, 300))
    X = np.column_stack([x, x + 0.1 * left, x - 0.1 * right])
    model = CalibratedClustering(1, model="EEI", n_replicates=20, random_state=0).fit(X)
    page = opened(write_report(model, tmp_path / "dependent.html"))
    held = plot.classification(model.mixture_, X).get_title("right")
    shares = re.fullmatch("ellipses hold (.*) of the objects of cluster 1", held)[1]
    told = [meaning, f"but in cluster 1: {shares} of its objects"]
    assert told_in_legend(page, "set")[-2:] == told


def test_symbols_are_smaller_in_a_small_picture(page):
    scale = f"size => {bundle(page_modules(), 'symbols.js')}.symbolScale(size)"
    sizes = [(740, 600), (700, 380), (340, 320), (200, 200)]
    found = [page.evaluate(scale, {"width": w, "height": h}) for w, h in sizes]
    assert found[0] == 1.0
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.6  # they are still seen


def test_the_picture_has_room_for_the_ellipses(page):
    module = bundle(page_modules(), "projection.js")
    room = """() => {
        const { state } = credpartReport.store;
        const { fullView, shapesOf } = %s;
        return [fullView(state), shapesOf(state).map(({ centre, a }) => [centre[0], a])];
    }"""
    view, shapes = page.evaluate(room % module)
    radius = np.sqrt(-2.0 * np.log(0.1))  # of the ellipse of 90 %
    ends = np.array([[x - radius * a, x + radius * a] for x, a in shapes])
    assert view["x"][0] < ends.min()
    assert view["x"][1] > ends.max()


def test_a_set_of_several_has_two_rings(page, model):
    partition = model.partition_
    is_several = partition.focal_sets[partition.set_labels].sum(axis=1) > 1
    is_sure = partition.doubt()["belief"].to_numpy() >= 0.9
    assert is_several.any()
    expected = np.where(is_sure, 0, 1 + is_several)
    module = bundle(page_modules(), "colourings.js")
    rings = """colour => {
        const { data } = credpartReport.store.state;
        return data.ids.map((_, i) => %s.COLOURINGS[colour].appearance(data, i).rings);
    }"""
    for colour, told in (("set", "mixed colour, two rings"), ("class", "two rings")):
        assert page.evaluate(rings % module, colour) == expected.tolist()
        assert f"{told}: most mass on a set of several" in told_in_legend(page, colour)


def test_a_telephone_shows_bars_and_names_of_models(opened, tmp_path):
    model = CalibratedClustering([2, 3], model=["EEE", "VEV"], n_replicates=50, random_state=0)
    model.fit(IRIS.X)
    about = {"classes": IRIS.y, "diagnosis": diagnose(model, audit=2, rivals=False)}
    path = write_report(model, tmp_path / "narrow.html", **about)
    page = opened(path, viewport={"width": 400, "height": 800})
    assert not page.locator("#clusters .wide td.bar").first.is_visible()  # the words have its room
    wanted = ["#clusters thead th", "#audit td.bar svg", "#selection svg.chart:visible text"]
    for place in wanted:
        boxes = [found.bounding_box() for found in page.locator(place).all()]
        assert boxes
        assert max(box["x"] + box["width"] for box in boxes) <= 400
    assert page.locator("#selection svg.chart:visible").count() == 1
    page.set_viewport_size({"width": 900, "height": 800})
    assert page.locator("#selection svg.chart:visible").count() == 1
    # What is said of the classes does not stand in a column as narrow as their table.
    table = page.locator("table[aria-labelledby=classes-title]").bounding_box()
    assert page.locator("#classes-title").bounding_box()["width"] > 1.5 * table["width"]


def test_outliers_are_in_no_cluster_of_the_table(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2)), rng.uniform(-60, 60, (8, 2))]
    model = CalibratedClustering(2, model="EII", noise=True, n_replicates=20, random_state=0)
    page = opened(write_report(model.fit(X), tmp_path / "noise.html"))
    heads = page.locator("#clusters .wide tbody th").all_inner_texts()
    counts = page.locator("#clusters .wide tbody td:nth-child(3)").all_inner_texts()
    labels = pd.Series(model.labels_).map({-1: "none", 0: "1", 1: "2"}).value_counts()
    assert dict(zip(heads, map(int, counts), strict=True)) == labels.to_dict()
    assert page.locator("#clusters [data-cluster=none] canvas").count() == 1
    assert "outlier" in told_in_legend(page, "set")
    page.evaluate(  # the same with no object whose highest mass is that of no cluster
        """() => {
            const { data } = credpartReport.store.state;
            const set = data.members.findIndex(members => members.length === 1);
            const setLabels = data.setLabels.map(() => set);
            credpartReport.store.update({ data: { ...data, setLabels } });
        }"""
    )
    assert "outlier" not in page.locator("#legend > span").all_inner_texts()
    n_clustered = str((model.labels_ >= 0).sum())
    assert page.locator("#profiles tbody tr:first-child td").first.inner_text() == n_clustered


def saved_words(page, weight=None):
    """The texts of the picture, as it is saved; all, or those of a weight."""
    _, content = saved(page, "#save-svg")
    root = ElementTree.fromstring(content)  # noqa: S314  the page of this test made it
    return [
        element.text
        for element in root.iter()
        if element.text and weight in (None, element.get("font-weight"))
    ]


def rows(page):
    return page.locator("#body tr[data-row]").all()


def column(page, k):
    return [row.locator("th, td").nth(k).inner_text() for row in rows(page)]


def test_table_begins_with_the_least_sure_and_sorts(page, model):
    table = model.partition_.doubt()
    doubt = 1.0 - table["belief"].to_numpy()
    shown = [int(row.get_attribute("data-row")) for row in rows(page)]
    assert len(shown) < 60  # only what is in view is in the page
    np.testing.assert_allclose(doubt[shown], np.sort(doubt)[::-1][: len(shown)], atol=1e-12)
    page.click("#heads th[data-column=object] button")
    assert column(page, 0)[:3] == ["flower 0", "flower 1", "flower 2"]  # as numbers
    page.click("#heads th[data-column=object] button")
    assert column(page, 0)[0] == "flower 149"
    assert page.get_attribute("#heads th[data-column=object]", "aria-sort") == "descending"
    page.click("#heads th[data-column=plausibility] button")
    assert column(page, 7) == sorted(column(page, 7), reverse=True)
    for row in rows(page)[:9]:
        i, cells = int(row.get_attribute("data-row")), row.locator("td").all_inner_texts()
        parts = [f"{part:.3f}" for part in table.iloc[i, :3]]
        assert cells[2:6] == [table["verdict"][i], *parts]
    page.evaluate("document.getElementById('rows').scrollTop = 1e6")
    page.wait_for_function("document.querySelector('#body tr:nth-last-child(2)').rowIndex > 5")
    page.wait_for_function(
        "Number(document.querySelector('#body').lastChild.previousSibling.ariaRowIndex) === 151"
    )


def test_table_filters(page, model):
    page.fill("#search", "Flower 14")
    assert page.locator("#count").inner_text() == "11 of 150 objects"
    assert len(rows(page)) == 11
    page.fill("#search", "setosa")
    assert page.locator("#count").inner_text() == "50 of 150 objects"
    page.fill("#search", "")
    for word in ("sure", "undecided"):
        page.select_option("#set-filter", label=word)
        count = model.partition_.doubt_counts()[word]
        assert page.locator("#count").inner_text() == f"{count} of 150 objects"
        assert set(column(page, 3)) == {word}
    page.select_option("#set-filter", label="{1}")
    assert set(column(page, 8)) == {"{1}"}
    page.fill("#search", "no such thing")
    assert page.locator("#count").inner_text() == "0 of 150 objects"


def test_keyboard_reaches_every_control(page):
    # rows of the table are one stop: within it the arrow keys move
    controls = page.evaluate(
        "[...document.querySelectorAll('button, select, input, a[href], [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility() && !e.dataset.object)"
        ".map((e, k) => e.dataset.control = String(k))"
    )
    reached = []
    for _ in range(len(controls) + 1):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.dataset.control"))
    # links to details, above the table, around it, its heads, the table of rivals
    assert len(controls) == 3 + 14 + 4 + 9 + 1
    assert set(reached) - {None} == set(controls)


def test_arrow_keys_move_in_the_table(page):
    page.focus("#rows")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#object-a") == column(page, 0)[2]
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    last = page.locator("#body tr.active th").inner_text()
    assert page.input_value("#object-b") == last
    assert last in page.locator("#told").text_content()


def distance(page):
    """Pixels between two objects, which zooming changes."""
    return np.linalg.norm(np.subtract(page.evaluate(PLACE, 0), page.evaluate(PLACE, 100)))


def test_keyboard_alone_does_what_the_pointer_does(page):
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip h3").inner_text()
    assert first == column(page, 0)[0]  # it starts at the least sure
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    second = page.locator("#tip h3").inner_text()
    assert second != first
    assert second in page.locator("#told").text_content()
    page.keyboard.press("Enter")
    assert [page.input_value("#object-a"), page.input_value("#object-b")] == [first, second]
    assert set(figures(page)) == {"lower", "upper", "belief", "plausibility", "fit"}
    before = distance(page)
    page.keyboard.press("+")
    assert distance(page) > before
    page.keyboard.press("0")
    assert distance(page) == before
    page.focus("#heads th[data-column=cluster] button")
    page.keyboard.press("Enter")
    assert page.get_attribute("#heads th[data-column=cluster]", "aria-sort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_light_and_dark_wide_and_narrow(opened, report, scheme, width):
    page = opened(report, color_scheme=scheme, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 384) == (scheme == "dark")
    contrast = page.evaluate(CONTRAST)
    assert min(contrast.values()) >= 4.5, contrast


# WCAG's contrast of each text with what is behind it.
CONTRAST = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
        const [r, g, b, alpha = 1] = parts(getComputedStyle(e).backgroundColor);
        if (alpha === 1 || !e.parentElement) return [r, g, b];
        return behind(e.parentElement).map((v, k) => alpha * [r, g, b][k] + (1 - alpha) * v);
    };
    const found = {};
    for (const e of document.querySelectorAll('h1, h2, p, dt, dd, th, td, label, button, .mark, .badge')) {
        if (!e.checkVisibility() || !e.textContent.trim()) continue;
        const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))].sort();
        found[e.tagName + '.' + e.className] = (b + 0.05) / (a + 0.05);
    }
    return found;
}"""  # noqa: E501


def test_zooming_does_not_run_out_of_digits(page):
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    for _ in range(150):
        page.keyboard.press("+")
    low, high = page.evaluate("credpartReport.store.state.view.x")
    assert low < high
    corner = page.locator("#scatter").bounding_box()
    page.mouse.move(corner["x"] + 100, corner["y"] + 100)
    page.mouse.down()
    page.mouse.move(corner["x"] + 100, corner["y"] + 300)  # a rectangle without width
    page.mouse.up()
    assert page.evaluate("credpartReport.store.state.view.x") == [low, high]


def within(page, low, high):
    """Objects that are drawn between two corners, given in pixels."""
    places = np.array([page.evaluate(PLACE, i) for i in range(150)])
    return np.flatnonzero(((places > low) & (places < high)).all(axis=1)).tolist()


def test_dragging_zooms_into_the_rectangle(page):
    page.locator("#scatter").scroll_into_view_if_needed()
    box = page.locator("#scatter").bounding_box()
    corner, size = np.array([box["x"], box["y"]]), np.array([box["width"], box["height"]])
    low, high = corner + 0.4 * size, corner + 0.8 * size
    inside = within(page, low, high)
    assert 0 < len(inside) < 150
    page.mouse.move(*low)
    page.mouse.down()
    page.mouse.move(*high)
    page.mouse.up()
    margins = np.array([58, 10]), np.array([12, 42])  # left and above, right and below
    assert within(page, corner + margins[0], corner + size - margins[1]) == inside
    page.click("#reset")
    assert page.evaluate("credpartReport.store.state.view") is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-20000.0, 20000.0, ["-20,000", "-10,000", "0", "10,000", "20,000"]),
        (1234567.5, 1234570.5, ["1,234,568", "1,234,569", "1,234,570"]),
        (0.0, 4e40, ["0", "1e+40", "2e+40", "3e+40", "4e+40"]),
        (1e16, 1e16, []),
        (-4.0, 3.9, ["-4", "-2", "0", "2"]),
    ],
)
def test_ticks_can_be_told_apart(page, low, high, expected):
    module = bundle(page_modules(), "ticks.js")
    shown = """([low, high]) => {
        const { ticks, text } = %s.axisTicks({ levels: null }, [low, high], 5);
        return ticks.map(text);
    }"""
    assert page.evaluate(shown % module, [low, high]) == expected


@pytest.mark.parametrize(("low", "high"), [(-3.0, 4.0), (-0.9, 9.8), (21.0, 29.0), (0.4, 1.3)])
def test_an_axis_has_two_ticks_at_least(page, low, high):
    module = bundle(page_modules(), "ticks.js")
    shown = "([low, high]) => %s.axisTicks({ levels: null }, [low, high], 2).ticks"
    ticks = page.evaluate(shown % module, [low, high])
    assert len(ticks) >= 2
    assert all(low <= tick <= high for tick in ticks)


def test_colours_on_a_dark_page_are_the_same_in_tables_and_pictures(page):
    module = bundle(page_modules(), "theme.js")
    shown = [to_hex(colour) for colour in colours(20)]
    found = page.evaluate(f"colours => colours.map(c => {module}.adapted(c, true))", shown)
    assert found == [on_dark(colour) for colour in shown]
    card = _luminance(np.array(to_rgb("#1b1f24")))
    contrast = {c: (_luminance(np.array(to_rgb(c))) + 0.05) / (card + 0.05) for c in found}
    assert min(contrast.values()) >= 3.0, contrast


def test_values_keep_the_digits_before_the_point(page):
    module = bundle(page_modules(), "format.js")
    shown = page.evaluate(f"[0.123456, 12345.6, -3.2e40, NaN].map({module}.shortNumber)")
    assert shown == ["0.1235", "12346", "-3.2e+40", "missing"]


def test_objects_are_found_by_the_name_a_field_can_hold(opened, tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    ids = [" one\ntwo ", "__proto__", "a,b", *range(8)]
    path = write_report(model.fit(load_butterfly().X), tmp_path / "ids.html", ids=ids)
    page = opened(path)
    for name, row in [("onetwo", 0), ("__proto__", 1), ("a,b", 2)]:
        page.fill("#object-a", name)
        page.press("#object-a", "Enter")
        assert page.evaluate("credpartReport.store.state.chosen[0]") == row


def test_print_shows_all_but_the_controls(page):
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#theme").is_hidden()
    assert page.locator("#search").is_hidden()
    assert not any(button.is_visible() for button in page.locator(".controls button").all())
    page.set_viewport_size({"width": 718, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.locator("#count").inner_text() == "the first 40 of 150 objects"
    assert len(rows(page)) == 40
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#count").inner_text() == "150 objects"


def unharmed(page):
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 4
    assert (
        page.evaluate("document.querySelectorAll('iframe, object, embed, img, base').length") == 0
    )


def test_there_are_sixty_payloads():
    assert len(set(PAYLOADS)) == 60


def test_payloads_in_titles_file_names_and_commands_do_not_run(opened, tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    model.fit(load_butterfly().X)
    page = None
    for k, text in enumerate(PAYLOADS):
        name = text.replace("/", "_").replace("\n", " ")[:80] + f"{k}.html"
        path = write_report(model, tmp_path / name, title=text, source=text + ".csv", command=text)
        page = opened(path, page)
        assert page.evaluate("document.querySelector('title').text") == text
        shown = page.locator("h1, .source, #reproduction dd:first-of-type code")
        assert shown.all_text_contents() == [text, text + ".csv", text]
        unharmed(page)


def test_payloads_in_columns_ids_and_classes_do_not_run(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(120, 60)) + 4 * np.repeat([[0], [1]], 60, axis=0), columns=PAYLOADS
    )
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0).fit(X)
    ids = [*PAYLOADS, *(text + "!" for text in PAYLOADS)]
    moved = pd.DataFrame([[3, "EII", text, 1, text, 2] for text in ids], columns=list(CHANGES))
    figures = [-9.0, -1.0, True, 0.5, 0.4, 9, 9, -1.0, False]
    others = pd.DataFrame([[3, PAYLOADS[0], *figures]], columns=list(COLUMNS))
    known = {"model": PAYLOADS[0], "n_clusters": 2, "bic": -8.0, "bound": 2.0, "n_pairs": 9}
    found = replace(
        diagnose(model, audit=0, rivals=False),
        rivals=Rivals(table=others, objects=moved, missing={}, **known),
    )
    told = {"ids": ids, "classes": PAYLOADS * 2, "diagnosis": found}
    page = opened(write_report(model, tmp_path / "p.html", **told))
    assert ", ".join(PAYLOADS[:8]) in page.locator("#rivals").text_content()
    assert page.locator("#x-axis option").all_text_contents()[:60] == PAYLOADS
    page.select_option("#colour", "class")
    page.click("#heads th[data-column=class] button")
    told = page.evaluate(VISIT)
    assert [title for title, _ in told] == ids
    for (_, line), text in zip(told, PAYLOADS * 2, strict=True):
        assert line.endswith(f"class {text}.")
    page.fill("#search", PAYLOADS[0])
    assert all(PAYLOADS[0] in text.lower() for text in column(page, 1))
    _, content = saved(page, "#save-svg")
    root = ElementTree.fromstring(content)  # noqa: S314  the page of this test made it
    assert {element.tag.split("}")[1] for element in root.iter()} == {
        "svg", "path", "text", "g", "clipPath",
    }  # fmt: skip
    texts = {element.text for element in root.iter()}
    assert texts & {f"class {text}" for text in PAYLOADS}, texts
    unharmed(page)


def test_payloads_as_names_of_clusters_do_not_run(opened, many_clusters, tmp_path):
    for start in range(0, len(PAYLOADS), 10):
        names = tuple(PAYLOADS[start : start + 10])
        partition = replace(many_clusters.partition, cluster_names=names)
        result = replace(many_clusters, partition=partition)
        page = opened(write_report(result, tmp_path / f"{start}.html"))
        shown = page.locator("#clusters .wide tbody th").all_text_contents()
        assert sorted(shown) == sorted(names)
        assert {name[:16].strip() for name in names} == {
            word.strip() for word in saved_words(page, "bold")
        }
        unharmed(page)


# Choose, point at and search every object in turn, with another column each time.
VISIT = """() => credpartReport.store.state.data.ids.map((id, i) => {
    const shows = { xAxis: i % 60, chosen: [i, null], pointed: i, showsTip: true, announced: i };
    credpartReport.store.update({ ...shows, search: id });
    credpartReport.store.update({ search: '' });
    const tip = document.getElementById('tip');
    return [tip.querySelector('h3').textContent, tip.querySelector('p').textContent];
})"""


def test_page_has_one_global_name(page):
    # the names of a window in which no script ran, and those that `let`, `const` and `class` make
    added = page.evaluate(
        """() => {
            const frame = document.body.appendChild(document.createElement('iframe'));
            const known = new Set(Object.getOwnPropertyNames(frame.contentWindow));
            frame.remove();
            return Object.getOwnPropertyNames(window).filter(name => !known.has(name));
        }"""
    )
    session = page.context.new_cdp_session(page)
    lexical = session.send("Runtime.globalLexicalScopeNames")["names"]
    assert [name for name in added if not name.isdigit()] == ["credpartReport"]
    assert lexical == []


@pytest.fixture
def failing(browser, report, tmp_path):
    """Open a changed copy of the report, and return what it tells its reader."""
    contexts = []

    def open_failing(change, before=""):
        path = tmp_path / "failing.html"
        path.write_text(change(report.read_text(encoding="utf-8")), encoding="utf-8")
        context = browser.new_context(offline=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.add_init_script(before)
        page.goto(path.as_uri())
        message = page.locator("#failure")
        message.wait_for(state="visible")
        assert message.get_attribute("role") == "alert"
        assert page.locator("html[data-ready]").count() == 0
        return message.inner_text()

    yield open_failing
    for context in contexts:
        context.close()


ARRAYS = re.compile(r'(?<=id="arrays">)[^<]+')
DAMAGES = {
    "another character": lambda text: ARRAYS.sub(lambda m: flipped(m[0]), text),
    "no base64": lambda text: ARRAYS.sub(lambda m: "!" + m[0], text),
    "arrays cut off": lambda text: ARRAYS.sub(lambda m: m[0][: len(m[0]) // 8 * 4], text),
    "no arrays": lambda text: ARRAYS.sub("", text),
    "no description": lambda text: re.sub(r'(?<=id="about">)\{', "", text),
    "a place beyond the end": lambda text: re.sub(
        r'"start":0\b', '"start":99999992', text, count=1
    ),
}


def flipped(text):
    middle = len(text) // 2
    return text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_data_are_reported_on_the_page(failing, damage):
    message = failing(DAMAGES[damage])
    assert message.startswith("The picture of the objects, the chosen pair and the table do not")
    assert "Reason: The data of the page cannot be read: the file was changed or not" in message


@pytest.mark.parametrize("share", [0.4, 0.75])
def test_a_page_that_was_cut_off_is_reported_on_it(failing, share):
    def cut_off(text):
        start, end = text.index('id="arrays"'), text.index("</html>")
        return text[: int(start + share * (end - start))]

    assert "Reason: The script of the page did not start" in failing(cut_off)


def test_a_changed_script_does_not_run_and_is_reported(failing):
    def change(text):
        return text.replace("async function start() {", "async function start() {window.hit=1;")

    assert "Reason: The script of the page did not start" in failing(change)


def test_a_browser_that_cannot_decompress_is_told_so(failing):
    message = failing(lambda text: text, before="delete window.DecompressionStream")
    assert "Reason: This browser cannot decompress the data of the page" in message


def test_a_browser_that_cannot_read_the_script_is_told_so(model, failing, monkeypatch):
    original = report_page.page_script
    unreadable = {"main.js": "syntax of the future", "failure.js": original("failure.js")}
    monkeypatch.setattr(report_page, "page_script", unreadable.get)
    message = failing(lambda _: report_page.to_html(model))
    assert "Reason: This browser cannot read the script of the page" in message


def test_a_later_failure_is_reported_on_the_page(browser, report):
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        assert page.locator("#failure").count() == 0
        page.evaluate("setTimeout(() => credpartReport.store.update({ xAxis: 999 }))")
        page.locator("#failure").wait_for(state="visible", timeout=20_000)
        assert "Reason: Cannot read properties of undefined" in page.inner_text("#failure")


@pytest.mark.parametrize(
    ("theme", "pairs"),
    [
        ("light", [("sure", "overlapping"), ("overlapping", "undecided"), ("sure", "undecided")]),
        ("dark", [("sure", "overlapping"), ("sure", "undecided")]),
    ],
)
def test_words_differ_in_grey_print(opened, report, theme, pairs):
    page = opened(report, color_scheme=theme)
    fill = "word => getComputedStyle(document.querySelector(`svg.words .${word}`)).fill"

    def brightness(word):
        parts = re.findall(r"[\d.]+", page.evaluate(fill, word))[:3]
        return 0.05 + _luminance(np.array(parts, dtype=float) / 255.0)

    for first, second in pairs:
        low, high = sorted([brightness(first), brightness(second)])
        assert high / low > 1.5
