"""The sources of the site, from the pages of the repository.

Pages stay where they are, and read well on GitHub. For Sphinx they are written once more into a folder: with links between pages as
the site has them, links to other files leading to the repository, long pages in parts, and the lists of navigation.toml. A link
to something that does not exist is an error with its line.
"""

from __future__ import annotations

import ast
import base64
import json
import posixpath
import re
import zlib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import markdown
import split
import tomllib

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REPOSITORY = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
# Files that pages show or offer, by their path below docs.
SHOWN = ["images/*.*", "images/tutorials/*", "papers/images/*"]
# The laboratory as a page, where it was built (`make lab`).
LAB = ROOT / "lab/dist"
# A formula in a line, as GitHub writes it.
INLINE = re.compile(r"\$`([^`\n]+)`\$")
# A picture of a run, with the scenario and perhaps the labels of the algorithms that it shows.
LIVE = re.compile(
    r"<!-- lab: (?P<file>[^\s]+)(?: (?P<labels>[^>]*?))? -->\n(?P<picture>!\[[^\]]*\]\([^)]*\))\n"
)
# A link to a page that has the name of its file.
FILE_NAME = re.compile(r"\[`?(?P<name>[\w./-]+\.md)`?\](?P<goal>\(<?(?P<target>[^)#>\s]+))")
# Names of Python, on whose place the site has their documentation.
AUTODOC = re.compile(r"<!-- autodoc -->\n((?:.+\n)+)")


class ProblemsError(Exception):
    """What is wrong with the pages: a line for each."""


@dataclass
class Entry:
    """A page in the navigation, with the pages below it."""

    page: str
    below: list[str] = field(default_factory=list)
    # Instead of the page's heading; empty for that.
    title: str = ""

    def line(self) -> str:
        """The entry in a list of Sphinx."""
        path = f"/{site_path(self.page)}"
        return f"{self.title} <{path}>" if self.title else path


@dataclass
class Group:
    """A heading of the side bar."""

    name: str
    entries: list[Entry]


@dataclass
class Kind:
    """A tab of the site."""

    name: str
    path: str
    says: str
    groups: list[Group]


@dataclass
class Page:
    """A page of the site: its path there without ending, where it is in the repository, its text as it is there."""

    path: str
    source: str
    text: str
    anchors: set[str] = field(default_factory=set)


