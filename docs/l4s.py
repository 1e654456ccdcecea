"""Write the tables of l4s.md from what `quell run scenarios/l4s/*.toml --format json` printed into the folder
that is named on the command line: `make l4s` runs this."""

import json
import math
import sys
from pathlib import Path

RATIO = "goodput_bps[l4s]/goodput_bps[classic]"
Settings = dict[str, object]


def points(folder: Path, name: str) -> list[tuple[Settings, dict[str, dict]]]:
    """Return the settings of each point, and its metrics by algorithm."""
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


# What is compared on the grid, with its name and its color in the picture.
QUEUES = {"dualpi2": ("DualPI2", "#0072b2"), "pi2": ("PI2", "#d55e00"), "pie": ("PIE", "#7f7f7f")}
QUEUE_DELAY = {"mean": "queue_delay_mean_s", "P99": "queue_delay_p99_s"}


def cases(folder: Path) -> list[tuple[str, str, str, dict[str, dict]]]:
    """Return the senders, rate and round trip of each point of the grid, and its metrics by algorithm."""
    found = []
    for settings, by_algorithm in points(folder, "grid"):
        senders = [str(settings[f"flows.{g}.tcp.congestion"]) for g in ("l4s", "classic")]
        rate, rtt = str(settings["dumbbell.rate"]), str(settings["flows.classic.rtt"])
        found.append((" : ".join(senders), rate, rtt, by_algorithm))
    return sorted(found, key=lambda case: case[0])


def grid(folder: Path) -> str:
    rows = []
    for senders, rate, rtt, by_algorithm in cases(folder):
        metrics = by_algorithm["dualpi2"]
        rows.append(
            [senders, rate, rtt, figure(metrics, RATIO, 1, 2)]
            + [figure(metrics, "utilization", 100), *queues(metrics)]
        )
    headings = ["senders", "rate", "round trip", "rate ratio", "utilization %"]
    return table([*headings, "C mean ms", "C P99 ms", "L mean ms", "L P99 ms"], rows)


def one_queue(folder: Path) -> str:
    """Return the same for the algorithms with one queue for both kinds of flows."""
    rows = []
    for senders, rate, rtt, by_algorithm in cases(folder):
        row = [senders, rate, rtt]
        for algorithm in ("pi2", "pie"):
            metrics = by_algorithm[algorithm]
            row += [figure(metrics, RATIO, 1, 2), figure(metrics, "utilization", 100)]
            row += [figure(metrics, name, 1000) for name in QUEUE_DELAY.values()]
        rows.append(row)
    figures = ("rate ratio", "util. %", "mean ms", "P99 ms")
    each = [f"{QUEUES[a][0]}: {of}" for a in ("pi2", "pie") for of in figures]
    return table(["senders", "rate", "round trip", *each], rows)


