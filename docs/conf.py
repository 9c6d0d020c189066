"""Configuration of the site: pages in Markdown, the API from docstrings, the gallery from code.

    make docs    # builds docs/_build/html without a warning, and checks every link in it

Neither the build nor the pages load anything from other sites.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "rankprune"
author = "The rankprune developers"
copyright = author  # Sphinx's name for it
version = release = installed("rankprune")

extensions = [
    "changes",
    "mathml",
    "myst_parser",
    "numpydoc",
    "outside",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "generated/changes.md", "gallery/*.ipynb", "sg_execution_times.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
default_role = "py:obj"

toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings describe the types
autodoc_mock_imports = ["pyspark"]
numpydoc_show_class_members = False
# Members of scikit-learn's classes, which its own pages describe.
autodoc_default_options = {
    "inherited-members": "BaseEstimator, ClassifierMixin, MetaEstimatorMixin, tuple, Exception",
    "exclude-members": "set_fit_request, set_score_request, get_metadata_routing, score",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("rankprune",),
    "reference_url": {"rankprune": None},
    "backreferences_dir": "generated/backreferences",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "show_memory": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "rankprune"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rankprune"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
