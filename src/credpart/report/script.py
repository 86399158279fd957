"""The script of the page: ES modules made into one script without imports.

A page that is opened as a file cannot import modules: every file has an origin of its own, and
the page's policy allows no script but those whose digest it names.  So the modules are written
into the page one after the other, each as a function that returns what it exports.

Modules must keep to a restricted form, and everything else is refused:
``import { a, b } from "./x.js";`` and ``export function``, ``export async function``,
``export class`` or ``export const`` of one name, at the beginning of a line.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

IMPORT = re.compile(r'^import \{(\s*\w+(?:,\s*\w+)*,?\s*)\} from "\./([\w-]+\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
# What is left of imports and exports of other forms; `await` would need an asynchronous function.
UNSUPPORTED = re.compile(r"^(?:import|export|await)\b.*|\bimport\s*[.(].*", re.MULTILINE)
# What would end the script element, or change how the browser reads it.
MARKUP = re.compile(r"</script|<script|<!--", re.IGNORECASE)


def imports(source: str) -> dict[str, list[str]]:
    """Return the names that a module imports from each other module.

    >>> imports('import { a, b } from "./x.js";')
    {'x.js': ['a', 'b']}
    """
    return {match[2]: _names(match[1]) for match in IMPORT.finditer(source)}


def exports(source: str) -> list[str]:
    r"""Return the names that a module exports.

    >>> exports("export const a = 1;\nexport function b() {}")
    ['a', 'b']
    """
    return [match[2] for match in EXPORT.finditer(source)]


def _names(text: str) -> list[str]:
    """Names between the braces; the last may be followed by a comma."""
    return [name.strip() for name in text.split(",") if name.strip()]


def bundle(sources: Mapping[str, str], entry: str) -> str:
    r"""Return one script that runs the module ``entry`` after all that it imports.

    The script is an expression whose value is an object of what ``entry`` exports.

    >>> sources = {
    ...     "main.js": 'import { a } from "./x.js";\nexport const b = 2 * a;',
    ...     "x.js": "export const a = 1;",
    ... }
    >>> print(bundle(sources, "main.js"))
    (() => {
    "use strict";
    const modules = {};
    modules["x.js"] = (() => {
    const a = 1;
    return { a };
    })();
    modules["main.js"] = (() => {
    const { a } = modules["x.js"];
    const b = 2 * a;
    return { b };
    })();
    return modules["main.js"];
    })()
    """
    parts = [_as_function(name, sources) for name in in_order(sources, entry)]
    lines = ["(() => {", '"use strict";', "const modules = {};", *parts]
    return "\n".join([*lines, f'return modules["{entry}"];', "})()"])


def in_order(sources: Mapping[str, str], entry: str) -> list[str]:
    """Return the modules that ``entry`` needs, each after those that it imports."""
    finished: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = " -> ".join([*path[path.index(name) :], name])
            raise ValueError(f"The modules of the script import each other: {cycle}.")
        if name in finished:
            return
        if name not in sources:
            raise ValueError(f"{path[-1]} imports from {name}, which does not exist.")
        for imported in imports(sources[name]):
            visit(imported, (*path, name))
        finished.append(name)

    visit(entry, ())
    return finished


def _as_function(name: str, sources: Mapping[str, str]) -> str:
    """Return the statement that runs one module and keeps what it exports."""
    source = sources[name]
    for imported, wanted in imports(source).items():
        for missing in sorted(set(wanted) - set(exports(sources[imported]))):
            raise ValueError(f"{name} imports {missing}, which {imported} does not export.")
    body = IMPORT.sub(_as_constants, source)
    body = EXPORT.sub(r"\1", body)
    if found := UNSUPPORTED.search(body):
        raise ValueError(f"{name} has a form of import or export that is not read: {found[0]!r}.")
    if found := MARKUP.search(body):
        raise ValueError(f"{name} has {found[0]!r}, which cannot stand in a script element.")
    result = f"return {{ {', '.join(exports(source))} }};"
    return f'modules["{name}"] = (() => {{\n{body.strip()}\n{result}\n}})();'


def _as_constants(match: re.Match[str]) -> str:
    return f'const {{ {", ".join(_names(match[1]))} }} = modules["{match[2]}"];'


@cache
def page_script(entry: str) -> str:
    """Return the script of the page that starts at the module ``entry``."""
    return bundle(page_modules(), entry)


def page_modules() -> dict[str, str]:
    """Return the sources of all modules of the page."""
    folder = files("credpart.report").joinpath("assets", "script")
    return {module.name: module.read_text(encoding="utf-8") for module in folder.iterdir()}