def summary(folder: Path) -> str:
    """Return the range of the rate ratio and the longest delays, by senders and queue."""
    by_senders: dict[str, list[dict[str, dict]]] = {}
    for senders, _, _, by_algorithm in cases(folder):
        by_senders.setdefault(senders, []).append(by_algorithm)
    rows = []
    for senders, found in by_senders.items():
        for algorithm, (name, _) in QUEUES.items():
            every = [metrics[algorithm] for metrics in found]

            def values(key: str, every: list[dict] = every) -> list[float]:
                return sorted(m[key]["mean"] for m in every if m.get(key) is not None)

            ratios = values(RATIO)
            lanes = ["[lane:c]", "[lane:l]"] if algorithm == "dualpi2" else ["", ""]
            row = [senders, name, *(f"{x:.2f}" for x in (ratios[0], ratios[len(ratios) // 2], ratios[-1]))]
            for lane in lanes:
                for of in ("mean", "p99"):
                    delays = values(f"queue_delay_{of}_s{lane}")
                    row.append(f"{1000 * delays[len(delays) // 2]:.1f}")
            rows.append(row)
    headings = ["senders", "queue", "rate ratio: least", "median", "largest"]
    of = [f"{kind}'s {what} ms (median)" for kind in ("Classic", "scalable") for what in ("mean", "P99")]
    return table([*headings, *of], rows)


def picture(folder: Path) -> str:
    """Return the rate ratio and the scalable flow's P99 delay over the grid, as SVG."""
    found: dict[str, list[tuple[str, str, dict[str, dict]]]] = {}
    for senders, rate, rtt, by_algorithm in cases(folder):
        found.setdefault(senders, []).append((rate, rtt, by_algorithm))
    width, height, left, top = 430, 150, 64, 44
    panels = []
    rows = [
        ("rate ratio", [0.01, 0.1, 1, 10, 100], lambda a, m: m.get(RATIO), 1.0),
        (
            "scalable flow's P99 delay, ms",
            [0.1, 1, 10, 100],
            lambda a, m: m.get("queue_delay_p99_s" + ("[lane:l]" if a == "dualpi2" else "")),
            1000.0,
        ),
    ]
    for column, (senders, each) in enumerate(found.items()):
        for line, (title, ticks, value, factor) in enumerate(rows):
            x0, y0 = left + column % 2 * (width + 84), top + (column // 2 * 2 + line) * (height + 62)
            low, high = math.log10(ticks[0]), math.log10(ticks[-1])

            def y(v: float, y0: float = y0, low: float = low, high: float = high) -> float:
                inside = min(max(math.log10(v), low), high)
                return y0 + height * (1 - (inside - low) / (high - low))

            def x(i: int, x0: float = x0, n: int = len(each)) -> float:
                return x0 + (i + 0.5) * width / n

            out = [f'<text x="{x0}" y="{y0 - 10}" class="t">{senders}: {title}</text>']
            for tick in ticks:
                style = "one" if tick == 1 and line == 0 else "g"
                out.append(f'<path d="M{x0} {y(tick):.1f}h{width}" class="{style}"/>')
                out.append(f'<text x="{x0 - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
            rates = list(dict.fromkeys(rate for rate, _, _ in each))
            for i, rate in enumerate(rates):
                of_rate = [k for k, case in enumerate(each) if case[0] == rate]
                middle = (x(of_rate[0]) + x(of_rate[-1])) / 2
                at = f'x="{middle:.1f}" y="{y0 + height + 32}"'
                out.append(f'<text {at} text-anchor="middle">{rate}</text>')
                if i:
                    edge = x(of_rate[0]) - 0.5 * width / len(each)
                    out.append(f'<path d="M{edge:.1f} {y0}v{height + 36}" class="g"/>')
            for i, (_, rtt, _) in enumerate(each):
                at = f'x="{x(i):.1f}" y="{y0 + height + 15}"'
                out.append(f'<text {at} text-anchor="middle" class="s">{rtt.split()[0]}</text>')
            for algorithm, (_, color) in QUEUES.items():
                for rate in rates:
                    dots = [
                        (x(i), y(v["mean"] * factor))
                        for i, (of, _, by) in enumerate(each)
                        if of == rate and (v := value(algorithm, by[algorithm])) and v["mean"] > 0
                    ]
                    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in dots)
                    out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
                    out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{color}"/>' for a, b in dots]
            panels.append("\n".join(out))
    lines = (len(found) + 1) // 2 * 2
    all_width, all_height = left + 2 * width + 84 + 20, top + lines * (height + 62) + 10
    legend = "".join(
        f'<circle cx="{left + 10 + 110 * i}" cy="14" r="4" fill="{color}"/>'
        f'<text x="{left + 20 + 110 * i}" y="18">{name}</text>'
        for i, (name, color) in enumerate(QUEUES.values())
    )
    style = (
        "text{font:11px sans-serif;fill:#333}.t{font-size:12px;font-weight:bold}.s{font-size:9px}"
        ".g{stroke:#ddd;fill:none}.one{stroke:#999;fill:none}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {all_width} {all_height}" width="{all_width}" '
        f'height="{all_height}"><style>{style}</style><rect width="100%" height="100%" fill="white"/>{legend}'
        f'<text x="{left + 340}" y="18">round trips in ms, below them the rates</text>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


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
for make in (summary, grid, one_queue, round_trips, bursty, classic_queue):
    name = make.__name__
    before, rest = page.split(f"<!-- {name}:begin -->\n")
    _, after = rest.split(f"<!-- {name}:end -->")
    page = f"{before}<!-- {name}:begin -->\n{make(Path(sys.argv[1]))}<!-- {name}:end -->{after}"
path.write_text(page, encoding="utf-8")
path.with_name("images").joinpath("l4s.svg").write_text(picture(Path(sys.argv[1])), encoding="utf-8")
