"""The report as its reader has it: in a browser, offline, by pointer and by keyboard.

Needs Chromium.  Without it these tests are skipped, or, where ``CREDPART_NEEDS_CHROMIUM`` is set
as in CI, fail.
"""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from credpart import CalibratedClustering
from credpart.datasets import load_butterfly, load_iris
from credpart.report import payload, write_report
from tests.payloads import PAYLOADS

IRIS = load_iris()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IDS = [f"flower {i}" for i in range(150)]

PLACE = """i => {
    const f = frame(), box = scatter.canvas.getBoundingClientRect();
    return [box.x + across(scatter.at.x[i], f), box.y + down(scatter.at.y[i], f)];
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
def report(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "iris.html"
    return write_report(model, path, ids=IDS, classes=IRIS.y, source="iris")


@pytest.fixture
def page(opened, report):
    return opened(report, viewport={"width": 1280, "height": 900})


def show_columns(page, x, y):
    page.select_option("#x-axis", label=x)
    page.select_option("#y-axis", label=y)
    page.locator("#scatter").scroll_into_view_if_needed()


def alone(model):
    """Objects that no other object is near to in the plane of the first two columns."""
    points = model._fit_X[:, :2] / np.ptp(model._fit_X[:, :2], axis=0)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(len(points))
    return np.argsort(-gaps.min(axis=1))


def test_words_come_before_pictures(page, model):
    verdict = page.locator("#verdict")
    assert "✓ Good" in verdict.inner_text() or "! Caution" in verdict.inner_text()
    assert verdict.bounding_box()["y"] < page.locator("#scatter").bounding_box()["y"]
    tiles = page.locator(".tile b").all_inner_texts()
    certain = int(model.partition_.lower_approximation().any(axis=1).sum())
    assert tiles[:3] == [str(certain), str(150 - certain), "3"]


@pytest.mark.parametrize(("x", "y"), [(0, 1), (3, 2)])
def test_axes_change(page, model, x, y):
    names = list(IRIS.X.columns)
    show_columns(page, names[x], names[y])
    places = np.array([page.evaluate(PLACE, i) for i in range(0, 150, 7)])
    values = model._fit_X[::7]
    assert np.corrcoef(places[:, 0], values[:, x])[0, 1] == pytest.approx(1.0)
    assert np.corrcoef(places[:, 1], values[:, y])[0, 1] == pytest.approx(-1.0)


def test_principal_components_come_first(page, model):
    assert "principal component 1" in page.locator("#x-axis option:checked").inner_text()
    places = np.array([page.evaluate(PLACE, i) for i in range(150)])
    Z = (model._fit_X - model._fit_X.mean(axis=0)) / model._fit_X.std(axis=0)
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
    posteriors = model.mixture_.posteriors(model._fit_X)
    lone = [int(i) for i in alone(model)[:60]]
    doubtful = sorted(lone, key=lambda i: model.partition_.belief()[i].max())
    for i, j in [(lone[0], lone[1]), (doubtful[0], doubtful[1]), (doubtful[2], lone[5])]:
        page.mouse.click(*page.evaluate(PLACE, i))
        page.mouse.click(*page.evaluate(PLACE, j))
        expected = {
            "lower": lower[i, j], "upper": upper[i, j], "belief": belief[i, j],
            "plausibility": plausibility[i, j], "fit": posteriors[i] @ posteriors[j],
        }  # fmt: skip
        assert figures(page) == pytest.approx(expected, abs=1e-9)
        text = page.locator("#interval svg").text_content()
        assert f"90 % confidence interval [{lower[i, j]:.3f}, {upper[i, j]:.3f}]" in text
        assert f"[{belief[i, j]:.3f}, {plausibility[i, j]:.3f}]" in text
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


def test_pairs_that_are_not_stored_say_so(model, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "_products", lambda *_: None)
    monkeypatch.setattr(payload, "MOST_VALUES", 100 * 3 * 10)
    page = opened(write_report(model, tmp_path / "few.html"))
    page.fill("#object-a", "0")
    page.fill("#object-b", "1")
    page.keyboard.press("Tab")
    assert "not stored on this page" in page.locator("#interval").inner_text()
    page.fill("#object-b", "nobody")
    page.keyboard.press("Tab")
    assert page.locator("#pair-error").inner_text() == "No object is named “nobody”."


def rows(page):
    return page.locator("#body tr[data-row]").all()


def column(page, k):
    return [row.locator("th, td").nth(k).inner_text() for row in rows(page)]


def test_table_begins_with_the_most_ambiguous_and_sorts(page, model):
    doubt = 1.0 - model.partition_.belief().max(axis=1)
    shown = [int(row.get_attribute("data-row")) for row in rows(page)]
    assert len(shown) < 60  # only what is in view is in the page
    np.testing.assert_allclose(doubt[shown], np.sort(doubt)[::-1][: len(shown)], atol=1e-12)
    page.click("#heads th[data-column=object] button")
    assert column(page, 0)[:3] == ["flower 0", "flower 1", "flower 2"]  # as numbers
    page.click("#heads th[data-column=object] button")
    assert column(page, 0)[0] == "flower 149"
    assert page.get_attribute("#heads th[data-column=object]", "aria-sort") == "descending"
    page.click("#heads th[data-column=plausibility] button")
    assert column(page, 6) == sorted(column(page, 6), reverse=True)
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
    page.select_option("#set-filter", label="between clusters")
    several = model.partition_.focal_sets.sum(axis=1)[model.partition_.set_labels] > 1
    assert page.locator("#count").inner_text() == f"{several.sum()} of 150 objects"
    page.select_option("#set-filter", label="{1}")
    assert set(column(page, 3)) == {"{1}"}
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
    assert len(controls) == 11 + 3 + 7  # above the table, around it, its heads
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


def test_keyboard_alone_does_what_the_pointer_does(page):
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip h3").inner_text()
    assert first == column(page, 0)[0]  # it starts at the most ambiguous
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    second = page.locator("#tip h3").inner_text()
    assert second != first
    assert second in page.locator("#told").text_content()
    page.keyboard.press("Enter")
    assert [page.input_value("#object-a"), page.input_value("#object-b")] == [first, second]
    assert set(figures(page)) == {"lower", "upper", "belief", "plausibility", "fit"}
    before = page.evaluate("scatter.box.x")
    page.keyboard.press("+")
    assert np.ptp(page.evaluate("scatter.box.x")) < np.ptp(before)
    page.keyboard.press("0")
    assert page.evaluate("scatter.box.x") == before
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
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
        const colour = getComputedStyle(e).backgroundColor;
        return colour === 'rgba(0, 0, 0, 0)' && e.parentElement ? behind(e.parentElement) : colour;
    };
    const found = {};
    for (const e of document.querySelectorAll('h1, h2, p, dt, dd, th, td:not(.zero), label, button, .mark, .badge')) {
        if (!e.checkVisibility() || !e.textContent.trim()) continue;
        const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort();
        found[e.tagName + '.' + e.className] = (b + 0.05) / (a + 0.05);
    }
    return found;
}"""  # noqa: E501


