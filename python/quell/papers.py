"""Reproduce the documents' experiments and judge them: ``quell reproduce`` for Python."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from quell._quell import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Claim", "Number", "Verdicts", "reproduce"]

# The command ends with this after Ctrl-C, and with this after a wrong argument.
_INTERRUPTED = 130
_BAD_INPUT = 2

_COMMAND = "from quell._cli import main; raise SystemExit(main())"


@dataclasses.dataclass(frozen=True)
class Number:
    """A printed number, and what Quell found.

    Attributes
    ----------
    id : str
        Its id in ``papers/cells.csv``.
    experiment : str
        The experiment that answers it.
    reading : str
        The reading that is judged; empty for a computed number.
    algorithm : str
        The label of the algorithm in the scenario.
    unit : str
        The unit of the numbers.
    low, high : float
        What is printed; they differ only for a range.
    mean : float or None
        The mean of the runs; none if nothing was run.
    half_width : float or None
        Half of its 95% interval.
    seeds : int
        How many seeds it comes from.
    prediction : tuple of float or None
        Where 95% of what was printed lies, if our runs are like the document's.
    band : tuple of float
        The interval in which the mean agrees.
    place : float or None
        Where the mean lies in it: -1 at its lower end, 1 at its upper.
    knife_edge : bool
        Whether the 95% interval of the mean crosses an end of the band.
    idle_share : bool
        Whether it is a utilization that is judged by the share of time in which the link is idle.
    guess : float or None
        What a model without a simulation says: a full link, and a queue at its target.
    free : bool
        Whether that prediction is in the band.
    withheld : bool
        Whether it agrees but does not count, because the reading was chosen by it, or because it does not
        agree under a rival reading.
    off_middle : bool
        Whether it is a range of which only the middle is not where our runs would have it.
    elsewhere : list of int
        For a number that lies outside: how many other readings that were not fitted were run, how many of
        them bring the mean into its band, and how many into the band of its mirror image around what was
        found.
    ns2 : float or None
        The mean of ns-2's runs.
    ns2_runs : int or None
        How many runs those are.
    ns2_reading : str or None
        The reading they belong to, if the file names it.
    verdict : str
        ``agrees``, ``inside``, ``explained``, ``fitted``, ``refuted``, ``open`` or ``missing``.
    why : str
        The mechanism, or what was tried; may be empty.

    Examples
    --------
    >>> import quell
    >>> found = quell.reproduce("vrc-3.2")  # doctest: +SKIP
    >>> found.numbers[0].verdict  # doctest: +SKIP
    'agrees'
    """

    id: str
    experiment: str
    reading: str
    algorithm: str
    unit: str
    low: float
    high: float
    mean: float | None
    half_width: float | None
    seeds: int
    prediction: tuple[float, float] | None
    band: tuple[float, float]
    place: float | None
    knife_edge: bool
    idle_share: bool
    guess: float | None
    free: bool
    withheld: bool
    off_middle: bool
    elsewhere: list[int]
    ns2: float | None
    ns2_runs: int | None
    ns2_reading: str | None
    verdict: str
    why: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim and the verdict on it.

    Attributes
    ----------
    experiment : str
        The experiment.
    name : str
        Its name in the experiment's file.
    says : str
        The claim.
    test : str
        The test of it.
    found : str
        What was found.
    verdict : str
        ``holds``, ``fails``, ``refuted``, ``undecided`` or ``missing``.
    because : str or None
        Why it fails.
    why : str
        What refutes it, or why it is not refuted; may be empty.
    ours : bool
        Whether it is Quell's own claim, which does not count in the score.

    Examples
    --------
    >>> import quell
    >>> found = quell.reproduce("vrc-3")  # doctest: +SKIP
    >>> found.claims[0].verdict  # doctest: +SKIP
    'holds'
    """

    experiment: str
    name: str
    says: str
    test: str
    found: str
    verdict: str
    because: str | None
    why: str
    ours: bool


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """The verdicts on printed numbers and claims.

    Attributes
    ----------
    numbers : list of Number
        The printed numbers.
    claims : list of Claim
        The claims.

    Examples
    --------
    >>> import quell
    >>> found = quell.reproduce("vrc-3.2")  # doctest: +SKIP
    >>> len(found.numbers)  # doctest: +SKIP
    2
    """

    numbers: list[Number]
    claims: list[Claim]

    def score(self) -> dict[str, int]:
        """Count how many numbers and claims of the documents have each verdict.

        Returns
        -------
        dict of str to int
            By verdict; verdicts that nothing has are left out.

        Examples
        --------
        >>> import quell
        >>> found = quell.reproduce("vrc-3.2")  # doctest: +SKIP
        >>> found.score()  # doctest: +SKIP
        {'agrees': 2}
        """
        verdicts = [number.verdict for number in self.numbers] + [
            claim.verdict for claim in self.claims if not claim.ours
        ]
        return dict(Counter(verdicts))

    def tally(self) -> dict[str, int]:
        """Count what stands behind the score.

        Returns
        -------
        dict of str to int
            ``numbers``; ``come_out``, those that agree or are inside; ``withheld``, those that would,
            but chose their reading; ``edges``, those that agree, but might not with other seeds;
            ``free``, those that a model without a simulation gets; ``free_come_out``, those of them
            that agree or are inside; ``computed``, those that are of formulas of a document, and
            ``computed_come_out``; ``off_middle``, ranges that lie outside by their middle alone.

        Examples
        --------
        >>> import quell
        >>> found = quell.reproduce("vrc-3.2")  # doctest: +SKIP
        >>> found.tally()["computed_come_out"]  # doctest: +SKIP
        2
        """
        out = [number.verdict in ("agrees", "inside") for number in self.numbers]
        free = [number.free for number in self.numbers]
        computed = [not number.reading for number in self.numbers]
        edges = [number.verdict == "agrees" and number.knife_edge for number in self.numbers]
        return {
            "numbers": len(self.numbers),
            "come_out": sum(out),
            "withheld": sum(number.withheld for number in self.numbers),
            "edges": sum(edges),
            "free": sum(free),
            "free_come_out": sum(a and b for a, b in zip(out, free, strict=True)),
            "computed": sum(computed),
            "computed_come_out": sum(a and b for a, b in zip(out, computed, strict=True)),
            "off_middle": sum(number.off_middle for number in self.numbers),
        }

    def table(self) -> dict[str, list[Any]]:
        """Give the numbers as columns, which ``pandas.DataFrame`` and ``polars.DataFrame`` take.

        Returns
        -------
        dict of str to list
            A column for each attribute of :class:`Number`.

        Examples
        --------
        >>> import pandas, quell
        >>> frame = pandas.DataFrame(quell.reproduce("vrc-3.2").table())  # doctest: +SKIP
        """
        names = [field.name for field in dataclasses.fields(Number)]
        return {name: [getattr(number, name) for number in self.numbers] for name in names}


