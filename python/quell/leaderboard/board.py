"""All cells together: intervals, ranks, and where each entry stands."""

from __future__ import annotations

import concurrent.futures
import importlib.resources
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import quell
from quell.leaderboard.cells import GOALS, LINKS, LOAD, METRICS, ROUND, SEEDS, SENDERS, Cell, Entry, measure

# Below this share of the best goodput an entry counts as starved.
STARVED = 0.1

# Student's t for intervals of 95%, by the number of replications.
T95 = {2: 12.706, 3: 4.3027, 4: 3.1824, 5: 2.7764, 6: 2.5706, 7: 2.4469, 8: 2.3646, 9: 2.306, 10: 2.2622}


def mean(values: Sequence[float | None]) -> tuple[float, float | None] | None:
    """Return the mean and the half-width of its 95% interval.

    Parameters
    ----------
    values : sequence of float or None
        One for each replication.

    Returns
    -------
    tuple of float and (float or None), or None
        None where the metric does not apply in a replication; no half-width with one replication.

    Examples
    --------
    >>> from quell.leaderboard import mean
    >>> mean([2.0])
    (2.0, None)
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if len(known) == 1:
        return known[0], None
    center, count = statistics.fmean(known), len(known)
    # Not by statistics.stdev, whose fractions would be most of the time that a table takes.
    variance = math.fsum((value - center) ** 2 for value in known) / (count - 1)
    return center, T95[count] * math.sqrt(variance / count)


def starved(cells: Sequence[Cell]) -> set[str]:
    """Find the entries of one link and one sender that hardly let anything through.

    Parameters
    ----------
    cells : sequence of Cell
        Those of the link and the sender.

    Returns
    -------
    set of str
        The entries whose goodput is below a tenth of the best.

    Examples
    --------
    >>> from quell.leaderboard import Cell, starved
    >>> cells = [
    ...     Cell(entry, "cable", "cubic", [1], values={"goodput_bps": [rate], "queue_delay_p99_s": [delay]})
    ...     for entry, rate, delay in [("codel", 9e6, 0.02), ("drop-tail", 9.5e6, 0.2), ("none", 1e5, 0.001)]
    ... ]
    >>> starved(cells)
    {'none'}
    """
    goodputs = {cell.entry: found[0] for cell in cells if (found := mean(cell.of("goodput_bps")))}
    return {entry for entry, goodput in goodputs.items() if goodput < STARVED * max(goodputs.values())}


def ranks(cells: Sequence[Cell], goal: str, seed: int | None = None) -> dict[str, float]:
    """Rank the entries of one link and one sender.

    Parameters
    ----------
    cells : sequence of Cell
        Those of the link and the sender.
    goal : str
        A name of :data:`GOALS`.
    seed : int, optional
        Which replication, from 0; by default the means.

    Returns
    -------
    dict of str to float
        The rank of each entry that ran, 1 for the best. Values that are equal to three digits share a rank;
        those that do not apply come last, and so do those of an entry that is :func:`starved`: a queue that
        sends nothing has no delay.

    Examples
    --------
    >>> from quell.leaderboard import Cell, ranks
    >>> cells = [
    ...     Cell(entry, "cable", "cubic", [1], values={"goodput_bps": [rate], "queue_delay_p99_s": [delay]})
    ...     for entry, rate, delay in [("codel", 9e6, 0.02), ("drop-tail", 9.5e6, 0.2), ("none", 1e5, 0.001)]
    ... ]
    >>> ranks(cells, "delay")
    {'codel': 1.0, 'drop-tail': 2.0, 'none': 3.0}
    """
    worst = -math.inf
    scores = {}
    out = starved(cells)
    for cell in cells:
        if cell.refused:
            continue
        values = cell.of(GOALS[goal].metric)
        of_all = mean(values)
        value = values[seed] if seed is not None else of_all[0] if of_all else None
        sign = 1 if GOALS[goal].more_is_better else -1
        known = value is not None and cell.entry not in out
        scores[cell.entry] = sign * float(f"{value:.3g}") if known else worst
    order = sorted(scores.values(), reverse=True)
    # The mean of the places that equal values take together.
    return {entry: order.index(score) + (order.count(score) + 1) / 2 for entry, score in scores.items()}


def front(cells: Sequence[Cell]) -> set[str]:
    """Find the entries of one link and one sender on the Pareto front of goodput and delay.

    Off the front is what another entry equals or surpasses in both, and surpasses in at least one.

    Parameters
    ----------
    cells : sequence of Cell
        Those of the link and the sender.

    Returns
    -------
    set of str
        The entries, by means of three digits.

    Examples
    --------
    >>> from quell.leaderboard import Cell, front
    >>> cells = [
    ...     Cell(entry, "cable", "cubic", [1], values={"goodput_bps": [rate], "queue_delay_p99_s": [delay]})
    ...     for entry, rate, delay in [("codel", 9e6, 0.02), ("drop-tail", 9.5e6, 0.2), ("none", 1e5, 0.001)]
    ... ]
    >>> sorted(front(cells))
    ['codel', 'drop-tail']
    """
    points = {}
    out = starved(cells)
    for cell in cells:
        if cell.entry in out:
            continue
        goodput, delay = (mean(cell.of(metric)) for metric in ("goodput_bps", "queue_delay_p99_s"))
        if goodput and delay:
            points[cell.entry] = (float(f"{goodput[0]:.3g}"), -float(f"{delay[0]:.3g}"))
    return {
        entry
        for entry, mine in points.items()
        if not any(one[0] >= mine[0] and one[1] >= mine[1] and one != mine for one in points.values())
    }


@dataclass
class Board:
    """All cells, in the order of links, senders and entries.

    Examples
    --------
    >>> from quell.leaderboard import Board, Cell
    >>> board = Board([Cell("codel", "cable", "cubic", [1], values={"goodput_bps": [9e6]})])
    >>> board.entries()
    ['codel']
    """

    cells: list[Cell]

    def groups(self) -> dict[tuple[str, str], list[Cell]]:
        """Group the cells that compete.

        Returns
        -------
        dict of (str, str) to list of Cell
            By link and sender.

        Examples
        --------
        >>> from quell.leaderboard import Board, Cell
        >>> board = Board([Cell("codel", "cable", "cubic", [1], values={"goodput_bps": [9e6]})])
        >>> list(board.groups())
        [('cable', 'cubic')]
        """
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.link, cell.sender), []).append(cell)
        return found

    def entries(self) -> list[str]:
        """List the entries.

        Returns
        -------
        list of str
            Their texts, each once.

        Examples
        --------
        >>> from quell.leaderboard import Board, Cell
        >>> board = Board([Cell("codel", "cable", "cubic", [1], values={"goodput_bps": [9e6]})])
        >>> board.entries()
        ['codel']
        """
        return list(dict.fromkeys(cell.entry for cell in self.cells))

    def text(self) -> str:
        """Write the board as JSON, a cell in each line.

        Returns
        -------
        str
            What :func:`load` takes.

        Examples
        --------
        >>> from quell.leaderboard import Board, Cell
        >>> board = Board([Cell("codel", "cable", "cubic", [1], values={"goodput_bps": [9e6]})])
        >>> board.text().startswith("{")
        True
        """
        head = {
            "schema": 1,
            "round": ROUND,
            "version": quell.__version__,
            "load": LOAD,
            "seeds": len(self.cells[0].seeds),
            "links": {link: vars(run) for link, run in LINKS.items()},
            "senders": SENDERS,
            "goals": {name: goal.metric for name, goal in GOALS.items()},
            "columns": [*COLUMNS, *METRICS],
        }
        lines = [json.dumps(_row(cell), separators=(",", ":")) for cell in self.cells]
        return json.dumps(head, indent=1)[:-2] + ',\n "cells": [\n' + ",\n".join(lines) + "\n]}\n"


# What a line of the JSON has of a cell; after these come the values of each metric.
COLUMNS = ("entry", "link", "sender", "seed", "digest", "refused", "note")


def _row(cell: Cell) -> list[Any]:
    """Write a cell as a row; the first seed stands for all, which follow it."""
    head = [cell.entry, cell.link, cell.sender, cell.seeds[0], cell.digest, cell.refused, cell.note]
    return head + [cell.values.get(metric, []) for metric in METRICS]


def _cell(row: Sequence[Any], seeds: int) -> Cell:
    """Read a row."""
    entry, link, sender, first, digest, refused, note, *values = row
    of = {metric: one for metric, one in zip(METRICS, values, strict=True) if one}
    return Cell(entry, link, sender, list(range(first, first + seeds)), digest, of, refused, note)


def load(path: str | os.PathLike[str] | None = None) -> Board:
    """Read a board.

    Parameters
    ----------
    path : str or os.PathLike, optional
        The file; by default the published board, which the package carries.

    Returns
    -------
    Board
        Its cells.

    Raises
    ------
    ValueError
        If it is not a board, or one of another round, with other seeds and perhaps other runs.

    Examples
    --------
    >>> from quell.leaderboard import load
    >>> len(load().entries())
    51
    """
    file = importlib.resources.files(__package__) / "leaderboard.json" if path is None else Path(path)
    text = file.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
        of = found["schema"], found["round"]
    except (ValueError, KeyError, TypeError):
        message = f"{path}: is not a board; give a file that `python -m quell.leaderboard --out FILE` wrote"
        raise ValueError(message) from None
    if of != (1, ROUND):
        message = f"{path}: round = {of[1]!r}: must be {ROUND!r}; use the table of this version"
        raise ValueError(message)
    return Board([_cell(row, found["seeds"]) for row in found["cells"]])


class Standing(NamedTuple):
    """Where an entry stands on a board, over the links and senders with which it ran.

    Examples
    --------
    >>> from quell.leaderboard import Board, Cell, standing
    >>> board = Board([Cell("codel", "cable", "cubic", [1], values={"goodput_bps": [9e6]})])
    >>> standing(board)[0].goodput_share
    1.0
    """

    entry: str
    # For each goal the mean of the ranks in each replication: the mean over the replications, and the
    # half-width of its 95% interval.
    ranks: dict[str, tuple[float, float | None]]
    # Goodput over the best of the same link and sender, in the mean.
    goodput_share: float
    # The median of the P99 delay over the cells, in seconds, in the mean over the replications.
    delay_s: float
    # In how many of its cells it is on the Pareto front (:func:`front`).
    fronts: int
    cells: int
    # The half-width of the 95% interval of `delay_s`, and in how many of its cells it is :func:`starved`.
    delay_half_s: float | None
    starved: int


def standing(board: Board) -> list[Standing]:
    """Summarize a board.

    Parameters
    ----------
    board : Board
        The cells.

    Returns
    -------
    list of Standing
        One for each entry that ran, in the order of the board.

    Examples
    --------
    >>> from quell.leaderboard import load, standing
    >>> standing(load())[0].entry
    'drop-tail'
    """
    # An entry may have run with fewer seeds than the table.
    seeds = min(len(cell.seeds) for cell in board.cells)
    every: dict[str, dict[str, list[list[float]]]] = {}
    shares: dict[str, list[float]] = {}
    delays: dict[str, list[list[float]]] = {}
    fronts: dict[str, int] = {}
    starving: dict[str, int] = {}
    for cells in board.groups().values():
        ran = [cell for cell in cells if not cell.refused]
        for goal in GOALS:
            each = [ranks(ran, goal, seed) for seed in range(seeds)]
            for cell in ran:
                by_goal = every.setdefault(cell.entry, {})
                by_goal.setdefault(goal, []).append([one[cell.entry] for one in each])
        goodputs = {cell.entry: found[0] for cell in ran if (found := mean(cell.of("goodput_bps")))}
        for entry, goodput in goodputs.items():
            shares.setdefault(entry, []).append(goodput / max(goodputs.values()))
        for cell in ran:
            known = [delay for delay in cell.of("queue_delay_p99_s")[:seeds] if delay is not None]
            if len(known) == seeds:
                delays.setdefault(cell.entry, []).append(known)
        for entry in front(ran):
            fronts[entry] = fronts.get(entry, 0) + 1
        for entry in starved(ran):
            starving[entry] = starving.get(entry, 0) + 1
    standings = []
    for entry, by_goal in every.items():
        # The mean and its interval are of the same numbers. Ranks of means over the seeds would be another
        # quantity: single replications are noisier, so their ranks lie nearer the middle.
        means = {goal: _over_seeds(rows, statistics.fmean) for goal, rows in by_goal.items()}
        count = len(next(iter(by_goal.values())))
        share = statistics.fmean(shares.get(entry, [0.0]))
        delay_s, half = _over_seeds(delays[entry], statistics.median) if entry in delays else (math.inf, None)
        standings.append(
            Standing(entry, means, share, delay_s, fronts.get(entry, 0), count, half, starving.get(entry, 0))
        )
    return standings


def _over_seeds(
    cells: Sequence[Sequence[float]], middle: Callable[[Sequence[float]], float]
) -> tuple[float, float | None]:
    """Summarize the cells for each seed, and return the mean of that with its half-width."""
    of_seeds = [middle(column) for column in zip(*cells, strict=True)]
    found = mean(of_seeds)
    # Nothing is None here.
    return found if found is not None else (math.inf, None)


def run(
    jobs: Iterable[tuple[Entry, str, str]],
    seeds: int = SEEDS,
    threads: int | None = None,
    *,
    quiet: bool = False,
) -> Board:
    """Measure many cells over all cores.

    Parameters
    ----------
    jobs : iterable of (Entry, str, str)
        Entries with a link and a sender each.
    seeds : int, default 3
        How many seeds.
    threads : int, optional
        How many cells at once; by default one per core.
    quiet : bool, default False
        Do not say on standard error how far it is.

    Returns
    -------
    Board
        The cells, in the order of the jobs.

    Examples
    --------
    >>> from quell.leaderboard import Entry, run
    >>> board = run([(Entry("codel"), "cable", "cubic")], seeds=1)  # doctest: +SKIP
    """
    asked = list(jobs)
    with concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        pending = [pool.submit(measure, *job, seeds) for job in asked]
        try:
            for done, _ in enumerate(concurrent.futures.as_completed(pending), 1):
                if not quiet and (done % 50 == 0 or done == len(asked)):
                    print(f"\r{done} of {len(asked)} cells", end="", file=sys.stderr, flush=True)
            cells = [one.result() for one in pending]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if not quiet:
        print(file=sys.stderr)
    return Board(cells)
