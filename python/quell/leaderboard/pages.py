"""The table for people: docs/leaderboard.md, a page for each link, and the report of one entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import quell
from quell.leaderboard.board import Board, Standing, front, mean, ranks, standing, starved
from quell.leaderboard.cells import (
    FLOW_QUEUES,
    GOALS,
    LINKS,
    LOAD,
    SENDERS,
    Cell,
    Entry,
    command,
    first_seed,
)


def page(board: Board) -> str:
    """Write the summary: who leads for each goal, and where every entry stands.

    Parameters
    ----------
    board : Board
        The cells.

    Returns
    -------
    str
        The part of docs/leaderboard.md that is generated, as Markdown.

    Examples
    --------
    >>> from quell.leaderboard import load, page
    >>> board = load()
    >>> page(board).startswith("## Advice for each link")
    True
    """
    found = standing(board)
    groups = board.groups()
    lines = ["## Advice for each link", ""]
    lines += [
        "Each with its mean share of the best goodput and its median P99 delay over the senders. Balance is "
        "by mean rank. The lowest delay is the lowest median, among entries that starve under no sender. The "
        "page of a link says which others may be as good.",
        "",
    ]
    heads = ["link", "one queue, best balance", "flow queues, best balance", "lowest median delay"]
    by_link = {
        link: standing(Board([cell for cell in board.cells if cell.link == link]))
        for link in dict.fromkeys(cell.link for cell in board.cells)
    }
    lines += _table(
        heads,
        (
            [
                _link(link),
                *_row_of_advice([first[0] if first else None for first in _advice(of_link).values()]),
            ]
            for link, of_link in by_link.items()
        ),
    )
    lines += [
        f"{_SURPASSED} Another entry of the row has at least its goodput and at most its delay. Only another "
        "reason, such as fairness or a device with one queue, speaks for this one.",
        "",
        f"{_SPARSE} It carries less than two thirds of the best goodput, in the mean over the senders.",
        "",
    ]
    for name in _ORDER:
        goal = GOALS[name]
        lines += [
            f"## {goal.title}",
            "",
            f"By `{goal.metric}`, {'the more' if goal.more_is_better else 'the less'} the better.",
        ]
        first = _sorted(found, name)[:_FIRST]
        lines += [*_price(first, name), ""]
        lines += _table(_COLUMNS, [_row(one, name, len(found)) for one in first])
    lines += ["## Every entry", ""]
    heads = ["entry", *(f"{GOALS[name].title.lower()}, mean rank" for name in _ORDER), *_CONTEXT]
    rows = [
        [_entry(one.entry), *(_rank(one.ranks[name], len(found)) for name in _ORDER), *_context(one)]
        for one in found
    ]
    lines += _table(heads, rows)
    lines += [
        "## By link",
        "",
        "The three entries with the best mean rank over the senders of each link.",
        "",
    ]
    heads = ["link", *(GOALS[name].title.lower() for name in _ORDER)]
    rows = []
    for link, of_link in by_link.items():
        best = [", ".join(_entry(one.entry) for one in _sorted(of_link, name)[:3]) for name in _ORDER]
        rows.append([_link(link), *best])
    lines += _table(heads, rows)
    lines += ["## What did not run, ran without marks, or starved", ""]
    reasons: dict[str, list[Cell]] = {}
    for cells in groups.values():
        out = starved(cells)
        for cell in cells:
            if reason := f"Refused: {cell.refused}" if cell.refused else cell.note and f"Noted: {cell.note}":
                reasons.setdefault(reason, []).append(cell)
            if cell.entry in out:
                less = "Ranked last because their goodput is below a tenth of the best"
                reasons.setdefault(f"{less}, on {cell.link}", []).append(cell)
    for reason, cells in reasons.items():
        entries = ", ".join(dict.fromkeys(f"`{cell.entry}`" for cell in cells))
        senders = ", ".join(dict.fromkeys(cell.sender for cell in cells))
        lines.append(f"- {reason}: {entries} under {senders}, {_cells(len(cells))}.")
    count = len(board.cells) - sum(1 for cell in board.cells if cell.refused)
    lines.append(
        f"- {count} of {len(board.cells)} cells ran: {len(board.entries())} entries, {len(groups)} pairs of "
        f"a link and a sender, {len(board.cells[0].seeds)} seeds each."
    )
    return "\n".join(lines) + "\n"


def link_page(board: Board, link: str) -> str:
    """Write the page of a link: a table for each sender, and the command of its cells.

    Parameters
    ----------
    board : Board
        The cells.
    link : str
        The name of the link.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from quell.leaderboard import load, link_page
    >>> board = load()
    >>> link_page(board, "cable").startswith("# Public table: ")
    True
    """
    title = quell.new(LOAD, link=link)["title"].partition(" over ")[2]
    duration, warmup, seeds = LINKS[link].duration, LINKS[link].warmup, len(board.cells[0].seeds)
    lines = [
        f"# Public table: {title}",
        "",
        f"Every algorithm with its defaults on the link `{link}`, under each sender. The load is `{LOAD}` "
        f"for {duration}; the first {warmup} are not measured.",
        f"Values are means over {seeds} seeds ± half the width of the 95% interval, or [low, high] if the "
        "interval is cut off at a limit of the metric. Ranks are those of the means, among the algorithms of "
        "the same table.",
        "[The public table](../leaderboard.md) says how it is made.",
        "",
    ]
    of_link = standing(Board([cell for cell in board.cells if cell.link == link]))
    advice = {what: best for what, best in _advice(of_link).items() if best}
    named = [best[0] for best in advice.values()]
    lines += [
        f"- **{what}:** {_advised(best[0], '../')}.{_beside(best[1:])}{_warned(best[0], named)}"
        for what, best in advice.items()
    ]
    lines += [
        "",
        "One queue and flow queues are judged by the mean rank for balance over the senders. The lowest "
        "median delay is that of the P99 delays over the senders, among entries that starve under none. In "
        "parentheses are the mean share of the best goodput and the median P99 delay.",
        "",
    ]
    for sender in SENDERS:
        cells = [cell for cell in board.cells if (cell.link, cell.sender) == (link, sender)]
        if not cells:
            continue
        lines += [
            f"## {sender}",
            "",
            "The command of a cell, with the algorithm and the seeds of its row:",
            "",
            "```sh",
        ]
        lines += [_template(link, sender, cells), "```", ""]
        by_goal = {name: ranks(cells, name) for name in GOALS}
        best, out = front(cells), starved(cells)
        heads = [
            "algorithm",
            *(f"{_QUANTITY[name]}{f' ({goal.unit})' if goal.unit else ''}" for name, goal in GOALS.items()),
        ]
        heads += [*_RANKS, "note", "seeds"]
        rows = []
        for cell in cells:
            if cell.refused:
                rows.append(
                    [_entry(cell.entry, "../"), *["–"] * (2 * len(GOALS)), f"refused: {cell.refused}", "–"]
                )
                continue
            values = [_value(cell, name) for name in GOALS]
            places = [f"{by_goal[name][cell.entry]:g}" for name in GOALS]
            note = "Pareto front" if cell.entry in best else "starved" if cell.entry in out else ""
            rows.append(
                [_entry(cell.entry, "../"), *values, *places, note, f"{cell.seeds[0]}-{cell.seeds[-1]}"]
            )
        lines += _table(heads, rows)
    return "\n".join(lines).rstrip("\n") + "\n"


# What a row of a link's page calls the metric of a goal.
_QUANTITY = {"delay": "P99 delay", "throughput": "goodput", "fairness": "Jain index", "balance": "power"}
_CONTEXT = ["goodput, % of the best", "P99 delay, median (ms)", "Pareto fronts"]
_COLUMNS = ["entry", "mean rank", *_CONTEXT]
# A column for each, by which a table can be sorted.
_RANKS = [f"{goal.title.lower()} rank" for goal in GOALS.values()]
# Balance comes first: the other goals are reached at the cost of each other.
_ORDER = ["balance", *(name for name in GOALS if name != "balance")]
# How many entries of a goal the summary shows, and how many that are as good the advice names.
_FIRST = 5
_NAMED = 4
# Below this share of the best goodput the advice warns, and the marks of its warnings.
_ENOUGH = 2 / 3
_SURPASSED, _SPARSE = "†", "‡"


def _sorted(found: list[Standing], goal: str) -> list[Standing]:
    return sorted(found, key=lambda one: one.ranks[goal][0])


def _row(one: Standing, goal: str, entries: int) -> list[str]:
    return [_entry(one.entry), _rank(one.ranks[goal], entries), *_context(one)]


def _context(one: Standing) -> list[str]:
    return [f"{100 * one.goodput_share:.1f}", f"{1e3 * one.delay_s:.3g}", f"{one.fronts} of {one.cells}"]


def _price(first: list[Standing], goal: str) -> list[str]:
    """Say what the first of a goal pay for it, so that nobody takes a place for a recommendation."""
    if goal == "delay":
        shares = [100 * one.goodput_share for one in first]
        low, high = min(shares), max(shares)
        return [
            "",
            f"**This costs goodput:** these {len(first)} entries carry {low:.0f} to {high:.0f}% of the best "
            f"goodput, so {100 - high:.0f} to {100 - low:.0f}% is lost.",
        ]
    if goal == "throughput":
        delays = [1e3 * one.delay_s for one in first]
        return [
            "",
            f"**This may cost delay:** the median P99 delay of these {len(first)} entries is "
            f"{min(delays):.3g} to {max(delays):.3g} ms.",
        ]
    return []


def _advice(found: list[Standing]) -> dict[str, list[Standing]]:
    """For each kind the entry to take, and those with overlapping intervals: chance may explain its lead."""

    def best(of: list[Standing], score: Callable[[Standing], tuple[float, float | None]]) -> list[Standing]:
        order = sorted(of, key=lambda one: (score(one)[0], -one.goodput_share))
        return [one for one in order if _low(score(one)) <= _high(score(order[0]))]

    def balance(one: Standing) -> tuple[float, float | None]:
        return one.ranks["balance"]

    flows = [one for one in found if one.entry.partition(" ")[0] in FLOW_QUEUES]
    return {
        "One queue": best([one for one in found if one not in flows], balance),
        "Flow queues": best(flows, balance),
        # Not the best rank: an entry of the row could have both more goodput and less delay than that.
        "Lowest median delay": best(
            [one for one in found if not one.starved], lambda one: (one.delay_s, one.delay_half_s)
        ),
    }


def _low(rank: tuple[float, float | None]) -> float:
    return rank[0] - (rank[1] or 0)


def _high(rank: tuple[float, float | None]) -> float:
    return rank[0] + (rank[1] or 0)


def _advised(one: Standing, up: str = "") -> str:
    return f"{_entry(one.entry, up)} {_reached(one)}"


def _row_of_advice(row: Sequence[Standing | None]) -> list[str]:
    """Write the advice for a link, with marks where a reader must know more."""
    named = [one for one in row if one is not None]
    cells = []
    for one in row:
        if one is None:
            cells.append("–")
            continue
        marks = (_SURPASSED if _surpassing(one, named) else "") + (_SPARSE if _sparse(one) else "")
        cells.append(f"{_advised(one)} {marks}".rstrip())
    return cells


def _surpassing(one: Standing, named: Iterable[Standing]) -> list[str]:
    """Name the others that are at least as good in both shown numbers, and better in one."""

    def shown(of: Standing) -> tuple[float, float]:
        return round(100 * of.goodput_share), -float(f"{of.delay_s:.3g}")

    share, delay = mine = shown(one)
    points = {other.entry: shown(other) for other in named}
    return [name for name, at in points.items() if at[0] >= share and at[1] >= delay and at != mine]


def _sparse(one: Standing) -> bool:
    return one.goodput_share < _ENOUGH


def _warned(one: Standing, named: Iterable[Standing]) -> str:
    """Say in words what the marks say."""
    text = f" `{one.entry}` carries less than two thirds of the best goodput." if _sparse(one) else ""
    if others := _surpassing(one, named):
        names = " and ".join(f"`{other}`" for other in others)
        have = "has" if len(others) == 1 else "have"
        text += f" {names} {have} no less goodput than `{one.entry}`, and no more delay."
    return text


def _reached(one: Standing) -> str:
    return f"({100 * one.goodput_share:.0f}%, {1e3 * one.delay_s:.3g} ms)"


def _beside(others: list[Standing]) -> str:
    """Name those that may be as good."""
    if not others:
        return ""
    names = [f"`{one.entry}`" for one in others[:_NAMED]]
    more = [f"{len(others) - _NAMED} more"] if len(others) > _NAMED else []
    *most, last = names + more
    listed = f"{', '.join(most)} and {last}" if most else last
    return f" Chance may explain its lead over {listed}."


def _link(link: str) -> str:
    return f"[{link}](leaderboard/{link}.md)"


def _rank(rank: tuple[float, float | None], entries: int) -> str:
    """Write a mean rank, which can only be from 1 to the number of entries."""
    return _figure(*rank, 1, 1, entries)


def _digits(value: float) -> int:
    """Count the decimals that show three significant digits, of which the ranks are made."""
    return max(0, 2 - math.floor(math.log10(float(f"{value:.3g}")))) if value > 0 else 0


def _figure(mean: float, half: float | None, digits: int, least: float, most: float) -> str:
    """Write a mean with its interval: the ends of the part within the range, where it leaves that."""
    text = f"{mean:.{digits}f}"
    if half is None:
        return text
    low, high, shown = max(mean - half, least), min(mean + half, most), f"{half:.{digits}f}"
    if (low, high) == (mean - half, mean + half) or float(shown) == 0:
        return f"{text} ± {shown}"
    # An end of the range needs no digits.
    ends = [f"{end:g}" if end in (least, most) else f"{end:.{digits}f}" for end in (low, high)]
    return f"{text} [{', '.join(ends)}]"


def _entry(text: str, up: str = "") -> str:
    """Write an entry with a link to the page of its algorithm, if it has one."""
    name = text.partition(" ")[0]
    file = name.replace("-", "_").replace("+", "_")
    return f"[`{text}`]({up}algorithms/{file}.md)" if name in _known() else f"`{text}`"


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


@cache
def _known() -> set[str]:
    return {algorithm["name"] for algorithm in quell.aqm_list()}


def _value(cell: Cell, name: str) -> str:
    goal = GOALS[name]
    found = mean(cell.of(goal.metric))
    if found is None:
        return "–"
    value, half = found
    scaled = None if half is None else half * goal.factor
    shown = value * goal.factor
    return _figure(shown, scaled, _digits(shown), 0, goal.most * goal.factor)


def _template(link: str, sender: str, cells: Sequence[Cell]) -> str:
    """Write the command of a sender's cells, with words in the place of the algorithm and the seeds."""
    entry = Entry("ALGORITHM")
    first = first_seed(entry, link, sender)
    seeds = f"--seeds {first}-{first + len(cells[0].seeds) - 1}"
    whole = command(entry, link, sender, len(cells[0].seeds)).replace(seeds, "--seeds SEEDS")
    return (
        whole.replace(" | ", " |\n  ").replace(" --set ", " \\\n  --set ").replace(" --out ", " \\\n  --out ")
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


BEGIN, END = "<!-- leaderboard:begin -->\n", "<!-- leaderboard:end -->"


def write(board: Board, docs: Path) -> None:
    """Write the pages of the links, and the generated part of docs/leaderboard.md.

    Parameters
    ----------
    board : Board
        The cells.
    docs : Path
        The folder of the documentation.

    Examples
    --------
    >>> import pathlib
    >>> from quell.leaderboard import load, write
    >>> write(load(), pathlib.Path("docs"))  # doctest: +SKIP
    """
    summary = docs / "leaderboard.md"
    before, rest = summary.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    files = {summary: before + BEGIN + page(board) + END + after}
    for link in dict.fromkeys(cell.link for cell in board.cells):
        files[docs / "leaderboard" / f"{link}.md"] = link_page(board, link)
    (docs / "leaderboard").mkdir(exist_ok=True)
    for path, text in files.items():
        put(path, text)


def put(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        What it has then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from quell.leaderboard.pages import put
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     put(pathlib.Path(folder, "a.txt"), "text")
    """
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def report(board: Board, entry: str) -> str:
    """Write where an entry stands on a board that has it.

    Parameters
    ----------
    board : Board
        The cells of all entries, on the links and under the senders that count.
    entry : str
        Its text.

    Returns
    -------
    str
        Markdown: its places for each goal, then its cells.

    Examples
    --------
    >>> from quell.leaderboard import load, report
    >>> board = load()
    >>> report(board, "codel").startswith("# codel")
    True
    """
    found = standing(board)
    lines = [f"# {entry}", ""]
    mine = next((one for one in found if one.entry == entry), None)
    if mine is None:
        lines += ["It ran in no cell.", ""]
    else:
        rows = []
        for name in _ORDER:
            order = _sorted(found, name)
            rows.append(
                [
                    GOALS[name].title,
                    f"{order.index(mine) + 1} of {len(order)}",
                    _rank(mine.ranks[name], len(found)),
                    f"`{order[0].entry}` {_reached(order[0])}",
                ]
            )
        lines += _table(["goal", "place", "mean rank", "first (goodput, % of the best; P99 delay)"], rows)
    rows = []
    for (link, sender), cells in board.groups().items():
        cell = next(cell for cell in cells if cell.entry == entry)
        if cell.refused:
            refused = f"refused: {cell.refused}"
            rows.append([link, sender, refused, *["–"] * (2 * len(GOALS) - 1)])
            continue
        places = [ranks(cells, name)[entry] for name in GOALS]
        rows.append(
            [
                link,
                sender,
                *(_value(cell, name) for name in GOALS),
                *(f"{place:g}" for place in places),
            ]
        )
    heads = [
        "link",
        "sender",
        *(f"{_QUANTITY[name]}{f' ({goal.unit})' if goal.unit else ''}" for name, goal in GOALS.items()),
        *_RANKS,
    ]
    return "\n".join(lines + _table(heads, rows))