def reproduce(
    names: str | Iterable[str] | None = None,
    *,
    papers: str | os.PathLike[str] = "papers",
    quick: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Verdicts:
    """Run experiments of the published documents and judge the results.

    Parameters
    ----------
    names : str or iterable of str, optional
        Documents (``"vrc"``), experiments (``"vrc-b2"``) or tables (``"vrc/2"``), at least one;
        default: all, about an hour on two cores if the cache has nothing.
    papers : str or os.PathLike, default "papers"
        The folder of documents, from Quell's source tree.
    quick : bool, default False
        One seed, and only the readings that are judged.
    seeds : int, optional
        The most seeds; default: as many as each experiment says.
    threads : int, optional
        Number of threads; default: one per core.
    cache : bool, str or os.PathLike, default True
        As for :func:`quell.run`.

    Returns
    -------
    Verdicts
        The verdicts on the printed numbers and on the claims.

    Raises
    ------
    ValueError
        If the document, experiment or table does not exist, ``names`` is empty, or files break a rule.
    RunError
        If a replication failed.
    KeyboardInterrupt
        If it was interrupted; what is finished is in the cache.

    Examples
    --------
    >>> import quell
    >>> quell.reproduce("vrc-3.2").score()  # doctest: +SKIP
    {'agrees': 2}
    """
    words = [names] if isinstance(names, str) else list(names or ())
    if names is not None and not words:
        message = "names is empty: name documents, experiments or tables, or leave it out to run all"
        raise ValueError(message)
    words += ["--papers", os.fspath(papers), "--format", "json", "--quiet"]
    words += ["--quick"] if quick else []
    words += [] if seeds is None else ["--seeds", str(seeds)]
    words += [] if threads is None else ["--threads", str(threads)]
    if cache is False:
        words.append("--no-cache")
    elif cache is not True:
        words += ["--cache", os.fspath(cache)]
    # A program of its own: Ctrl-C ends it as it ends the command.
    command = [sys.executable, "-c", _COMMAND, "reproduce", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        message = ended.stderr.strip().removeprefix("error: ")
        if ended.returncode == _INTERRUPTED:
            raise KeyboardInterrupt(message)
        raise (ValueError if ended.returncode == _BAD_INPUT else RunError)(message)
    found = json.loads(ended.stdout)
    return Verdicts(
        numbers=[Number(**_number(cell)) for cell in found["cells"]],
        claims=[Claim(**claim) for claim in found["claims"]],
    )


def _number(cell: dict[str, Any]) -> dict[str, Any]:
    prediction = cell["prediction"]
    return cell | {
        "prediction": None if prediction is None else tuple(prediction),
        "band": tuple(cell["band"]),
    }
