"""Measures the prose: the length of sentences, and phrases that an American engineer would not write.

    python3 tests/prose.py                # the whole tree, as in `make lint`: prints what breaks a rule, and exits with 1
    python3 tests/prose.py README.md ...  # these files alone, with the mean of each
    python3 tests/prose.py --long 30      # the sentences of at least 30 words, the longest first

Pages are Markdown that people wrote; tables, code and what stands between `<!-- x:begin -->` and `<!-- x:end -->`, which
programs wrote, are left aside. Comments are the documentation in Rust and Python sources. CONTRIBUTING.md has the rules.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MEAN = 18.0
"""The most words that a sentence of the pages has in the mean."""
LONG = 45
"""A sentence above this many words is long."""
LONGS = 5
"""The most long sentences of all pages together."""

GENERATED = [
    "docs/characterization.md",
    "docs/validation.md",
    "docs/papers/*.md",
    "docs/references.md",
    "docs/algorithms/comparison.md",
    "docs/reference/*.md",
    "docs/leaderboard/*.md",
    "docs/how-to/tc-kernels.md",
]
"""Pages that a program writes whole; their words are checked where the program has them."""
NOT_GENERATED = ["docs/papers/README.md", "docs/papers/format.md"]

PHRASES: dict[str, str] = {
    r"\banew\b": "again, new",
    r"(?<!there )(?<!There )\bis no (?!longer|more than|less than|fewer|worse|better|later|earlier|larger|smaller|other)": "is not a",
    r"(?<!there )(?<!There )\bare no (?!longer|more|less|fewer|worse|better|other)": "are not",
    r"\bwhoever\b": "anyone who",
    r"\bwhosoever\b": "anyone who",
    r"(?<=[.!?] )Who (?=[a-z]+s\b)": "If you",
    r"\bwhat is (?:larger|left|more)\b(?= is\b)": "the rest",
    r"\btells? of\b": "describe",
    r"\bis told by\b": "is set by",
    r"\bis of the same\b": "has the same",
    r"\bfor it\b(?= [a-z]+s\b)": "because it",
    r"\bthat which\b": "what",
    r"\bthe which\b": "which",
    r"\btherein\b|\bthereof\b|\bwherein\b|\bthereby\b|\bhereby\b|\bhenceforth\b": "plain words",
    r"\bnigh\b|\boft\b|\bupon\b|\bamong others\b": "plain words",
    r"\bas well does\b|\bso does\b(?= [a-z]+ing\b)": "natural order",
    r"\bhas as (?:its )?(?:own )?default\b": "defaults to",
    r"\bdoes not have to\b(?= do)": "has nothing to do with",
    r"\d %": "95%: no space before the percent sign",
}
"""A pattern that is a fault, and what to write instead."""


@dataclass(frozen=True)
class Sentence:
    """One sentence, where it begins."""

    path: Path
    line: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has; numbers and code count as one each."""
        return len(re.findall(r"[\w§%'’`./_=<>*+-]*\w[\w§%'’`./_=<>*+-]*", self.text))


def tracked(*patterns: str) -> list[Path]:
    """The files that git has, of these patterns."""
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def pages() -> list[Path]:
    """Markdown that people wrote."""
    skip = {p for pattern in GENERATED for p in ROOT.glob(pattern)}
    skip -= {ROOT / name for name in NOT_GENERATED}
    return [p for p in tracked("*.md") if p not in skip]


ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|al|eq|eqs|fig|sec|no|p|pp|St|approx|resp|Dr|vol)\.$")


def split(path: Path, line: int, text: str) -> list[Sentence]:
    """The sentences of one paragraph."""
    found = []
    start = 0
    for end in re.finditer(r"[.!?:](?:[\"”’)*_`]*)(?=\s+[\"“‘(*_`\[]*[A-Z0-9`])|$", text):
        part = text[start : end.end()].strip()
        if end.end() < len(text) and ABBREVIATION.search(part):
            continue
        # A colon ends a sentence only where a list or code follows, which is the paragraph's end.
        if part.endswith(":") and end.end() < len(text):
            continue
        if re.search(r"\w", part):
            found.append(Sentence(path, line + text.count("\n", 0, start), part))
        start = end.end()
    return found


