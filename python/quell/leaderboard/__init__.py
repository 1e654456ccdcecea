"""The public table: every algorithm under every sender on every named link.

``python -m quell.leaderboard`` runs all cells and writes the table. With ``--entry`` it runs one algorithm,
of the catalog or a subclass of :class:`quell.Aqm`, and says where it stands in the published table.

A cell is an algorithm with its parameters, a link of ``quell new`` and a congestion control. Its seeds follow
from its own text (:func:`first_seed`), so nobody can choose them.
"""

from quell.leaderboard.board import Board, Standing, front, load, mean, ranks, run, standing, starved
from quell.leaderboard.cells import GOALS, LINKS, SENDERS, Cell, Entry, catalog, command, first_seed, measure
from quell.leaderboard.pages import link_page, page, report, write
from quell.leaderboard.program import Program, ProgramError

__all__ = [
    "GOALS",
    "LINKS",
    "SENDERS",
    "Board",
    "Cell",
    "Entry",
    "Program",
    "ProgramError",
    "Standing",
    "catalog",
    "command",
    "first_seed",
    "front",
    "link_page",
    "load",
    "mean",
    "measure",
    "page",
    "ranks",
    "report",
    "run",
    "standing",
    "starved",
    "write",
]
