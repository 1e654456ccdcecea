"""A cell of the table: what is run, with which seeds, and what is measured."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import quell
from quell.leaderboard.program import SkippedError

LOAD = "bulk"
# A new publication takes a new round, and with it other seeds, which nobody can have tried before.
ROUND = "2026-11"
SEEDS = 3


@dataclass(frozen=True)
class Run:
    """How long a link is simulated, and what else of its scenario is set."""

    duration: str
    warmup: str
    settings: Mapping[str, Any] = field(default_factory=dict)


# Fast links run shorter. Those that change run for a whole course of their changes.
LINKS: Mapping[str, Run] = {
    "cable": Run("30 s", "10 s"),
    "cable-upstream": Run("20 s", "5 s"),
    "dsl": Run("30 s", "10 s"),
    "fiber": Run("10 s", "4 s"),
    "lte": Run("45 s", "5 s"),
    "office": Run("12 s", "4 s"),
    # A thousand round trips; the load itself would let its flows begin within a second.
    "port-10g": Run(
        "300 ms",
        "100 ms",
        {"flows.down.start": {"between": ["0 s", "50 ms"]}, "flows.up.start": {"between": ["0 s", "50 ms"]}},
    ),
    "satellite": Run("90 s", "30 s"),
    "starlink": Run("72 s", "12 s"),
}

# What each congestion control needs beside its name (`quell tcp describe NAME`); the rest is of the dialect.
SENDERS: Mapping[str, Mapping[str, Any]] = {
    "cubic": {"congestion": "cubic"},
    "reno": {"congestion": "reno"},
    "bbr1": {"congestion": "bbr1", "pacing": True},
    "bbr3": {"congestion": "bbr3", "pacing": True},
    "dctcp": {"congestion": "dctcp", "ecn": True, "feedback": "accecn"},
    "prague": {"congestion": "prague", "ecn": True, "feedback": "accecn", "pacing": True},
    "ledbat": {"congestion": "ledbat"},
}

# What the dialect of `quell new` sends by itself.
_DEFAULT_SENDER = {"congestion": "cubic"}

METRICS = ("goodput_bps", "queue_delay_p99_s", "round_trip_time_mean_s", "jain_index")


class Goal(NamedTuple):
    """What the table is sorted by."""

    title: str
    # Metrics of docs/metrics.md; two are their ratio in each replication.
    metric: str
    unit: str
    # What a value in SI units is multiplied by to be shown.
    factor: float
    more_is_better: bool
    # The most that the metric can be; the least is 0.
    most: float = math.inf


# What keeps a queue for each flow; all other algorithms have one queue, or one for each of two lanes.
FLOW_QUEUES = ("fq-codel", "fq-pie", "fq-blue", "sfq", "sfq-red", "cake")

GOALS: Mapping[str, Goal] = {
    "delay": Goal("Low delay", "queue_delay_p99_s", "ms", 1e3, False),
    "throughput": Goal("Throughput", "goodput_bps", "Mbit/s", 1e-6, True),
    "fairness": Goal("Fairness", "jain_index", "", 1, True, 1),
    "balance": Goal("Balance", "goodput_bps/round_trip_time_mean_s", "Mbit/s/ms", 1e-9, True),
}


@dataclass(frozen=True)
class Entry:
    """An algorithm with its parameters.

    Parameters
    ----------
    name : str
        Its name in the catalog, or that of a class.
    parameters : dict of str to value, optional
        What is set of its parameters; all others have their defaults.
    factory : callable, optional
        The subclass of :class:`quell.Aqm`, for one that is not in the catalog.
    source : bytes, default b""
        The file that the class is in: the first 16 digits of its SHA-256 are a part of the entry's text.

    Examples
    --------
    >>> from quell.leaderboard import Entry
    >>> Entry("codel", {"target": "10 ms"}).text
    'codel target="10 ms"'
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[..., Any] | None = None
    source: bytes = b""

    @property
    def text(self) -> str:
        """str: What names it: the algorithm, what is set of its parameters, the digest of its files."""
        words = [self.name, *(f"{key}={_toml(self.parameters[key])}" for key in sorted(self.parameters))]
        return " ".join([*words, hashlib.sha256(self.source).hexdigest()[:16]] if self.factory else words)


@dataclass
class Cell:
    """An entry on a link with a sender, and what was measured: for each metric a number for each seed.

    Examples
    --------
    >>> from quell.leaderboard import Cell
    >>> cell = Cell("codel", "cable", "cubic", [1, 2], values={"utilization": [0.9, 0.8]})
    >>> cell.of("utilization")
    [0.9, 0.8]
    """

    entry: str
    link: str
    sender: str
    seeds: list[int]
    # That of `quell run`, of all replications: its first 16 digits.
    digest: str = ""
    values: dict[str, list[float | None]] = field(default_factory=dict)
    # Why there are no values, or what to know about them.
    refused: str = ""
    note: str = ""

    def of(self, metric: str) -> list[float | None]:
        """Return a metric of each replication, or the ratio of two.

        Parameters
        ----------
        metric : str
            A name, or two with a slash between them.

        Returns
        -------
        list of float or None
            One for each seed; None where it does not apply.

        Examples
        --------
        >>> from quell.leaderboard import Cell
        >>> values = {"goodput_bps": [8.0, 9.0], "utilization": [0.8, 0.9]}
        >>> Cell("codel", "cable", "cubic", [1, 2], values=values).of("goodput_bps/utilization")
        [10.0, 10.0]
        """
        above, _, below = metric.partition("/")
        values = self.values.get(above, [None] * len(self.seeds))
        if not below:
            return values
        divisors = self.values.get(below, [None] * len(self.seeds))
        return [a / b if a is not None and b else None for a, b in zip(values, divisors, strict=True)]


