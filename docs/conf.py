"""How the documentation is built: ``sphinx-build -W -b html docs docs/_build/html``.

The build needs no network, and its pages fetch nothing.
"""

import os
import warnings
from typing import Any

import credpart

# The examples draw; they must not need a display, here or in joblib's workers.
os.environ["MPLBACKEND"] = "agg"

project = "credpart"
project_copyright = author = "the credpart developers"
version = release = credpart.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
default_role = "py:obj"  # `name` in a docstring is a link where the name is documented
suppress_warnings = [
    "config.cache",  # the settings of the gallery hold functions
    "ref.citation",  # literature that no docstring cites
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "filename_pattern": r"\.py$",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
warnings.filterwarnings("error", module="credpart")

html_theme = "pydata_sphinx_theme"
html_title = f"credpart {release}"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
html_sidebars = {"quickstart": [], "meaning": []}


def skip_member(
    app: object, kind: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what others wrote for us: fields of named tuples, scikit-learn's requests."""
    alias = (getattr(member, "__doc__", None) or "").startswith("Alias for field")
    return True if alias or name.endswith("_request") else None


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-skip-member", skip_member)
