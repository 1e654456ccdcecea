"""What Sphinx does for this site beyond its own: anchors as GitHub has them, citations, tables, formulas."""

from __future__ import annotations

import os
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import latex2mathml.converter
import stage
from docutils import nodes
from pybtex.database import parse_file
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

SOURCES = stage.DOCS / "references.bib"
REFERENCES = "references"
# From so many rows on a table sorts, and from so many it has a filter and a box of its own.
SORTS, FILTERS = 4, 14
# What a row may be about.
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
# So many columns do not fit a page.
WIDE = 6
# A cell of numbers, with signs and short words such as units, stays on one line: "9.06 ± 0.36", "24 of 63", "20 Mbit/s".
NUMBERS = re.compile(r"[-+−±<>≈=\[(]*\d\S*(?:\s+(?:\S*\d\S*|\S{1,8}))*")
NUMBERS_MOST = 32
# A cell of so many characters is a text, which needs some width; a long one needs more.
TEXT, LONG = 40, 120
# What has no citations in it: code, links, headings.
OPAQUE = (
    nodes.literal,
    nodes.literal_block,
    nodes.reference,
    nodes.title,
    nodes.raw,
    nodes.comment,
    addnodes.pending_xref,
)


class Anchors(SphinxTransform):
    """Gives each heading the anchor that GitHub gives it, so that links from anywhere work here too."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        for section in self.document.findall(nodes.section):
            slug = section.get("slug")
            if slug and slug not in section["ids"] and slug not in self.document.ids:
                section["ids"].insert(0, slug)
                self.document.ids[slug] = section


@cache
def keys() -> dict[str, str]:
    """The key of each source, by the words that cite it."""
    return {entry.fields["shorthand"]: key for key, entry in parse_file(SOURCES).entries.items()}


@cache
def citation() -> re.Pattern[str]:
    """Any citation in a text; the longest of those that begin alike."""
    names = sorted(keys(), key=len, reverse=True)
    return re.compile(
        r"(?<![\w-])(?:" + "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in names) + r")(?![\w-])"
    )


class Citations(SphinxTransform):
    """Links the first citation of each source in a section to the page of sources, whose rows get their anchors."""

    default_priority = 810

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname == REFERENCES:
            self.name_rows()
            return
        seen: set[tuple[int, str]] = set()
        for text in list(self.document.findall(nodes.Text)):
            if not self.opaque(text):
                self.link(text, seen)

    def name_rows(self) -> None:
        for row in self.document.findall(nodes.row):
            if (key := keys().get(row[0].astext())) is not None:
                row["names"].append(f"source-{key}")
                row["ids"].append(key)
                self.document.note_explicit_target(row)

    def opaque(self, node: nodes.Node) -> bool:
        while node.parent is not None:
            if isinstance(node, OPAQUE):
                return True
            node = node.parent
        return False

    def link(self, text: nodes.Text, seen: set[tuple[int, str]]) -> None:
        words, end, out = text.astext(), 0, []
        section: nodes.Node = text
        while section.parent is not None and not isinstance(section, nodes.section):
            section = section.parent
        for match in citation().finditer(words):
            key = keys()[" ".join(match.group().split())]
            if (id(section), key) in seen:
                continue
            seen.add((id(section), key))
            ref = addnodes.pending_xref(
                "",
                nodes.inline("", match.group()),
                refdomain="std",
                reftype="ref",
                reftarget=f"source-{key}",
                refexplicit=True,
                refwarn=True,
                refdoc=self.env.docname,
            )
            out += [nodes.Text(words[end : match.start()]), ref]
            end = match.end()
        if out:
            text.parent.replace(text, [node for node in [*out, nodes.Text(words[end:])] if node.astext()])


class Tables(SphinxTransform):
    """Says of each table what the page's script and style make of it."""

    default_priority = 820

    def apply(self, **kwargs: Any) -> None:
        for table in self.document.findall(nodes.table):
            bodies = list(table.findall(nodes.tbody))
            heads = list(table.findall(nodes.thead))
            if (
                len(bodies) != 1
                or len(heads) != 1
                or any("morecols" in entry for entry in table.findall(nodes.entry))
            ):
                continue
            self.name_rows(bodies[0])
            for entry in heads[0].findall(nodes.entry):
                if not entry.astext().strip():
                    # Readers of screens say it; the page shows nothing.
                    entry.append(
                        nodes.paragraph("", "", nodes.inline("", "row", classes=["visually-hidden"]))
                    )
            rows = len(bodies[0].children)
            table["classes"] += ["site-sort"] if rows >= SORTS else []
            table["classes"] += ["site-filtered", "site-tall"] if rows >= FILTERS else []
            table["classes"] += ["site-wide"] if len(heads[0][0].children) >= WIDE else []
            for row in bodies[0]:
                for column, entry in enumerate(row):
                    entry["classes"] += self.kind(entry, first=column == 0)

    def kind(self, entry: nodes.entry, *, first: bool) -> list[str]:
        """What a cell holds, for the style: numbers, a name that its row is about, or a text."""
        words = entry.astext().strip()
        if len(words) <= NUMBERS_MOST and NUMBERS.fullmatch(words):
            return ["site-number"]
        if first and words and " " not in words and any(entry.findall(nodes.literal)):
            return ["site-name"]
        if len(words) > LONG:
            return ["site-text", "site-long"]
        return ["site-text"] if len(words) > TEXT else []

    def name_rows(self, body: nodes.tbody) -> None:
        """Gives a row that is about one name, such as a metric, an anchor of that name: the search leads there."""
        for row in body.findall(nodes.row):
            inner = [node for paragraph in row[0] for node in paragraph.children] if len(row) else []
            if len(inner) != 1 or not isinstance(inner[0], nodes.literal):
                continue
            name = inner[0].astext()
            if NAME.fullmatch(name) and name not in self.document.ids:
                row["ids"].append(name)
                self.document.ids[name] = row


def inline_math(writer: Any, node: nodes.math) -> None:
    """A formula in a line, as MathML, which every browser shows and reads aloud: no script, no fonts."""
    writer.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def block_math(writer: Any, node: nodes.math_block) -> None:
    """A formula of its own."""
    writer.body.append(latex2mathml.converter.convert(node.astext(), display="block"))
    raise nodes.SkipNode


def context(
    app: Sphinx, page: str, template: str, values: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Where a page's source is."""
    source = app.config.quell_sources.get(page)
    ref = os.environ.get("QUELL_SITE_REF", "main")
    values["source_url"] = f"{stage.REPOSITORY}/blob/{ref}/{source}" if source else ""


def name_summaries(app: Sphinx, problem: Exception | None) -> None:
    """Says to readers of screens what the arrows in the side bar do; the theme leaves them without a name."""
    if problem is None and app.builder.format == "html":
        for path in app.outdir.rglob("*.html"):
            text = path.read_text()
            if "<details><summary><" in text or '<details open="open"><summary><' in text:
                path.write_text(text.replace("<summary><", '<summary aria-label="The pages below"><'))


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Registers all of it. Pages are read again where this file has changed since."""
    for transform in (Anchors, Citations, Tables):
        app.add_transform(transform)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.add_config_value("quell_sources", {}, "env")
    app.connect("html-page-context", context)
    app.connect("build-finished", name_summaries)
    version = zlib.crc32(Path(__file__).read_bytes())
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": version}