def catalog() -> list[Entry]:
    """List every algorithm of the catalog with its defaults.

    Returns
    -------
    list of Entry
        In the catalog's order.

    Examples
    --------
    >>> from quell.leaderboard import catalog
    >>> catalog()[0].text
    'drop-tail'
    """
    return [Entry(algorithm["name"]) for algorithm in quell.aqm_list()]


def first_seed(entry: Entry, link: str, sender: str) -> int:
    """Compute the first seed of a cell; the others follow it, one by one.

    Parameters
    ----------
    entry : Entry
        The algorithm and its parameters.
    link : str
        The name of the link.
    sender : str
        The name of the congestion control.

    Returns
    -------
    int
        The first four bytes, the most significant one first, of the SHA-256 of the round, the entry's text,
        the link and the sender, with a line feed between them.

    Examples
    --------
    >>> from quell.leaderboard import Entry, first_seed
    >>> first_seed(Entry("codel"), "cable", "cubic")
    3727094174
    """
    text = "\n".join([ROUND, entry.text, link, sender])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _toml(value: Any) -> str:
    """Write a value as TOML does in a line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _settings(link: str, sender: str) -> dict[str, Any]:
    """Return what a cell sets of the scenario of `quell new`, beside the duration."""
    tcp = SENDERS[sender]
    groups = {"flows.down.tcp": tcp, "flows.up.tcp": tcp}
    return {"warmup": LINKS[link].warmup, **LINKS[link].settings, **groups}


def command(entry: Entry, link: str, sender: str, seeds: int = SEEDS) -> str:
    """Write the command that computes a cell again, to the last digit.

    Parameters
    ----------
    entry : Entry
        The algorithm and its parameters, of the catalog.
    link : str
        The name of the link.
    sender : str
        The name of the congestion control.
    seeds : int, default 3
        How many seeds.

    Returns
    -------
    str
        A command for a shell.

    Examples
    --------
    >>> from quell.leaderboard import Entry, command
    >>> command(Entry("codel"), "cable", "cubic").split()[0]
    'quell'
    """
    first = first_seed(entry, link, sender)
    scenario = quell.new(LOAD, link=link, aqm=["drop-tail"], duration=LINKS[link].duration)
    # What the scenario says already is left out: the command would note that it has no effect.
    sets = {
        key: value
        for key, value in _settings(link, sender).items()
        if value not in (scenario.get(key), _DEFAULT_SENDER)
    }
    sets |= {f"aqm.{entry.name}.{key}": entry.parameters[key] for key in entry.parameters}
    # The scenario names drop-tail alone: parameters that a link has for an algorithm do not count.
    new = f"quell new {LOAD} --link {link} --aqm drop-tail --duration {shlex.quote(LINKS[link].duration)}"
    options = [f"--set {shlex.quote(f'{key}={_plain(value)}')}" for key, value in sets.items()]
    options.append(f"--out results/{link}-{sender}-{entry.name}")
    return " ".join([f"{new} | quell run - --aqm {entry.name} --seeds {first}-{first + seeds - 1}", *options])


def _plain(value: Any) -> str:
    """Write a value as `--set` takes it: text without quotes."""
    return value if isinstance(value, str) else _toml(value)


def measure(entry: Entry, link: str, sender: str, seeds: int = SEEDS) -> Cell:
    """Run the replications of a cell, or take them from the cache.

    Parameters
    ----------
    entry : Entry
        The algorithm and its parameters.
    link : str
        The name of the link.
    sender : str
        The name of the congestion control.
    seeds : int, default 3
        How many seeds.

    Returns
    -------
    Cell
        What was measured, or why nothing was.

    Examples
    --------
    >>> from quell.leaderboard import Entry, measure
    >>> cell = measure(Entry("codel"), "cable", "cubic", seeds=2)  # doctest: +SKIP
    """
    first = first_seed(entry, link, sender)
    cell = Cell(entry.text, link, sender, list(range(first, first + seeds)))
    scenario = quell.new(LOAD, link=link, aqm=["drop-tail"], duration=LINKS[link].duration)
    scenario["aqm"] = [{"algorithm": entry.name, **entry.parameters}]
    aqms = {entry.name: entry.factory} if entry.factory else None
    try:
        results = quell.run(
            scenario, seeds=cell.seeds, overrides=_settings(link, sender), threads=1, series="none", aqms=aqms
        )
    except quell.ScenarioError as error:
        cell.refused = str(error).removeprefix("<dict>: ")
        return cell
    except SkippedError as why:
        cell.refused = f"the program skips it: {why}"
        return cell
    cell.digest = results.digest[:16]
    columns = results.metrics
    rows = [
        row
        for row, (at, scope, segment) in enumerate(
            zip(columns["link"], columns["scope"], columns["segment"], strict=True)
        )
        if (at, scope, segment) == ("bottleneck", "all", None)
    ]
    for metric in METRICS:
        values = columns[metric]
        cell.values[metric] = [None if values[row] is None else float(f"{values[row]:.5g}") for row in rows]
    if any("none come from" in note for note in results.notes):
        cell.note = "the algorithm marks nothing, so only losses reduce the windows"
    return cell
