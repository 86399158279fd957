"""The script of the report as modules: their graph, their form, and how they become one script."""

import pytest

from credpart.report.script import bundle, exports, imports, in_order, page_modules, page_script

ENTRIES = ("failure.js", "main.js")


def test_modules_import_each_other_without_a_cycle():
    modules = page_modules()
    for entry in ENTRIES:
        order = in_order(modules, entry)
        for name in order:
            before = order[: order.index(name)]
            assert set(imports(modules[name])) <= set(before)


def test_every_module_is_used():
    modules = page_modules()
    assert {name for entry in ENTRIES for name in in_order(modules, entry)} == set(modules)


def test_every_export_is_imported_somewhere():
    modules = page_modules()
    exported = {(name, export) for name, source in modules.items() for export in exports(source)}
    imported = {
        (name, wanted)
        for source in modules.values()
        for name, names in imports(source).items()
        for wanted in names
    }
    assert exported == imported


def test_lines_are_short():
    long = [
        f"{name}:{number}"
        for name, source in page_modules().items()
        for number, line in enumerate(source.splitlines(), start=1)
        if len(line) > 100
    ]
    assert long == []


def test_script_is_ready_for_a_page():
    for entry in ENTRIES:
        script = page_script(entry)
        assert "\nimport " not in script
        assert "\nexport " not in script


def test_a_module_is_run_once_and_before_those_that_import_it():
    sources = {
        "main.js": 'import { b } from "./b.js";\nimport { c } from "./c.js";',
        "b.js": 'import { c } from "./c.js";\nexport const b = c;',
        "c.js": "export async function c() {}",
    }
    script = bundle(sources, "main.js")
    places = [script.index(f'modules["{name}"] = ') for name in ("c.js", "b.js", "main.js")]
    assert places == sorted(places)
    assert script.count('modules["c.js"] = ') == 1


def test_imports_may_stand_on_several_lines():
    source = 'import {\n  first,\n  second,\n} from "./x.js";\n'
    assert imports(source) == {"x.js": ["first", "second"]}
    exported = "export const first = 1;\nexport const second = 2;"
    script = bundle({"main.js": source, "x.js": exported}, "main.js")
    assert 'const { first, second } = modules["x.js"];' in script


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (
            {
                "main.js": 'import { a } from "./a.js";',
                "a.js": 'import { b } from "./b.js";\nexport const a = b;',
                "b.js": 'import { a } from "./a.js";\nexport const b = a;',
            },
            r"import each other: a\.js -> b\.js -> a\.js\.",
        ),
        (
            {"main.js": 'import { a } from "./a.js";'},
            r"main\.js imports from a\.js, which does not exist",
        ),
        (
            {"main.js": 'import { a } from "./a.js";', "a.js": "export const b = 1;"},
            r"main\.js imports a, which a\.js does not export",
        ),
    ],
)
def test_modules_that_do_not_fit_together_are_refused(sources, message):
    with pytest.raises(ValueError, match=message):
        bundle(sources, "main.js")


@pytest.mark.parametrize(
    "source",
    [
        'import a from "./a.js";',
        'import * as a from "./a.js";',
        'import { a as b } from "./a.js";',
        'import { a } from "elsewhere";',
        'import "./a.js";',
        'const a = await import("./a.js");',
        "const here = import.meta.url;",
        "export default 1;",
        "export let a = 1;",
        "export { a };",
        'export * from "./a.js";',
        "await a();",
    ],
)
def test_other_forms_of_modules_are_refused(source):
    sources = {"main.js": source, "a.js": "export const a = 1;"}
    with pytest.raises(ValueError, match=r"main\.js has a form of import or export that is not"):
        bundle(sources, "main.js")


@pytest.mark.parametrize("text", ["</script>", "</SCRIPT ", "<!--", "<script"])
def test_a_script_that_would_end_its_element_is_refused(text):
    with pytest.raises(ValueError, match="cannot stand in a script element"):
        bundle({"main.js": f'const text = "{text}";'}, "main.js")
