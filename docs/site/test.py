"""Tests the documentation: its sources, the site that is built of them, and its pages in a browser.

Without Node.js, Chromium or what tests of the laboratory's page have installed, the browser is skipped and named; with
QUELL_REQUIRE_TARGETS=1 that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import build
import markdown
import snippets
import split
import stage

ROOT = stage.ROOT
SITE = ROOT / "site"
BROWSERS = [
    os.environ.get("CHROMIUM"),
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
]
# Addresses of other sites that a page may link to but never load.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


def main() -> None:
    """Runs all tests; the first group that fails ends them."""
    began = time.monotonic()
    for test in (sources, of_the_tests, code, site, pages, browser):
        wrong = test()
        if wrong:
            sys.exit(f"site: {len(wrong)} problems in {test.__name__}\n" + "\n".join(wrong[:60]))
    print(f"site: tested in {time.monotonic() - began:.0f} s")


def sources() -> list[str]:
    """Pages that are written from something else are as that is now."""
    wrong = []
    for script in ("scenario.py", "columns.py"):
        command = [sys.executable, str(build.HERE / script), "--check"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        wrong += [done.stderr.strip()] if done.returncode else []
    return wrong


def of_the_tests() -> list[str]:
    """The checks find what they are for, and the splitting loses nothing."""
    wrong = []
    commands, targets = snippets.reference(), {"site"}
    for line in [
        "quell rum a.toml",
        "quell run a.toml --sead 1",
        "make sites",
        "quell run scenarios/none.toml | head",
    ]:
        if not snippets.shell(line, commands, targets):
            wrong.append(f"nothing was found wrong with: {line}")
    for line in [
        "make site && quell run scenarios/main.toml --seeds 3 | head -2",
        "cd lab && node build.mjs",
    ]:
        wrong += snippets.shell(line, commands, targets)
    for text in [
        '[dumbbell]\nrat = "1 Mbit/s"\n',
        "flows = [{ coutn = 1 }]\n",
        '[[aqm]]\nalgorithm = "blau"\n[dumbbell]\n',
        "a = \n",
    ]:
        if not snippets.toml(text):
            wrong.append(f"nothing was found wrong with: {text}")
    signatures = snippets.functions()
    for text in ["quell.rum()", 'quell.run("a", seads=1)', "quell.plot.queues(1)", "a b"]:
        if not snippets.python(text, signatures):
            wrong.append(f"nothing was found wrong with: {text}")
    page = "# A\n\nOne.\n\n## B b\n\nTwo.\n\n### C\n\n```sh\n## no heading\n```\n\n## B b\n\nThree.\n"
    parts = split.split(page, "a")
    if set(parts.moved) != {"b-b", "c", "b-b-1"} or parts.moved["c"] != ("a/b-b", "c"):
        wrong.append(f"anchors moved wrongly: {parts.moved}")
    if [part.text.count("no heading") for part in parts.parts] != [1, 0]:
        wrong.append("a part lacks its code")
    if markdown.sections(page).markdown() != page:
        wrong.append("a page is not what its sections are")
    spans = "A `b` and ``c ` d`` and `\nKEY=VALUE` here.\n\n```sh\necho `date\n```\n"
    if list(markdown.broken_spans(spans)) != [(1, "` KEY=VALUE`")]:
        wrong.append(f"code over two lines: {list(markdown.broken_spans(spans))}")
    return wrong


def code() -> list[str]:
    """The code on the pages."""
    return snippets.check(snippets.pages())


def site() -> list[str]:
    """The site builds without a warning."""
    done = subprocess.run([sys.executable, str(build.HERE / "build.py")], check=False)
    return ["docs/site/build.py failed"] if done.returncode else []


class Reader(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {found[name] or "" for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if (address := found.get(LOADS.get(tag, ""))) and found.get("rel") not in (
            "canonical",
            "next",
            "prev",
        ):
            self.loads.append(address)


def pages() -> list[str]:
    """Every link leads to a page and an anchor of the site, and nothing is loaded from elsewhere."""
    root = SITE / build.VERSION
    # The theme's templates are among its static files.
    found = [path for path in root.rglob("*.html") if "_static" not in path.parts]
    files = {path: Reader(path.read_text()) for path in found}
    wrong = []
    for path, page in files.items():
        name = path.relative_to(SITE)
        for address in page.loads:
            parts = urlsplit(address)
            if parts.scheme not in ("", "data") or parts.netloc:
                wrong.append(f"{name}: loads {address}")
            elif parts.path and not (path.parent / unquote(parts.path)).resolve().exists():
                wrong.append(f"{name}: loads {address}, which does not exist")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.exists():
                wrong.append(f"{name}: links to {address}, which does not exist")
            elif parts.fragment and goal in files and unquote(parts.fragment) not in files[goal].ids:
                wrong.append(f"{name}: links to {address}, and there is no such anchor")
    # The anchors of all pages as GitHub has them, and so of all links that exist anywhere.
    plan = stage.Site()
    for source, path in plan.by_source.items():
        here = files[root / f"{path}.html"]
        for anchor in markdown.anchors((ROOT / source).read_text()):
            page, moved = plan.moved.get(source, {}).get(anchor, (path, anchor))
            there = files[root / f"{page}.html"]
            if moved and moved not in there.ids:
                wrong.append(f"{path}.html#{anchor}: it was an anchor, and is none of {page}.html")
            elif page == path and anchor not in here.ids:
                wrong.append(f"{path}.html#{anchor}: it was an anchor")
    return wrong


def browser() -> list[str]:
    """The pages in Chromium: search, tables, old anchors, and what axe finds."""
    chromium = next((path for path in BROWSERS if path and Path(path).exists()), None)
    playwright = ROOT / "lab/node_modules/@playwright/test"
    missing = [
        name for name, there in (("Node.js", shutil.which("node")), ("Chromium", chromium)) if not there
    ]
    missing += [] if playwright.exists() else ["lab/node_modules (make test-lab)"]
    if missing:
        why = f"there is no {' and no '.join(missing)}"
        if os.environ.get("QUELL_REQUIRE_TARGETS") == "1":
            return [f"{why}; QUELL_REQUIRE_TARGETS asks for it"]
        print(f"site: {why}; the pages in a browser are skipped")
        return []
    command = ["node", str(build.HERE / "browser.mjs"), str(SITE), build.VERSION]
    done = subprocess.run(command, env=os.environ | {"CHROMIUM": str(chromium)}, check=False)
    return ["docs/site/browser.mjs failed"] if done.returncode else []


if __name__ == "__main__":
    main()
