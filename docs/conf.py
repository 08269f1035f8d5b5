"""Sphinx: the Markdown pages of this folder, the API from the docstrings, the gallery from ../examples."""

import os
import warnings

import fisherem

os.environ.setdefault("MPLBACKEND", "Agg")

project = "fisherem"
copyright = "the fisherem maintainers"
version = release = fisherem.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "auto_examples/*.ipynb", "auto_examples/*.py", "**/.*", "results/*"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
# The templates list the methods; scikit-learn's own (set_output, metadata routing) refer to pages that are not here.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # Scripts of real data are shown, and run only where the data are.
    "filename_pattern": r"(plot|real)_" if "FISHEREM_DATA" in os.environ else r"plot_",
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "min_reported_time": 0,
    "write_computation_times": False,
    "capture_repr": (),
}
# A fit that ends in a cycle says so; in the gallery that is part of the output, not a failure of the build.
warnings.filterwarnings("default", category=UserWarning)

html_theme = "pydata_sphinx_theme"
html_title = "fisherem"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_sidebars = {"index": [], "start": []}
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}


# Formulas become MathML when the pages are built, so that they can be read without a network.


def _mathml(node, display):
    from latex2mathml.converter import convert

    return convert(node.astext(), display="block" if display else "inline")


def _visit_inline(translator, node):
    from docutils import nodes

    translator.body.append(_mathml(node, False))
    raise nodes.SkipNode


def _visit_block(translator, node):
    from docutils import nodes

    translator.body.append(f'<div class="formula">{_mathml(node, True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


html_math_renderer = "mathml"
