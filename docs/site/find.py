"""What the search finds: the sections of all pages, as an index that a page of the site loads.

A result is a section and not a page, so that the answer is on the screen where a reader lands. MiniSearch ranks sections by BM25+;
`find-index.mjs` makes its index, and `static/find.js` asks it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Pages that are lists of others, and what Sphinx adds of its own.
WITHOUT = {"search", "genindex", "py-modindex"}
# Elements that end nothing.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Measured numbers find nothing, and would be most of the index; years, RFCs and the like are found.
NUMBER = re.compile(r"^[-+−]?\d[\d.,e+−-]*(?:%|[a-zµ]{1,2})?$")


@dataclass
class Part:
    """A section, a documented name of Python, or the row of a table about one name; with its words."""

    anchor: str
    heading: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """The parts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: list[Part] = []
        # The parts that are open, by the depth of their elements; whether a heading is open, and what is skipped.
        self.open: list[tuple[int, Part]] = []
        self.depth = 0
        self.heading = 0
        self.skip = 0
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in VOID:
            return
        self.depth += 1
        if tag == "article":
            self.inside = self.inside or self.depth
        if not self.inside:
            return
        kinds = (found.get("class") or "").split()
        if tag in ("script", "style", "nav", "footer", "math") or "headerlink" in kinds or "copybtn" in kinds:
            self.skip = self.skip or self.depth
        name = tag == "dt" and "sig" in kinds and found.get("id")
        row = tag == "tr" and found.get("id")
        if (tag == "section" and found.get("id")) or name or row:
            part = Part(found["id"] or "")
            if row:
                part.heading.append(part.anchor)
            self.parts.append(part)
            # The description of a name stands beside it, and ends with the list of both.
            self.open.append((self.depth - 1 if name else self.depth, part))
        if re.fullmatch(r"h[1-6]", tag) or name:
            self.heading = self.heading or self.depth

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self.heading == self.depth:
            self.heading = 0
        if self.skip == self.depth:
            self.skip = 0
        while self.open and self.open[-1][0] >= self.depth:
            self.open.pop()
        if self.inside == self.depth:
            self.inside = 0
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        if self.open and not self.skip:
            part = self.open[-1][1]
            (part.heading if self.heading else part.words).append(data)


def sections(out: Path, also: dict[str, str]) -> list[dict[str, str]]:
    """The sections of the pages of a version, and the words by which people look for those that lack them."""
    found = []
    for path in sorted(out.rglob("*.html")):
        page = path.relative_to(out).with_suffix("").as_posix()
        if "_static" in path.parts or "_modules" in path.parts or page in WITHOUT:
            continue
        parts = Reader(path.read_text()).parts
        title = " ".join("".join(parts[0].heading).split()) if parts else ""
        for part in parts:
            words = " ".join(part.words).split()
            first = part is parts[0]
            found.append(
                {
                    "page": page,
                    "anchor": "" if first else part.anchor,
                    "title": title,
                    "heading": " ".join("".join(part.heading).split()),
                    "also": also.get(page if first else f"{page}#{part.anchor}", ""),
                    # A table has the same words in every row.
                    "text": " ".join(dict.fromkeys(word for word in words if not NUMBER.match(word))),
                }
            )
    return found


def write(out: Path, also: dict[str, str], packages: Path) -> None:
    """Writes the index of a version beside what its pages load."""
    data = json.dumps(sections(out, also), ensure_ascii=False)
    static = out / "_static"
    command = ["node", str(HERE / "find-index.mjs"), str(packages), str(static)]
    if subprocess.run(command, input=data.encode(), check=False).returncode != 0:
        sys.exit(f"site: {' '.join(command)} failed")
