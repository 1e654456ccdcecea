"""The command line of the public table: ``python -m quell.leaderboard``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import quell
from quell.leaderboard.board import T95, Board, load, run
from quell.leaderboard.cells import LINKS, SEEDS, SENDERS, Entry, catalog
from quell.leaderboard.pages import page, put, report, write
from quell.leaderboard.program import Program


def entry_of(words: str, settings: Sequence[str]) -> Entry:
    """Find the entry that a command line names.

    Parameters
    ----------
    words : str
        The name of an algorithm of the catalog, or FILE.py:CLASS.
    settings : sequence of str
        Its parameters as KEY=VALUE.

    Returns
    -------
    Entry
        The entry.

    Raises
    ------
    ValueError
        If there is no such algorithm, file or class, or a setting is not of that form.
    """
    parameters = _parameters(settings)
    file, colon, name = words.rpartition(":")
    if not colon:
        known = [algorithm["name"] for algorithm in quell.aqm_list()]
        if words not in known:
            message = f"--entry {words!r}: is not in `quell aqm list`; a class of yours is FILE.py:CLASS"
            raise ValueError(message)
        return Entry(words, parameters)
    path = Path(file)
    if not path.is_file():
        message = f"--entry {words!r}: there is no file {file}"
        raise ValueError(message)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        message = f"--entry {words!r}: {file} is not a Python file; its name ends in .py"
        raise ValueError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    factory = getattr(module, name, None)
    if not (isinstance(factory, type) and issubclass(factory, quell.Aqm)):
        own = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, quell.Aqm)
        ]
        has = ", ".join(own) or "none"
        message = f"--entry {words!r}: {name} is not a subclass of quell.Aqm in {file}; it has {has}"
        raise ValueError(message)
    return Entry(name, parameters, factory, path.read_bytes())


def program_of(command: str, algorithm: str, settings: Sequence[str], update_interval: float | None) -> Entry:
    """Make an entry of a program that answers as ``quell conformance run`` asks.

    Parameters
    ----------
    command : str
        The program and its arguments.
    algorithm : str
        What the header calls it.
    settings : sequence of str
        Its parameters as KEY=VALUE, numbers in SI units.
    update_interval : float or None
        How often it is asked for an update, in seconds.

    Returns
    -------
    Entry
        The entry, whose text has the digest of all that, and of the files that the command names.
    """
    words = shlex.split(command)
    if not words:
        message = "--program: is empty; give a command, such as 'python3 my.py'"
        raise ValueError(message)
    files = [path.read_bytes() for word in words if (path := Path(word)).is_file()]

    # They do not go through the scenario, in which there is no null.
    parameters = _parameters(settings)

    def factory(link: quell.Link) -> Program:
        return Program(
            link,
            command=words,
            algorithm=algorithm,
            parameters=parameters,
            update_interval=update_interval,
        )

    told = json.dumps([command, algorithm, parameters, update_interval], sort_keys=True).encode()
    return Entry(f"{algorithm}-program", {}, factory, b"\n".join([told, *files]))


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE as JSON has it, or as text."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            message = f'--set {setting!r}: is not KEY=VALUE, such as target="10 ms"'
            raise ValueError(message)
        try:
            parameters[key.strip()] = json.loads(value)
        except ValueError:
            parameters[key.strip()] = value.strip()
    return parameters


def _names(given: str, known: Iterable[str], option: str) -> list[str]:
    """Names with commas between them, each of which must be known."""
    found = given.split(",")
    for name in found:
        if name not in known:
            message = f"{option} {name!r}: is none of {', '.join(known)}"
            raise ValueError(message)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, ``python -m quell.leaderboard``.

    Parameters
    ----------
    arguments : sequence of str, optional
        Instead of those of the process.

    Returns
    -------
    int
        The exit code: 0, 2 if what is asked for is invalid, or 130 after Ctrl-C.
    """
    ask = argparse.ArgumentParser(
        prog="python -m quell.leaderboard",
        description="Run every algorithm of the catalog under every sender on every named link, or run one "
        "entry and say where it stands. docs/leaderboard.md describes the table.",
        epilog="Finished replications of the catalog's algorithms are kept in the cache: after Ctrl-C the "
        "same command goes on.",
    )
    known = "an algorithm of the catalog, or a subclass of quell.Aqm; default: the whole catalog"
    ask.add_argument("--entry", metavar="NAME|FILE.py:CLASS", help=known)
    spoken = (
        "a program as the entry, asked as by `quell conformance run`; --entry is the name that it is told"
    )
    ask.add_argument("--program", metavar="COMMAND", help=spoken)
    often = "how often a program is asked for an update; default: never"
    ask.add_argument("--update-interval", metavar="SECONDS", type=float, help=often)
    parameter = "a parameter of the entry; for a program a number in SI units"
    ask.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help=parameter)
    ask.add_argument("--links", default=",".join(LINKS), help="which links, with commas; default: all")
    senders = "which congestion controls, with commas; default: all"
    ask.add_argument("--senders", default=",".join(SENDERS), help=senders)
    ask.add_argument("--seeds", type=int, default=SEEDS, help=f"how many seeds; default: {SEEDS}")
    ask.add_argument("--threads", type=int, help="how many cells at once; default: one per core")
    board = (
        "the table that the entry joins, as --out wrote it; default: the published one, which quell carries"
    )
    ask.add_argument("--board", metavar="FILE", help=board)
    docs = "write the generated part of leaderboard.md and the pages of the links into this folder"
    ask.add_argument("--docs", type=Path, help=docs)
    again = "run nothing: write the pages of --board again"
    ask.add_argument("--rewrite", action="store_true", help=again)
    ask.add_argument("--out", type=Path, help="write the cells that were run as JSON")
    given = ask.parse_args(arguments)
    try:
        return _act(given)
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on with what the cache has", file=sys.stderr)
        return 130
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _act(given: argparse.Namespace) -> int:
    links, senders = _names(given.links, LINKS, "--links"), _names(given.senders, SENDERS, "--senders")
    if not 1 <= given.seeds <= max(T95):
        message = f"--seeds {given.seeds}: must lie in 1 to {max(T95)}"
        raise ValueError(message)
    entry = _entry(given)
    if given.rewrite:
        if entry is not None:
            message = "--rewrite: is of a whole table, which has no --entry; leave out one of the two"
            raise ValueError(message)
        _publish(load(given.board), given.docs)
        return 0
    published = load(given.board) if entry else None
    jobs = [
        (one, link, sender)
        for link in links
        for sender in senders
        for one in ([entry] if entry else catalog())
    ]
    board = run(jobs, given.seeds, given.threads)
    # A program may have no answer; a setting that no link takes is a mistake.
    if entry is not None and given.program is None and all(cell.refused for cell in board.cells):
        message = f"--entry {given.entry}: {board.cells[0].refused}"
        raise ValueError(message)
    if given.out is not None:
        put(given.out, board.text())
    if entry is None or published is None:
        _publish(board, given.docs)
        return 0
    wanted = {(link, sender) for link in links for sender in senders}
    others = [one for one in published.cells if (one.link, one.sender) in wanted and one.entry != entry.text]
    print(report(Board(others + board.cells), entry.text), end="")
    return 0


def _publish(board: Board, docs: Path | None) -> None:
    """Write the pages into a folder, or show the summary."""
    if docs is None:
        print(page(board), end="")
    else:
        write(board, docs)


def _entry(given: argparse.Namespace) -> Entry | None:
    """Find what is to be placed; None for the whole catalog."""
    if given.program is not None:
        return program_of(given.program, given.entry or "entry", given.set, given.update_interval)
    if given.entry is not None:
        return entry_of(given.entry, given.set)
    if given.set:
        message = "--set: is of an entry; name it with --entry"
        raise ValueError(message)
    return None


if __name__ == "__main__":
    sys.exit(main())