def markdown(path: Path, text: str, first: int = 1) -> list[Sentence]:
    """The sentences of a page: of its paragraphs and the items of its lists."""
    lines = text.split("\n")
    keep: list[tuple[int, str]] = []
    fence = ""
    generated = False
    for number, line in enumerate(lines, first):
        bare = line.strip()
        if fence:
            if bare.startswith(fence):
                fence = ""
            keep.append((number, ""))
            continue
        opening = re.match(r"(```+|~~~+|:::+)", bare)
        if opening:
            fence = opening[1]
            keep.append((number, ""))
            continue
        line = re.sub(r"<!--.*?:begin -->.*?<!--.*?:end -->", "N", line)
        if re.search(r"<!--.*:begin", line):
            generated = True
        if generated or bare.startswith(("|", "#", "<", "    ", "[^", "![", "---")) or re.match(r"\[[^\]]+\]:", bare):
            keep.append((number, ""))
        else:
            item = re.match(r"\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?", line)
            if item:
                keep.append((number, ""))
                line = line[item.end() :]
            keep.append((number, re.sub(r"^\s*(?:>\s*)+", "", line)))
        if re.search(r"<!--.*:end", line):
            generated = False
    sentences: list[Sentence] = []
    paragraph: list[tuple[int, str]] = []
    for number, line in [*keep, (0, "")]:
        if line.strip():
            paragraph.append((number, line.strip()))
        elif paragraph:
            sentences += split(path, paragraph[0][0], plain("\n".join(x for _, x in paragraph)))
            paragraph = []
    return sentences


def plain(text: str) -> str:
    """Without the marks of links, and with code as one word."""
    text = re.sub(r"`+[^`]*`+", lambda m: re.sub(r"[^\n]+", "code", m[0], count=1) if "\n" in m[0] else "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text, flags=re.S)
    text = re.sub(r"\[([^\]]*)\]\[[^\]]*\]", r"\1", text)
    return re.sub(r"(\*\*|__|\*)(?=\S)|(?<=\S)(\*\*|__|\*)", "", text)


def rust(path: Path, text: str) -> list[Sentence]:
    """The documentation in a Rust source."""
    blocks: list[tuple[int, list[str]]] = []
    last = -2
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*//[/!](?!/) ?(.*)$", line)
        if found:
            if number != last + 1:
                blocks.append((number, []))
            blocks[-1][1].append(found[1])
            last = number
    return [s for first, lines in blocks for s in markdown(path, "\n".join(lines), first)]


def python(path: Path, text: str) -> list[Sentence]:
    """The docstrings of a Python source."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and (doc := ast.get_docstring(node)):
            doc = re.sub(r"(?m)^(>>>|\.\.\. ).*$", "", doc)
            found += markdown(path, doc, node.body[0].lineno)
    return found


def read(path: Path) -> list[Sentence]:
    """The sentences of a file, by its kind."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return rust(path, text)
    if path.suffix in {".py", ".pyi"}:
        return python(path, text)
    return markdown(path, text)


def mean(sentences: list[Sentence]) -> float:
    """Words a sentence."""
    return sum(s.words for s in sentences) / len(sentences) if sentences else 0.0


def show(sentence: Sentence) -> str:
    """Where it is, and its words on one line."""
    where = sentence.path.relative_to(ROOT) if sentence.path.is_relative_to(ROOT) else sentence.path
    return f"{where}:{sentence.line}: {' '.join(sentence.text.split())}"


def faults(path: Path) -> list[str]:
    """The phrases of a file that are not to be used, in all its text but code blocks."""
    found = []
    for sentence in read(path):
        flat = " ".join(sentence.text.split())
        for pattern, instead in PHRASES.items():
            if hit := re.search(pattern, flat):
                found.append(f"{show(sentence)}\n    \"{hit[0].strip()}\": {instead}")
    return found


def main() -> int:
    """Prints what breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="default: every page, and the documentation in sources")
    parser.add_argument("--long", type=int, metavar="WORDS", help="list the sentences of at least so many words")
    options = parser.parse_args()
    given = [p.resolve() for p in options.files]
    prose = given or pages()
    sentences = [s for p in prose for s in read(p)]
    if options.long:
        for s in sorted((s for s in sentences if s.words >= options.long), key=lambda s: -s.words):
            print(f"{s.words:4} {show(s)}")
        return 0
    if given:
        for path in given:
            mine = read(path)
            print(f"{mean(mine):5.1f} words a sentence, {len(mine)} sentences, {path.name}")
    bad = [f for p in (given or [*prose, *tracked("crates/*.rs", "python/*.py", "lab/*.md")]) for f in faults(p)]
    for fault in bad:
        print(fault)
    long = [s for s in sentences if s.words > LONG]
    for s in long[: 0 if len(long) <= LONGS else None]:
        print(f"{show(s)}\n    {s.words} words: at most {LONG}")
    average = mean(sentences)
    print(f"{len(sentences)} sentences, {average:.1f} words in the mean (at most {MEAN:.0f}), {len(long)} above {LONG} words")
    return 1 if bad or len(long) > LONGS or average > MEAN else 0


if __name__ == "__main__":
    sys.exit(main())
