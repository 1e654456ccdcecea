"""Write the table of comparison.md from the output of `quell run scenarios/catalog.toml --format json
--segments`, which comes on standard input: `make compare` runs this."""

import json
import sys
from pathlib import Path

BEGIN, END = "<!-- comparison:begin -->\n", "<!-- comparison:end -->"

# Heading, metric, segment (none for the whole window), factor, digits.
COLUMNS = [
    ("utilization (%)", "utilization", None, 100, 1),
    ("loss (%)", "loss_rate", None, 100, 1),
    ("mean queue (packets)", "queue_packets", None, 1, 0),
    ("queue deviation (packets)", "queue_segment_std_packets", None, 1, 0),
    ("P99 delay (ms)", "queue_delay_p99_s", None, 1000, 0),
    ("response, load up (s)", "response_time_s", 1, 1, 1),
    ("response, load down (s)", "response_time_s", 2, 1, 1),
    ("mean web completion (s)", "flow_completion_time_mean_s", None, 1, 2),
]


def cell(value: dict | None, factor: float, digits: int) -> str:
    if value is None:
        return "–"
    text = f"{value['mean'] * factor:.{digits}f}"
    if (half_width := value.get("half_width")) is not None:
        text += f" ± {half_width * factor:.{digits}f}"
    return text


def table(output: dict) -> str:
    if output["partial"]:
        sys.exit("the run was interrupted: nothing was written")
    (point,) = output["points"]
    rows = {(row["algorithm"], row["segment"]): row["metrics"] for row in point["rows"]}
    lines = [
        "| algorithm | " + " | ".join(heading for heading, *_ in COLUMNS) + " |",
        "| --- " * (len(COLUMNS) + 1) + "|",
    ]
    for algorithm in dict.fromkeys(algorithm for algorithm, _ in rows):
        page = algorithm.replace("-", "_").replace("+", "_") + ".md"
        cells = [
            cell(rows[algorithm, segment].get(metric), factor, digits)
            for _, metric, segment, factor, digits in COLUMNS
        ]
        lines.append(f"| [`{algorithm}`]({page}) | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


path = Path(__file__).with_suffix(".md")
page = path.read_text(encoding="utf-8")
before, rest = page.split(BEGIN)
_, after = rest.split(END)
path.write_text(before + BEGIN + table(json.load(sys.stdin)) + END + after, encoding="utf-8")
