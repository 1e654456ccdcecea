"""How Sphinx makes the site. `docs/site/build.py`, which `make site` runs, prepares the sources and calls it."""

import datetime
import json
import os
import sys
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "site"))

WORKSPACE = tomllib.loads((HERE.parent / "Cargo.toml").read_text())["workspace"]["package"]

project = "Quell"
author = "the Quell authors"
copyright = f"{datetime.datetime.now(tz=datetime.timezone.utc).year}, {author}"
version = release = os.environ["QUELL_SITE_VERSION"]
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "quell_site"]
root_doc = "index"
exclude_patterns: list[str] = []
# A reference that leads nowhere is an error; so are all warnings (`-n -W`).
nitpicky = True

# The pages are Markdown as GitHub reads it, with the anchors that GitHub gives headings. Formulas are in fences of `math`.
myst_heading_anchors = 6
myst_fence_as_directive = ["math"]
myst_enable_extensions: list[str] = []
# Words such as "RFC" and straight quotes stay as they are typed.
smartquotes = False

# The package as it is without its extension, whose documentation the stub has.
sys.path.insert(0, os.environ["QUELL_SITE_PYTHON"])
autodoc_mock_imports = [
    "control",
    "dask",
    "duckdb",
    "fsspec",
    "matplotlib",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"undoc-members": False}
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
# Types of other packages, and the words of documented types such as "str or float".
nitpick_ignore_regex = [("py:class", ".*")]

highlight_language = "text"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "Quell"
html_static_path = ["site/static", os.environ["QUELL_SITE_STATIC"]]
templates_path = ["site/templates"]
html_css_files = ["site.css"]
html_js_files = [("tablesort.js", {"defer": "defer"}), ("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_permalinks_icon = "#"
html_last_updated_fmt = None
html_sidebars = {"index": [], "search": []}
html_theme_options = {
    "logo": {"text": "Quell"},
    "navbar_end": ["versions", "theme-switcher", "navbar-icon-links"],
    "secondary_sidebar_items": ["page-toc"],
    "article_footer_items": ["source"],
    "icon_links": [{"name": "Sources", "url": WORKSPACE["repository"], "icon": "fa-brands fa-github"}],
    "footer_start": ["copyright"],
    "footer_end": [],
    "primary_sidebar_end": [],
    "navigation_depth": 3,
    "show_toc_level": 2,
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_math_renderer = "mathml"
# Where each page is in the repository.
quell_sources = json.loads(Path(os.environ["QUELL_SITE_PAGES"]).read_text())
html_context = {"default_mode": "auto"}