class Site:
    """All pages, and how they hang together."""

    def __init__(self, navigation: Path = DOCS / "navigation.toml") -> None:
        plan = tomllib.loads(navigation.read_text())
        self.problems: list[str] = []
        # Pages by their path in the repository, with what was the page of an anchor that moved into a part of it.
        self.by_source: dict[str, str] = {}
        self.moved: dict[str, dict[str, tuple[str, str]]] = {}
        self.pages: dict[str, Page] = {}
        self.below: dict[str, list[str]] = {}
        # Modules of Python that a page has declared.
        self.modules: set[str] = set()
        # Words by which people look for a page or a section, beside its own; by its path on the site, and #anchor.
        self.words: dict[str, str] = {}
        self.kinds = [self.kind(kind) for kind in plan["kind"]]
        self.add("docs/index.md")
        for kind in self.kinds:
            for group in kind.groups:
                for entry in group.entries:
                    for source in [entry.page, *entry.below]:
                        self.add(source)
                    self.below[site_path(entry.page)] = [site_path(below) for below in entry.below]
        for source in plan["split"]:
            self.split(source)
        self.look_for(plan["words"])
        self.complete(plan)
        self.python()

    def kind(self, kind: dict[str, Any]) -> Kind:
        groups = [
            Group(group["name"], [self.entry(page) for page in group["pages"]]) for group in kind["group"]
        ]
        return Kind(kind["name"], kind["path"], kind["says"], groups)

    def entry(self, given: str | dict[str, Any]) -> Entry:
        if isinstance(given, str):
            return Entry(given)
        under = ROOT.glob(given["under"]) if "under" in given else []
        found = sorted(path.relative_to(ROOT).as_posix() for path in under)
        without = {given["page"], *given.get("but", [])}
        return Entry(given["page"], [path for path in found if path not in without], given.get("title", ""))

    def add(self, source: str) -> None:
        path = ROOT / source
        if source in self.by_source:
            self.problems.append(f"docs/navigation.toml: {source} is named twice")
        elif not path.is_file():
            self.problems.append(f"docs/navigation.toml: {source} does not exist")
        else:
            page = Page(site_path(source), source, path.read_text())
            page.anchors = markdown.anchors(page.text)
            for line, code in markdown.broken_spans(page.text):
                self.problems.append(
                    f"{source}:{line}: {code} goes over the end of the line; begin the next one with it"
                )
            self.by_source[source] = page.path
            self.pages[page.path] = page

    def split(self, source: str) -> None:
        if source not in self.by_source:
            self.problems.append(f"docs/navigation.toml: [split] names {source}, which is in no group")
            return
        page = self.pages[self.by_source[source]]
        parts = split.split(page.text, page.path)
        self.moved[source] = parts.moved
        page.text = parts.summary
        for part in parts.parts:
            self.pages[part.path] = Page(part.path, source, part.text, markdown.anchors(part.text))
        for path, below in parts.below.items():
            self.below[path] = [*self.below.get(path, []), *below]

    def look_for(self, words: dict[str, str]) -> None:
        """Gives pages and sections the words of the plan, and each algorithm's page its name."""
        for place, given in words.items():
            source, _, anchor = place.partition("#")
            path, part = self.moved.get(source, {}).get(anchor, (self.by_source.get(source, ""), anchor))
            if path not in self.pages or (part and part not in self.pages[path].anchors):
                self.problems.append(f"docs/navigation.toml: [words] names {place}, which does not exist")
            elif part and part != posixpath.basename(path):
                self.words[f"{path}#{part}"] = given
            else:
                self.words[path] = given
        for source, path in self.by_source.items():
            if fnmatch(source, "docs/algorithms/*.md") and not source.endswith(
                ("README.md", "comparison.md")
            ):
                name = posixpath.basename(path)
                own = [name, name.replace("_", "-")] if "_" in name else [name]
                self.words[path] = " ".join([*own, *self.words.get(path, "").split()])

    def complete(self, plan: dict[str, Any]) -> None:
        """Every page of docs has its place, unless the plan says that it is not shown."""
        for path in sorted(DOCS.rglob("*.md")):
            source = path.relative_to(ROOT).as_posix()
            if source not in self.by_source and source not in plan.get("hidden", []):
                self.problems.append(f"docs/navigation.toml: {source} is in no group")

    def python(self, page: str = "docs/reference/python.md") -> None:
        """Every public name of the package is on its page, in the package or in the part that has it."""
        named = set(re.findall(r"`(quell[\w.]*)`", (ROOT / page).read_text()))
        short = {name.rpartition(".")[2] for name in named}
        for name in sorted(public()):
            if name not in named and name.rpartition(".")[2] not in short and "__" not in name:
                self.problems.append(f"{page}: {name} is missing")

    def write(self, folder: Path, ref: str) -> None:
        """Writes the sources into a folder; files that stay as they are keep their times, so that Sphinx leaves them alone."""
        files = {f"{page.path}.md": self.text(page, ref) for page in self.pages.values()}
        files |= {f"{kind.path}/index.md": self.landing(kind) for kind in self.kinds}
        if self.problems:
            raise ProblemsError("\n".join(self.problems))
        for pattern in SHOWN:
            for path in DOCS.glob(pattern):
                if path.suffix in {".svg", ".png"}:
                    put(folder / path.relative_to(DOCS), path.read_bytes())
                    files[path.relative_to(DOCS).as_posix()] = ""
        for name, text in files.items():
            if name.endswith(".md"):
                put(folder / name, text.encode())
        for path in folder.rglob("*"):
            if path.is_file() and path.relative_to(folder).as_posix() not in files:
                path.unlink()

    def text(self, page: Page, ref: str) -> str:
        """A page as Sphinx reads it."""
        part = page.source not in self.by_source or self.by_source[page.source] != page.path
        home = posixpath.dirname(page.source)

        def link(line: int, target: str, image: bool) -> str:
            # Links that the splitting made are paths of the site already.
            if (part or page.source in self.moved) and target.endswith(".md") and target[:-3] in self.pages:
                return posixpath.relpath(target, posixpath.dirname(page.path) or ".")
            where = f"{page.source}:{line}" if not part else f"{page.source} ({page.path})"
            return self.link(page, home, where, target, image, ref)

        text = AUTODOC.sub(lambda match: autodoc(match, self.modules), INLINE.sub(r"{math}`\1`", page.text))
        text = markdown.relink(self.titled(page, self.live(page, text)), link)
        if page.path in self.words:
            keywords = self.words[page.path].replace(" ", ", ")
            text = f'---\nmyst:\n  html_meta:\n    keywords: "{keywords}"\n---\n\n{text}'
        if page.path == "index":
            names = [f"{kind.name} <{kind.path}/index>" for kind in self.kinds]
            return text + toctree(names, "hidden")
        if below := self.below.get(page.path):
            relative = [posixpath.relpath(path, posixpath.dirname(page.path) or ".") for path in below]
            return text + toctree(relative, "hidden")
        return text

    def link(self, page: Page, home: str, where: str, target: str, image: bool, ref: str) -> str:
        """The target of a link as the site has it."""
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
            return target
        path, _, anchor = target.partition("#")
        source = posixpath.normpath(posixpath.join(home, path)) if path else page.source
        here = posixpath.dirname(page.path) or "."
        if source in self.moved and anchor in self.moved[source]:
            moved, anchor = self.moved[source][anchor]
            return posixpath.relpath(f"{moved}.md", here) + (f"#{anchor}" if anchor else "")
        if source in self.by_source:
            goal = self.by_source[source]
            if anchor and anchor not in self.pages[goal].anchors:
                self.problems.append(f"{where}: {target}: {source} has no heading #{anchor}")
            if not path:
                return target
            return posixpath.relpath(f"{goal}.md", here) + (f"#{anchor}" if anchor else "")
        file = ROOT / source
        if source.startswith("..") or not file.exists():
            self.problems.append(f"{where}: {target}: {source} does not exist")
            return target
        if any(fnmatch(source, f"docs/{pattern}") for pattern in SHOWN):
            return posixpath.relpath(source.removeprefix("docs/"), here)
        if image:
            self.problems.append(
                f"{where}: {target}: pictures of pages are in docs/images or docs/papers/images"
            )
        folder = "tree" if file.is_dir() else "blob"
        return f"{REPOSITORY}/{folder}/{ref}/{source}" + (f"#{anchor}" if anchor else "")

    def live(self, page: Page, text: str) -> str:
        """The text with each picture that has a scenario, `<!-- lab: FILE -->`, as one that the laboratory can take over."""

        def one(match: re.Match[str]) -> str:
            file = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), match["file"]))
            if not (ROOT / file).is_file():
                self.problems.append(f"{page.source}: <!-- lab: {match['file']} -->: {file} does not exist")
                return match["picture"]
            if not (LAB / "index.html").is_file():
                return match["picture"]
            attributes = (
                f'data-name="{posixpath.basename(file)}" data-state="{lab_state(file, match["labels"])}"'
            )
            return f'<div class="site-lab" {attributes}>\n\n{match["picture"]}\n\n</div>\n'

        return LIVE.sub(one, text)

    def titled(self, page: Page, text: str) -> str:
        """The text with the titles of pages where it links to them by the names of their files, as is usual on GitHub."""
        home = posixpath.dirname(page.source)

        def one(match: re.Match[str]) -> str:
            source = posixpath.normpath(posixpath.join(home, match["target"]))
            if source not in self.by_source or posixpath.basename(match["name"]) != posixpath.basename(
                source
            ):
                return match.group()
            return f"[{markdown.sections((ROOT / source).read_text()).title}]{match['goal']}"

        return FILE_NAME.sub(one, text)

    def landing(self, kind: Kind) -> str:
        """The first page of a kind: its groups, and what each page is."""
        out, names = [f"# {kind.name}\n\n{kind.says}\n"], []
        for group in kind.groups:
            out.append(f"\n## {group.name}\n")
            for entry in group.entries:
                path = site_path(entry.page)
                page = self.pages[path]
                section = markdown.sections(page.text)
                title = entry.title or section.title
                says = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown.first_sentence(section.text))
                out.append(f"- [{title}](../{path}.md): {says}" if says else f"- [{title}](../{path}.md)")
            names.append(toctree([entry.line() for entry in group.entries], "hidden", caption=group.name))
        return "\n".join(out) + "\n" + "".join(names)


