"""Write the tables of l4s.md from what `quell run scenarios/l4s/*.toml --format json` printed into the folder
that is named on the command line: `make l4s` runs this."""

import json
import sys
from pathlib import Path

RATIO = "goodput_bps[l4s]/goodput_bps[classic]"
Settings = dict[str, object]


def points(folder: Path, name: str) -> list[tuple[Settings, dict[str, dict]]]:
    """Of each point, its settings, and the figures by algorithm."""
    output = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if output["partial"]:
        sys.exit(f"the run of {name} was interrupted: nothing was written")
    found = []
    for point in output["points"]:
        settings = {s["field"]: s["value"] for s in point["settings"]}
        rows = point["rows"]
        whole = [r for r in rows if r["scope"] == "all" and r["segment"] is None]
        found.append((settings, {r["algorithm"]: r["metrics"] for r in whole}))
    return found


def figure(metrics: dict, name: str, factor: float = 1, digits: int = 1) -> str:
    value = metrics.get(name)
    return "–" if value is None else f"{value['mean'] * factor:.{digits}f}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def queues(metrics: dict) -> list[str]:
    """Mean and P99 delay of both queues, in ms."""
    names = [f"queue_delay_{of}_s[lane:{lane}]" for lane in "cl" for of in ("mean", "p99")]
    return [figure(metrics, name, 1000, 2 if "lane:l" in name else 1) for name in names]


def grid(folder: Path) -> str:
    rows = []
    for settings, by_algorithm in points(folder, "grid"):
        metrics = by_algorithm["dualpi2"]
        senders = [str(settings[f"flows.{g}.tcp.congestion"]) for g in ("l4s", "classic")]
        place = [str(settings["dumbbell.rate"]), str(settings["flows.classic.rtt"])]
        rows.append(
            [" : ".join(senders), *place, figure(metrics, RATIO, 1, 2)]
            + [figure(metrics, "utilization", 100), *queues(metrics)]
        )
    rows.sort(key=lambda row: row[0])
    headings = ["senders", "rate", "round trip", "rate ratio", "utilization %"]
    return table([*headings, "C mean ms", "C P99 ms", "L mean ms", "L P99 ms"], rows)


def round_trips(folder: Path) -> str:
    rows = []
    for settings, by_algorithm in points(folder, "round_trips"):
        metrics = by_algorithm["dualpi2"]
        place = [str(settings["flows.l4s.rtt"]), str(settings["flows.classic.rtt"])]
        rows.append([*place, figure(metrics, RATIO, 1, 2), *queues(metrics)])
    headings = ["Prague's round trip", "CUBIC's", "rate ratio"]
    return table([*headings, "C mean ms", "C P99 ms", "L mean ms", "L P99 ms"], rows)


def bursty(folder: Path) -> str:
    rows = []
    for settings, by_algorithm in points(folder, "bursty"):
        metrics = by_algorithm["dualpi2"]
        rows.append(
            [str(settings["dumbbell.changes.repeat"]), figure(metrics, "utilization", 100)]
            + [figure(metrics, "goodput_bps[l4s]", 1e-6), figure(metrics, "goodput_bps[classic]", 1e-6)]
            + [figure(metrics, "mark_rate[lane:l]", 100), *queues(metrics)[2:]]
        )
    headings = ["cycle of the link", "utilization %", "Prague Mbit/s", "CUBIC Mbit/s"]
    return table([*headings, "marks in L %", "L mean ms", "L P99 ms"], rows)


def classic_queue(folder: Path) -> str:
    rows = []
    for settings, by_algorithm in points(folder, "classic_queue"):
        for algorithm, metrics in by_algorithm.items():
            rows.append(
                [str(settings["flows.classic.rtt"]), algorithm, figure(metrics, RATIO, 1, 1)]
                + [figure(metrics, f"goodput_bps[{g}]", 1e-6) for g in ("l4s", "classic")]
                + [figure(metrics, f"queue_delay_{of}_s", 1000) for of in ("mean", "p99")]
            )
    headings = ["round trip", "queue", "rate ratio", "Prague Mbit/s", "CUBIC Mbit/s"]
    return table([*headings, "mean delay ms", "P99 delay ms"], rows)


path = Path(__file__).with_suffix(".md")
page = path.read_text(encoding="utf-8")
for make in (grid, round_trips, bursty, classic_queue):
    name = make.__name__
    before, rest = page.split(f"<!-- {name}:begin -->\n")
    _, after = rest.split(f"<!-- {name}:end -->")
    page = f"{before}<!-- {name}:begin -->\n{make(Path(sys.argv[1]))}<!-- {name}:end -->{after}"
path.write_text(page, encoding="utf-8")
