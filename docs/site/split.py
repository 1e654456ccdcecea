"""Long pages as a summary and a page for each section.

The pages that runs write are read in one piece by programs and on GitHub, and are too long for a reader: the site shows each
section as a page of its own. The page itself keeps what stands before the sections, and lists them. Every heading keeps its
anchor there, which leads to where the heading went.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import markdown
from markdown import Section

# So many cases with a table each are read as one table of all.
CASES = 12
# The characters of notes that a reader of the summary should not have to pass.
LONG = 2000
# The characters of the name of a part's file.
LONGEST = 60


@dataclass
class Part:
    """A page that was a section: its path without ending, its text, and where the text was in the whole page."""

    path: str
    title: str
    text: str


@dataclass
class Pages:
    """A page in parts. `moved` has, for each old anchor, the part's path and the anchor there."""

    summary: str
    parts: list[Part]
    moved: dict[str, tuple[str, str]]
    # The paths of the parts of each page, in order, for its list in the side bar.
    below: dict[str, list[str]]


def split(text: str, path: str) -> Pages:
    """The page at a path without ending, in parts."""
    whole = markdown.sections(text)
    pages = Pages("", [], {}, {path: []})
    for section in whole.parts:
        pages.below[path].append(part(section, f"{path}/{short(section.slug)}", pages))
    listed = listing(whole.parts, path)
    # What a reader sees first is the summary, and then where to go on: before long notes, after a table of scores.
    table = re.search(r"\n(?:\|.*\n){2,}\n", whole.text)
    end = table.end() if table and len(whole.text) - table.end() > LONG else len(whole.text)
    first, rest = whole.text[:end], whole.text[end:]
    pages.summary = f"# {whole.title}\n{first}\n{listed}\n{rest}\n{redirects(path, pages.moved)}"
    return pages


def part(section: Section, path: str, pages: Pages) -> str:
    """Adds the pages of a section, and gives the path of its own."""
    cases = [below for below in section.parts if len(below.parts) > CASES]
    for of_cases in cases:
        under = f"{path}-{of_cases.slug.rstrip('-0123456789')}"
        pages.below.setdefault(path, []).append(under)
        title = f"{section.title}: {of_cases.title[0].lower()}{of_cases.title[1:]}"
        pages.parts.append(Part(under, title, f"# {title}\n{of_cases.text}\n{one_table(of_cases.parts)}"))
        pages.moved |= {
            below.slug: (under, below.slug if below is not of_cases else "") for below in of_cases.walk()
        }
        place = section.parts.index(of_cases)
        count = len(of_cases.parts)
        list_item = f"\n[{title}]({under}.md): {count} cases in one table.\n\n"
        section.parts[place] = Section(of_cases.level, of_cases.title, of_cases.slug, list_item)
    text = section.markdown(1)
    new = [below.slug for below in markdown.sections(text).walk()]
    old = [below.slug for below in section.walk()]
    pages.moved = {was: (path, now) for was, now in zip(old, new, strict=True)} | pages.moved
    pages.parts.append(Part(path, section.title, text))
    return path


def short(slug: str) -> str:
    """A slug as the name of a file: whole words of it, which people can still read in an address."""
    return slug if len(slug) <= LONGEST else slug[:LONGEST].rpartition("-")[0]


def listing(parts: list[Section], path: str) -> str:
    """The list of the sections: each a link with its first sentence. The old anchors stand at the links."""
    items = []
    for section in parts:
        says = markdown.first_sentence(section.text)
        link = f'<span id="{section.slug}"></span>[{section.title}]({path}/{short(section.slug)}.md)'
        items.append(f"- {link}: {says}" if says else f"- {link}")
    return "\n".join(["", "**Sections**", "", *items, ""])


def redirects(path: str, moved: dict[str, tuple[str, str]]) -> str:
    """What the page's script needs to follow old anchors: a map from each to the page and the anchor there."""
    folder = path.rsplit("/", 1)[0] + "/" if "/" in path else ""
    targets = {
        was: page.removeprefix(folder) + ".html" + (f"#{anchor}" if anchor else "")
        for was, (page, anchor) in moved.items()
    }
    data = json.dumps(targets, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="moved">{data}</script>\n'


def one_table(cases: list[Section]) -> str:
    """The tables of all cases as one, with a column that says of which case a row is.

    The heads of the columns differ by the number of runs, as in "ns-2 (5)": where they do, the number goes into the cells.
    """
    heads = [rows(case.text)[0] for case in cases]
    columns = [[re.sub(r" \(\d+\)$", "", head[place]) for head in heads] for place in range(len(heads[0]))]
    if any(len(set(column)) != 1 for column in columns):
        message = f"the cases have no common columns: {[sorted(set(column)) for column in columns]}"
        raise ValueError(message)
    out = []
    for case, head in zip(cases, heads, strict=True):
        runs = [re.search(r" (\(\d+\))$", cell) for cell in head]
        for number, row in enumerate(rows(case.text)[1:]):
            cells = [
                f"{cell} {run.group(1)}" if run and cell else cell
                for cell, run in zip(row, runs, strict=True)
            ]
            anchor = f'<span id="{case.slug}"></span>' if number == 0 else ""
            out.append(f"| {anchor}{case.title} | {' | '.join(cells)} |")
    names = ["case", columns[0][0] or "figure", *(column[0] for column in columns[1:])]
    names[-1] = names[-1] or "verdict"
    rule = ["---", "---", *["---:"] * (len(names) - 3), "---"]
    return "\n".join([f"| {' | '.join(names)} |", f"| {' | '.join(rule)} |", *out, ""])


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of a table, the head first. Text beside the table would be lost, so it is an error."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("<!--")]
    other = [line for line in lines if not line.startswith("|")]
    if other or len(lines) < 3:
        message = f"a case has more than its table: {other[:2]}"
        raise ValueError(message)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]
    return [cells[0], *cells[2:]]
