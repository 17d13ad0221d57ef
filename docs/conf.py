"""Configuration of the documentation site: `make docs` builds it, without a network and with warnings as errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ravine

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "ravine"
author = "The ravine developers"
project_copyright = author
version = release = ravine.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "gallery_thumbnails",
    "link_names",
]

# Links to the documentation of other projects need a network: they are made only where one is promised. Without them
# the names of foreign types are plain text.
if os.environ.get("RAVINE_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

# Pages are Markdown, readable in the repository; their anchors are those that GitHub makes.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "_ext", "sg_execution_times.rst", "**/sg_execution_times.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]
toc_object_entries_show_parents = "hide"

default_role = "py:obj"

# The API reference is generated from the docstrings.
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.OrderKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "copyfile_regex": "",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("ravine",),
    "reference_url": {"ravine": None},
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "image_srcset": [],
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_title = "ravine"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_version_warning_banner": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 9,  # all that a new user looks for
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_context = {"default_mode": "auto"}
# Pages without subpages need no navigation at the side; scripts, wide tables and diagrams use its width.
WIDE = ("gallery/*", "clustering_study", "evidence", "architecture")
html_sidebars = {name: [] for name in ("index", "faq", "get_started", "how_it_works", "choosing", "performance", *WIDE)}
