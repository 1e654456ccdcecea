"""Markdown as far as the site needs it: headings, the anchors that GitHub gives them, links, and parts of a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
# Code in a paragraph.
SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
# A target in parentheses after a bracket, a definition of a target, and those of HTML. Code between backticks stays as it is.
LINK = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<before>(?P<image>!\[[^\]]*)?\]\(<?)(?P<target>[^)\s>]+)"
    r"|(?P<attribute>\b(?:src|href)=\")(?P<html>[^\"]+)"
    r"|^(?P<name>\[[^\]]+\]:\s+)(?P<defined>\S+)"
)


@dataclass
class Section:
    """A heading with what follows it, up to the next heading of its level or above."""

    level: int
    title: str
    slug: str
    # The text between the heading and the first of the parts.
    text: str
    parts: list[Section] = field(default_factory=list)

    def walk(self) -> Iterator[Section]:
        """This section and all that are in it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def markdown(self, level: int | None = None) -> str:
        """The section as Markdown, with its heading at a level of its own or at another."""
        level = level or self.level
        below = [part.markdown(level + part.level - self.level) for part in self.parts]
        return "".join([f"{'#' * level} {self.title}\n{self.text}", *below])


def lines_outside_code(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines with their numbers from 0, and whether each is outside of fenced code."""
    fence = None
    for number, line in enumerate(text.splitlines()):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark.group(1)
            yield number, line, False
        elif fence is not None:
            if mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = None
            yield number, line, False
        else:
            yield number, line, True


def broken_spans(text: str) -> Iterator[tuple[int, str]]:
    """Code that goes over the end of a line, with the number of the line from 1: a blank at that end is lost to its readers."""
    ends = {
        number for number, line, outside in lines_outside_code(text) if outside and not line.startswith("|")
    }
    lines = [line if number in ends else "" for number, line in enumerate(text.splitlines())]
    start = 1
    for paragraph in re.split(r"(\n\s*\n)", "\n".join(lines)):
        for span in SPAN.finditer(paragraph):
            if "\n" in span.group():
                yield start + paragraph[: span.start()].count("\n"), " ".join(span.group().split())
        start += paragraph.count("\n")


def plain(text: str) -> str:
    """The text of a heading without its markup."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]|<[^>]+>", "", text).strip()


def slug(title: str, taken: Counter[str]) -> str:
    """The anchor of a heading, as GitHub makes it; a second one of the same text gets a number."""
    base = re.sub(r"[^\w\- ]", "", plain(title).lower()).replace(" ", "-")
    taken[base] += 1
    return base if taken[base] == 1 else f"{base}-{taken[base] - 1}"


def sections(text: str) -> Section:
    """A page as a tree; its first heading, of level 1, is the root."""
    root = Section(0, "", "", "")
    path, taken = [root], Counter[str]()
    for _, line, outside in lines_outside_code(text):
        heading = HEADING.match(line) if outside else None
        if heading is None:
            path[-1].text += line + "\n"
            continue
        level, title = len(heading.group(1)), heading.group(2)
        section = Section(level, title, slug(title, taken), "")
        while path[-1].level >= level:
            path.pop()
        path[-1].parts.append(section)
        path.append(section)
    if len(root.parts) != 1 or root.text.strip():
        message = f"a page begins with its only heading of level 1; here are {[s.title for s in root.parts]}"
        raise ValueError(message)
    return root.parts[0]


def anchors(text: str) -> set[str]:
    """All anchors of a page: of its headings, and those that are written as HTML."""
    taken = Counter[str]()
    found = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
    for _, line, outside in lines_outside_code(text):
        if outside and (heading := HEADING.match(line)):
            found.add(slug(heading.group(2), taken))
    return found


def relink(text: str, link: Callable[[int, str, bool], str]) -> str:
    """The text with every target of a link replaced by what `link` gives for its line, target, and being an image."""
    out = []
    for number, line, outside in lines_outside_code(text):

        def one(match: re.Match[str], number: int = number) -> str:
            if match["code"]:
                return match["code"]
            if match["target"]:
                return match["before"] + link(number + 1, match["target"], bool(match["image"]))
            if match["html"]:
                image = match["attribute"].startswith("src")
                return match["attribute"] + link(number + 1, match["html"], image)
            return match["name"] + link(number + 1, match["defined"], False)

        out.append(LINK.sub(one, line) if outside else line)
    return "\n".join(out) + "\n"


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph of prose, with its markup; empty if there is none."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)):
        words = " ".join(paragraph.split())
        if not words or words[0] in "|<!`#->*" or words.startswith(("1. ", "[!")):
            continue
        sentence = re.match(r".+?[.:?](?=\s+[A-Z0-9*`\[]|$)", words)
        return (sentence.group() if sentence else words).rstrip(":")
    return ""
