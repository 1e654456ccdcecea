"""How much each page is about each of its words, for the order in which the search shows what it finds.

The weights are those of Okapi BM25, which search engines use: a word counts more in a short page that has it often, and less if many
pages have it. A word of a title or a heading counts as several of the text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import markdown
import snowballstemmer
import stage

# The usual constants of BM25: how soon a word's number of times counts no more, and how much the length of a page does.
K, B = 1.2, 0.75
# What a word of a heading of each level counts for; those of the text count once.
HEADINGS = {1: 12, 2: 5, 3: 3}
# The words of a page that are kept: those that it is most about.
MOST = 90


def scorer(pages: dict[str, stage.Page], also: dict[str, str], template: Path) -> str:
    """The script that orders results, with the weights of these pages."""
    stem = snowballstemmer.stemmer("english")
    counts = {path: words(page.text, stem) for path, page in pages.items()}
    for source, given in also.items():
        counts[stage.site_path(source)].update(
            dict.fromkeys(stem.stemWords(given.lower().split()), HEADINGS[1])
        )
    have = Counter(word for count in counts.values() for word in count)
    mean = sum(sum(count.values()) for count in counts.values()) / len(counts)
    weights = {}
    for path, count in counts.items():
        length = K * (1 - B + B * sum(count.values()) / mean)
        found = {
            word: round(10 * rarity(have[word], len(pages)) * times * (K + 1) / (times + length))
            for word, times in count.items()
        }
        most = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        weights[path] = {word: weight for word, weight in most if weight > 0}
    data = json.dumps(weights, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"{template.read_text()}\nvar WEIGHTS = {data};\n"


def rarity(pages_with: int, pages: int) -> float:
    return math.log(1 + (pages - pages_with + 0.5) / (pages_with + 0.5))


def words(text: str, stem: snowballstemmer.stemmer) -> Counter[str]:
    """The stems of a page's words, with how often each counts."""
    count: Counter[str] = Counter()
    text = re.sub(r"<!--.*?-->|<script.*?</script>|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    for _, line, outside in markdown.lines_outside_code(text):
        heading = markdown.HEADING.match(line) if outside else None
        times = HEADINGS.get(len(heading.group(1)), 2) if heading else 1
        for word in stem.stemWords(re.findall(r"[^\W_]+", line.lower())):
            if len(word) > 1 and not (word.isdigit() and len(word) > 4):
                count[word] += times
    return count