def site_path(source: str) -> str:
    """The path on the site, without ending, of a page of the repository."""
    path = source.removesuffix(".md").removeprefix("docs/")
    folder, name = posixpath.split(path)
    if source.startswith("crates/"):
        return folder
    if name == "README" and folder:
        return f"{folder}/index"
    return path if source.startswith("docs/") else path.lower()


def lab_state(file: str, labels: str | None) -> str:
    """What an address of the laboratory has after `#` to open a scenario, in the form of lab/src/state/link.ts."""
    state: dict[str, Any] = {"text": (ROOT / file).read_text(), "name": posixpath.basename(file)}
    if labels:
        state["algorithms"] = labels.split()
    packed = b"\x01" + zlib.compress(json.dumps(state).encode(), 9)
    return "s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def autodoc(match: re.Match[str], modules: set[str]) -> str:
    """The documentation of Python's names; a class has its members with it. A module is declared where it comes first."""
    out = ["```{eval-rst}"]
    for name in re.findall(r"`(quell[\w.]*)`", match[1]):
        module, _, last = name.rpartition(".")
        if module not in modules:
            out += [f".. py:module:: {module}", ""]
            modules.add(module)
        if last.isupper():
            out += [f".. autodata:: {name}", "   :no-value:", ""]
        elif last[0].isupper():
            out += [f".. autoclass:: {name}", "   :members:", ""]
        else:
            out += [f".. autofunction:: {name}", ""]
    return "\n".join([*out, "```", ""])


