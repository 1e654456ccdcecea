"""The table for people: docs/leaderboard.md, a page for each link, and the report of one entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import quell
from quell.leaderboard.board import Board, Standing, front, mean, ranks, standing, starved
from quell.leaderboard.cells import GOALS, LINKS, LOAD, SENDERS, Cell, Entry, command, first_seed


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
    >>> board = load("docs/leaderboard.json")  # doctest: +SKIP
    >>> text = page(board)  # doctest: +SKIP
    """
    found = standing(board)
    groups = board.groups()
    lines = []
    for name, goal in GOALS.items():
        lines += [
            f"## {goal.title}",
            "",
            f"By `{goal.metric}`, {'the more' if goal.more_is_better else 'the less'} the better.",
            "",
        ]
        lines += _table(_COLUMNS, [_row(one, name) for one in _sorted(found, name)[:5]])
    lines += ["## Every entry", ""]
    heads = ["entry", *(f"{goal.title.lower()}, mean rank" for goal in GOALS.values()), *_CONTEXT]
    rows = [[_entry(one.entry), *(_rank(one.ranks[name]) for name in GOALS), *_context(one)] for one in found]
    lines += _table(heads, rows)
    lines += [
        "## By link",
        "",
        "The three entries with the best mean rank over the senders of each link.",
        "",
    ]
    heads = ["link", *(goal.title.lower() for goal in GOALS.values())]
    rows = []
    for link in dict.fromkeys(cell.link for cell in board.cells):
        of_link = standing(Board([cell for cell in board.cells if cell.link == link]))
        best = [", ".join(_entry(one.entry) for one in _sorted(of_link, name)[:3]) for name in GOALS]
        rows.append([f"[{link}](leaderboard/{link}.md)", *best])
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
    >>> board = load("docs/leaderboard.json")  # doctest: +SKIP
    >>> text = link_page(board, "cable")  # doctest: +SKIP
    """
    title = quell.new(LOAD, link=link)["title"].partition(" over ")[2]
    duration, warmup, seeds = LINKS[link].duration, LINKS[link].warmup, len(board.cells[0].seeds)
    lines = [
        f"# Public table: {title}",
        "",
        f"Every algorithm with its defaults on the link `{link}`, under each sender. The load is `{LOAD}` "
        f"for {duration}; the first {warmup} are not measured.",
        f"Values are means over {seeds} seeds with half the width of the 95% interval. Ranks are among the "
        "algorithms of the same table: for low delay, throughput, fairness and balance.",
        "[The public table](../leaderboard.md) says how it is made.",
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
        heads += ["ranks", "Pareto front", "seeds"]
        rows = []
        for cell in cells:
            if cell.refused:
                rows.append(
                    [_entry(cell.entry, "../"), *["–"] * (len(GOALS) + 2), f"refused: {cell.refused}"]
                )
                continue
            values = [_value(cell, name) for name in GOALS]
            places = " ".join(f"{by_goal[name][cell.entry]:g}" for name in GOALS)
            places += " (starved)" if cell.entry in out else ""
            marks = "yes" if cell.entry in best else ""
            rows.append(
                [_entry(cell.entry, "../"), *values, places, marks, f"{cell.seeds[0]}-{cell.seeds[-1]}"]
            )
        lines += _table(heads, rows)
    return "\n".join(lines).rstrip("\n") + "\n"


# What a row of a link's page calls the metric of a goal.
_QUANTITY = {"delay": "P99 delay", "throughput": "goodput", "fairness": "Jain index", "balance": "power"}
_CONTEXT = ["goodput, % of the best", "P99 delay, median (ms)", "Pareto fronts"]
_COLUMNS = ["entry", "mean rank", *_CONTEXT]


def _sorted(found: list[Standing], goal: str) -> list[Standing]:
    return sorted(found, key=lambda one: one.ranks[goal][0])


def _row(one: Standing, goal: str) -> list[str]:
    return [_entry(one.entry), _rank(one.ranks[goal]), *_context(one)]


def _context(one: Standing) -> list[str]:
    return [f"{100 * one.goodput_share:.1f}", f"{1e3 * one.delay_s:.3g}", f"{one.fronts} of {one.cells}"]


def _rank(rank: tuple[float, float | None]) -> str:
    return f"{rank[0]:.1f}" + (f" ± {rank[1]:.1f}" if rank[1] is not None else "")


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


def _value(cell: Cell, goal: str) -> str:
    found = mean(cell.of(GOALS[goal].metric))
    if found is None:
        return "–"
    shown = [f"{value * GOALS[goal].factor:.{GOALS[goal].digits}f}" for value in found if value is not None]
    return " ± ".join(shown)


def _template(link: str, sender: str, cells: Sequence[Cell]) -> str:
    """Write the command of a sender's cells, with words in the place of the algorithm and the seeds."""
    entry = Entry("ALGORITHM")
    first = first_seed(entry, link, sender)
    seeds = f"--seeds {first}-{first + len(cells[0].seeds) - 1}"
    whole = command(entry, link, sender, len(cells[0].seeds)).replace(seeds, "--seeds SEEDS")
    return whole.replace(" | ", " |\n  ").replace(" --set ", " \\\n  --set ")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


BEGIN, END = "<!-- leaderboard:begin -->\n", "<!-- leaderboard:end -->"


def write(board: Board, docs: Path) -> None:
    """Write docs/leaderboard.json, the pages of the links, and the generated part of docs/leaderboard.md.

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
    >>> board = load("docs/leaderboard.json")  # doctest: +SKIP
    >>> write(board, pathlib.Path("docs"))  # doctest: +SKIP
    """
    summary = docs / "leaderboard.md"
    before, rest = summary.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    files = {summary: before + BEGIN + page(board) + END + after, docs / "leaderboard.json": board.text()}
    for link in dict.fromkeys(cell.link for cell in board.cells):
        files[docs / "leaderboard" / f"{link}.md"] = link_page(board, link)
    (docs / "leaderboard").mkdir(exist_ok=True)
    for path, text in files.items():
        # Whole or not at all.
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
    >>> board = load("docs/leaderboard.json")  # doctest: +SKIP
    >>> print(report(board, "codel"))  # doctest: +SKIP
    """
    found = standing(board)
    lines = [f"# {entry}", ""]
    mine = next((one for one in found if one.entry == entry), None)
    if mine is None:
        lines += ["It ran in no cell.", ""]
    else:
        rows = []
        for name, goal in GOALS.items():
            order = _sorted(found, name)
            rows.append(
                [
                    goal.title,
                    f"{order.index(mine) + 1} of {len(order)}",
                    _rank(mine.ranks[name]),
                    f"`{order[0].entry}`",
                ]
            )
        lines += _table(["goal", "place", "mean rank", "first"], rows)
    rows = []
    for (link, sender), cells in board.groups().items():
        cell = next(cell for cell in cells if cell.entry == entry)
        if cell.refused:
            rows.append([link, sender, *["–"] * len(GOALS), f"refused: {cell.refused}"])
            continue
        places = [ranks(cells, name)[entry] for name in GOALS]
        rows.append(
            [
                link,
                sender,
                *(_value(cell, name) for name in GOALS),
                " ".join(f"{place:g}" for place in places),
            ]
        )
    heads = [
        "link",
        "sender",
        *(f"{_QUANTITY[name]}{f' ({goal.unit})' if goal.unit else ''}" for name, goal in GOALS.items()),
        "ranks",
    ]
    return "\n".join(lines + _table(heads, rows))
