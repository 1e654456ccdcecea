"""The paper's numbers are those of the generated pages, its references those of the project."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPER = (ROOT / "paper.md").read_text(encoding="utf-8")
# Lines are wrapped anywhere.
FLAT = " ".join(PAPER.split())


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of a pattern that must be there."""
    match = re.search(pattern, text)
    assert match, pattern
    return match.groups()


def rows(name: str, mark: str) -> list[list[str]]:
    """The cells of a table between marks."""
    text = page(name)
    table = text[text.index(f"<!-- {mark} -->") : text.index(f"<!-- end {mark} -->")]
    lines = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_algorithms_are_as_many_as_the_readme_counts() -> None:
    (count,) = found(r"<!-- count:begin -->(\d+)<!-- count:end -->", page("README.md"))
    assert f"It has {count} of them" in FLAT


def test_validation() -> None:
    chapters = page("docs/validation.md")
    pattern = (
        r"Of (\d+) (?:figures|metrics|results) of (\d+) cases, (\d+) lie inside their bands, (\d+) outside, "
        r"and (\d+) outside"
    )
    ns2, linux, ns3 = re.findall(pattern, chapters)
    inside = f"{ns2[2]} of {ns2[0]} metrics of {ns2[1]} cases inside their bands"
    assert f"{inside}; the other {ns2[4]} where" in FLAT
    assert ns2[3] == "0"
    inside = f"{linux[2]} of {linux[0]} metrics of {linux[1]} cases inside"
    assert f"{inside}; {linux[3]} outside, {linux[4]} outside for" in FLAT
    assert f"{ns3[2]} of {ns3[0]} metrics of {ns3[1]} cases inside; {ns3[3]} outside" in FLAT
    assert ns3[4] == "0"


def test_printed_results() -> None:
    text = page("docs/papers/README.md")
    sentence = (
        r"Of (\d+) printed numbers (\d+) agree or are inside, (\d+) are withheld, (\d+) are explained by "
        r"[^,]* reading [^,]*, (\d+) are in their band only by a fit, (\d+) are refuted, and (\d+) are open"
    )
    printed, agree, withheld, reading, fit, refuted, unexplained = found(sentence, text)
    row = found(r"(?m)^(\| \*\*all\*\* \|.*)$", text)[0].split("|")
    claims, hold = (cell.strip() for cell in row[10:12])
    assert f"{agree} of {printed} numbers agree, {hold} of {claims} claims hold" in FLAT
    assert f"{withheld} are withheld" in FLAT
    assert (
        f"{reading} are explained by a reading other than the judged one, {fit} agree only by a fit" in FLAT
    )
    assert f"{refuted} are refuted, and {unexplained} are open" in FLAT


def test_conformance() -> None:
    digests = page("conformance/digests.txt").splitlines()
    count = sum(bool(re.match(r"[0-9a-f]{32} ", line)) for line in digests)
    assert f"{count} vectors" in FLAT


def test_performance() -> None:
    ns2 = [float(row[4]) for row in rows("docs/performance.md", "ns2")]
    assert len(ns2) == 8
    assert "in eight cases" in FLAT
    assert f"{min(ns2):.0f} to {max(ns2):.0f} times less CPU time" in FLAT
    ns3 = [float(row[4]) for row in rows("docs/performance.md", "ns3")]
    assert f"{min(ns3):.0f} to {max(ns3):.0f} times less than" in FLAT


def entries(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry, by its key."""
    found = {}
    for key, body in re.findall(r"(?ms)^@\w+\{(\w+),\n(.*?)^\}", text):
        found[key] = dict(re.findall(r"(?m)^  (\w+) = \{(.*)\},$", body))
    return found


def test_references() -> None:
    ours, project = entries(page("paper.bib")), entries(page("docs/references.bib"))
    cited = set(re.findall(r"@([a-z]+\d*[a-z]?)", "".join(re.findall(r"\[(@[^\]]*)\]", FLAT))))
    assert cited == set(ours), "each entry is cited, and each citation has one"
    shared = ours.keys() & project.keys()
    assert len(shared) >= 14
    for key in sorted(shared):
        theirs = {name: value for name, value in project[key].items() if name != "shorthand"}
        assert ours[key] == theirs, key


def test_form() -> None:
    head, body = found(r"(?s)\A---\n(.*?)\n---\n(.*)\Z", PAPER)
    keys = ("title:", "tags:", "authors:", "affiliations:", "date:", "bibliography: paper.bib")
    assert all(f"\n{key}" in f"\n{head}" for key in keys)
    citation = page("CITATION.cff")
    (title,) = found(r'(?m)^title: "(.*)"$', citation)
    assert f'title: "{title}"' in head
    (author,) = found(r"(?m)^  - name: (.*)$", citation)
    assert f"  - name: {author}" in head
    words = len(re.sub(r"(?s)```.*?```", "", body).split())
    assert 750 <= words <= 1750, words
    for section in ("Summary", "Statement of need", "State of the field", "Acknowledgments", "References"):
        assert f"\n# {section}\n" in body


@pytest.mark.parametrize("command", ["validate", "papers", "vectors", "bench-peers", "theory"])
def test_commands_are_there(command: str) -> None:
    assert f"`make {command}`" in FLAT
    assert re.search(rf"(?m)^{command}:", page("Makefile"))