def package(folder: Path) -> None:
    """The Python package as Sphinx can import it without a compiler: its extension is the stub, which has the documentation."""
    for path in sorted((ROOT / "python/quell").glob("*.py")):
        put(folder / "quell" / path.name, path.read_bytes())
    stub = (ROOT / "python/quell/_quell.pyi").read_text()
    stub = re.sub(
        r"^(?:import|from) (?!os|pathlib|typing|collections)[a-z_.]+.*\n", "", stub, flags=re.MULTILINE
    )
    stub = re.sub(r"^(\w+: Final\[.+\])$", r"\1 = None", stub, flags=re.MULTILINE)
    put(folder / "quell/_quell.py", f"from __future__ import annotations\n\n{stub}".encode())


def public() -> set[str]:
    """All public names of the package and its parts."""
    found = set()
    for path in (ROOT / "python/quell").glob("[!_]*.py"):
        found |= {f"quell.{path.stem}.{name}" for name in exported(path)}
    parts = {path.stem for path in (ROOT / "python/quell").glob("[!_]*.py")}
    return found | {f"quell.{name}" for name in exported(ROOT / "python/quell/__init__.py") - parts}


def exported(path: Path) -> set[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def toctree(names: list[str], *options: str, **values: str) -> str:
    settings = [
        *(f":{option}:" for option in options),
        *(f":{name}: {value}" for name, value in values.items()),
    ]
    return "\n".join(["", "```{toctree}", *settings, *names, "```", ""])


def put(path: Path, data: bytes) -> None:
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
