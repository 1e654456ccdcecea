"""Write the tables of theory.md from what `quell analyze --check --format json` printed of
scenarios/theory.toml, theory_coupled.toml and theory_senders.toml, three files that are named on the command
line: `make theory` runs this."""

import json
import sys
from collections.abc import Callable
from pathlib import Path


# Below this window timeouts rule TCP (RFC 5681 section 3.2).
LEAST_WINDOW = 4.0
# A gain margin between these is near the border.
NEAR = (0.5, 2.0)

Cases = dict[str, list[dict]]


def cases(output: dict, wanted: Callable[[dict], bool] = lambda _: True, by_senders: bool = False) -> Cases:
    """Return what has a verdict and was simulated, by algorithm, or by algorithm and senders."""
    found: Cases = {}
    for point in output["points"]:
        senders = ""
        if by_senders:
            senders = f": {point['congestion']}"
            if "scalable" in point:
                senders = f": {point['scalable']} beside {point['congestion']}"
        for case in point["algorithms"]:
            if case["packets"] and case["margins"] and wanted(case):
                found.setdefault(case["label"] + senders, []).append(case)
    return found


def matrix(found: Cases) -> str:
    """Return the confusion matrix of the linear verdict, an algorithm to a row and all of them in the last."""
    headings = "stable, settled | stable, **not settled** | unstable, **settled** | unstable, not settled"
    return table(found, headings, lambda case: case["verdict"])


def fluid(found: Cases) -> str:
    """Return the same for the nonlinear fluid model, which settles or does not as packets do."""
    headings = "settles, settled | settles, **not settled** | does not, **settled** | does not, not settled"
    asked = {label: [case for case in each if case["fluid"]] for label, each in found.items()}
    return table(asked, headings, lambda case: "stable" if settled(case["fluid"]) else "unstable")


def table(found: Cases, headings: str, says: Callable[[dict], str]) -> str:
    """Return what a model says beside what the packets do."""
    rows = [f"| algorithm | {headings} | agree |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    everything = [case for each in found.values() for case in each]
    for label, each in [*((f"`{label}`", each) for label, each in found.items()), ("all", everything)]:
        cells = [
            sum(says(case) == verdict and settled(case["packets"]) == packets for case in each)
            for verdict in ("stable", "unstable")
            for packets in (True, False)
        ]
        share = 100 * (cells[0] + cells[3]) / len(each)
        rows.append(f"| {label} | {' | '.join(map(str, cells))} | {share:.0f}% |")
    return "\n".join(rows) + "\n"


def settled(seen: dict) -> bool:
    return seen["motion"] == "settled"


def periods(found: Cases) -> str:
    """Return how the periods of oscillating queues compare with those of the modes that grow."""
    ratios = sorted(
        case["packets"]["period_s"] / case["margins"]["period_s"]
        for each in found.values()
        for case in each
        if case["verdict"] == "unstable"
        and case["packets"]["motion"] == "oscillating"
        and case["margins"]["period_s"]
    )
    at = [ratios[int(share * (len(ratios) - 1))] for share in (0.1, 0.5, 0.9)]
    return (
        f"Where both say unstable and the packets oscillate ({len(ratios)} cases), their period is "
        f"{at[1]:.2f} times that of the growing mode (median; {at[0]:.2f} to {at[2]:.2f} in eight of ten).\n"
    )


def no_equilibrium(output: dict, why: str) -> str:
    """Return what the packets do where the fluid has no equilibrium."""
    motions = [
        case["packets"]["motion"]
        for point in output["points"]
        for case in point["algorithms"]
        if case["verdict"] == "no-equilibrium" and case["packets"]
    ]
    settling = motions.count("settled")
    return (
        f"{len(motions)} other cases have no equilibrium in the fluid model ({why}); "
        f"the packets' queue settles in {settling} of them.\n"
    )


def near(case: dict) -> bool:
    gain = case["margins"]["gain"]
    return gain is not None and NEAR[0] < gain < NEAR[1]


def has_window(case: dict) -> bool:
    return case["equilibrium"]["window_packets"] >= LEAST_WINDOW


def beginning(output: dict, total: Cases, why: str = "every packet would have to be signaled") -> list[str]:
    """Return the parts with which each text begins."""
    count = sum(map(len, total.values()))
    return [f"All {count} cases with an equilibrium:\n", matrix(total), no_equilibrium(output, why)]


def text(output: dict) -> str:
    total = cases(output)
    usual = cases(output, has_window)
    clear = cases(output, lambda c: has_window(c) and not near(c))
    return "\n".join(
        [
            *beginning(output, total),
            f"Windows of at least {LEAST_WINDOW:g} packets at equilibrium:\n",
            matrix(usual),
            f"The same cases, without gain margins from {NEAR[0]:g} to {NEAR[1]:g}:\n",
            matrix(clear),
            periods(usual),
            "The verdict of the nonlinear fluid model, from an empty queue, in all cases:\n",
            fluid(total),
        ]
    )


def coupled_text(output: dict) -> str:
    """Return the tables of two kinds of senders."""
    total = cases(output, by_senders=True)
    return "\n".join(
        [
            *beginning(output, total, "every scalable packet would have to be marked"),
            "The verdict of the nonlinear fluid model, from an empty queue:\n",
            fluid(total),
        ]
    )


def senders_text(output: dict) -> str:
    """Return the tables of today's senders, each alone."""
    total = cases(output, by_senders=True)
    usual = {label: list(filter(has_window, each)) for label, each in total.items()}
    return "\n".join(
        [
            *beginning(output, total),
            f"Windows of at least {LEAST_WINDOW:g} packets at equilibrium:\n",
            matrix(usual),
            "The verdict of the nonlinear fluid model, from an empty queue, in the same cases:\n",
            fluid(usual),
        ]
    )


path = Path(__file__).with_suffix(".md")
page = path.read_text(encoding="utf-8")
MADE = (("verdicts", text), ("coupled", coupled_text), ("senders", senders_text))
for (name, make), file in zip(MADE, sys.argv[1:], strict=True):
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    written = make(json.loads(Path(file).read_text(encoding="utf-8")))
    page = before + begin + written + end + after
path.write_text(page, encoding="utf-8")