def test_zooming_does_not_run_out_of_digits(page):
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    for _ in range(150):
        page.keyboard.press("+")
    assert page.evaluate("scatter.box.x[1] > scatter.box.x[0]")
    page.evaluate("zoomTo({from: {x: 100, y: 100}, to: {x: 100, y: 300}})")  # no width
    assert page.evaluate("scatter.box.x[1] > scatter.box.x[0]")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-20000.0, 20000.0, ["-20,000", "-10,000", "0", "10,000", "20,000"]),
        (1234567.5, 1234570.5, ["1,234,568", "1,234,569", "1,234,570"]),
        (0.0, 4e40, ["0", "1e+40", "2e+40", "3e+40", "4e+40"]),
        (1e16, 1e16, []),
    ],
)
def test_ticks_can_be_told_apart(page, low, high, expected):
    told = "([low, high]) => { const t = niceTicks(low, high, 5); return t.ticks.map(t.text); }"
    assert page.evaluate(told, [low, high]) == expected


def test_values_keep_the_digits_before_the_point(page):
    told = page.evaluate("[0.123456, 12345.6, -3.2e40, NaN].map(short)")
    assert told == ["0.1235", "12346", "-3.2e+40", "missing"]


def test_objects_are_found_by_the_name_a_field_can_hold(opened, tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    ids = [" one\ntwo ", "__proto__", "a,b", *range(8)]
    path = write_report(model.fit(load_butterfly().X), tmp_path / "ids.html", ids=ids)
    page = opened(path)
    for name, row in [("onetwo", 0), ("__proto__", 1), ("a,b", 2)]:
        page.fill("#object-a", name)
        page.press("#object-a", "Enter")
        assert page.evaluate("chosen[0]") == row


def test_print_shows_all_but_the_controls(page):
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#theme").is_hidden()
    assert page.locator("#search").is_hidden()
    assert page.locator("#count").inner_text() == "the first 40 of 150 objects"
    assert len(rows(page)) == 40
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#count").inner_text() == "150 objects"


def unharmed(page):
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 3
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
    page = opened(write_report(model, tmp_path / "p.html", ids=ids, classes=PAYLOADS * 2))
    assert page.locator("#x-axis option").all_text_contents()[:60] == PAYLOADS
    page.select_option("#colour", "class")
    page.click("#heads th[data-column=class] button")
    told = page.evaluate(VISIT)
    assert [title for title, _ in told] == ids
    for (_, line), text in zip(told, PAYLOADS * 2, strict=True):
        assert line.endswith(f"class {text}.")
    page.fill("#search", PAYLOADS[0])
    assert all(PAYLOADS[0] in text.lower() for text in column(page, 1))
    unharmed(page)


# Choose, point at and search every object in turn, with another column each time.
VISIT = """() => about.ids.map((id, i) => {
    const axis = document.getElementById('x-axis');
    axis.value = String(i % 60);
    axis.dispatchEvent(new Event('change'));
    choose(i);
    showTip(i);
    document.getElementById('search').value = id;
    arrange();
    document.getElementById('search').value = '';
    const tip = document.getElementById('tip');
    return [tip.querySelector('h3').textContent, tip.querySelector('p').textContent];
})"""
