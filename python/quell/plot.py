"""Plots of results, with matplotlib (``pip install quell[plot]``).

Every function takes :class:`quell.Results`, or loops of :mod:`quell.theory`, draws into ``ax`` or a new
figure, and returns the axes, so you can change titles, limits and styles. Times are in seconds, delays in
milliseconds, rates in Mbit/s. ``results.plot.queue()`` is ``queue(results)``.
A panel for each algorithm, with common axes:

>>> _, axes = plt.subplots(2, 3, sharex=True, sharey=True)  # doctest: +SKIP
>>> for name, ax in zip(results.algorithms, axes.flat):  # doctest: +SKIP
...     results.plot.queue(algorithms=[name], ax=ax)
"""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from quell._quell import Columns, Loop, Results

__all__ = [
    "Plots",
    "bode",
    "completion_cdf",
    "delay",
    "delay_cdf",
    "delay_goodput",
    "drops",
    "flow_goodput",
    "flow_trace",
    "internals",
    "jain",
    "marks",
    "metric",
    "nyquist",
    "queue",
    "queue_cdf",
    "queue_pdf",
    "slowdown_cdf",
    "throughput",
]

# For loops, which need not be of results: Okabe and Ito's colors, which people who see colors differently can
# tell apart.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", ":", "-.")
_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "down": "v",
    "pentagon": "p",
    "plus": "P",
    "cross": "X",
}


_P = ParamSpec("_P")
_R = TypeVar("_R")


# The parameters that plots share, as their documentation describes them.
_SHARED = """
results : Results
    What :func:`quell.run` returned.
algorithms : sequence of str, optional
    Which algorithms; by default all.
class_ : str, optional
    Which traffic class; by default all.
seed : int, optional
    Which replication; by default the first.
point : int, default 0
    Which point of a sweep.
link : str, optional
    Which observed link; by default the first.
scope : str, default "all"
    "all", "data" (all but acknowledgments) or a class.
ax : matplotlib.axes.Axes, optional
    Where to draw; by default a new figure.
"""


def _documented(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """Complete the documentation of a plot: the parameters that plots share, and what is refused."""
    if not draw.__doc__:  # Python was told to leave it out.
        return draw
    parameters = list(inspect.signature(draw).parameters)
    about, *sections = re.split(r"^(\w+)\n-+\n", inspect.cleandoc(draw.__doc__), flags=re.MULTILINE)
    parts = dict(zip(sections[::2], sections[1::2], strict=True))
    entries = re.split(r"\n(?=\w)", f"{_SHARED}{parts.get('Parameters', '')}")
    known = {entry.split(" ")[0]: entry.rstrip() for entry in entries}
    parts["Parameters"] = "\n".join(known[name] for name in parameters)
    if "Raises" not in parts:
        *some, last = (p.rstrip("_").replace("algorithms", "algorithm") for p in parameters[1:-1])
        parts["Raises"] = f"ValueError\n    If there is no such {', '.join(some)} or {last}."
    order = ("Parameters", "Returns", "Raises", "Examples")
    texts = (f"{name}\n{'-' * len(name)}\n{parts[name].rstrip()}" for name in order if name in parts)
    draw.__doc__ = "\n\n".join([about.rstrip(), *texts])
    return draw


def _of(draw: Callable[Concatenate[Results, _P], _R]) -> Callable[Concatenate[Plots, _P], _R]:
    """Make a method of :class:`Plots` from a function of results."""

    @functools.wraps(draw)
    def method(plots: Plots, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return draw(plots.results, *args, **kwargs)

    return method


@_documented
def queue(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the queue over time: its mean over each step, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in packets.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.queue(results)
    """
    view = _View(results, point, link, algorithms)
    seed = view.seed(seed)
    series = _Rows(results.series, point=point, link=view.link, seed=seed)
    ax = _axes(ax)
    for name, style in view.styles():
        rows = series.of(algorithm=name)
        ax.plot(rows["time_s"], rows["queue_mean_packets"], label=name, linewidth=1.2, **style)
    _mark_times(ax, view.info)
    ax.set(xlabel="time (s)", ylabel="queue (packets)", ylim=(0, None))
    return _finish(ax)


@_documented
def flow_trace(
    results: Results,
    column: str = "cwnd_packets",
    *,
    algorithms: Sequence[str] | None = None,
    flows: Sequence[int] | None = None,
    seed: int | None = None,
    point: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot a trace of senders over time, one line per flow, from ``run(..., trace="flows")``.

    Parameters
    ----------
    column : str, default "cwnd_packets"
        Which column of ``results.trace("flows")``, such as "srtt_s" or "in_flight_packets".
    flows : sequence of int, optional
        Which flows, by number; by default the first four that were traced.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in the unit that ends the column's name.

    Raises
    ------
    ValueError
        If the column, algorithm, flow, seed or point does not exist.
    OSError
        If the results have no trace of flows.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    >>> results = quell.run(net, seeds=1, overrides={"duration": "10 s", "warmup": "2 s"}, trace=["flows"])
    >>> ax = quell.plot.flow_trace(results, "srtt_s")
    """
    view = _View(results, point, None, algorithms)
    trace = results.trace("flows")
    if column not in trace or column in ("algorithm", "group", "phase"):
        numbers = [name for name in trace.column_names if name not in ("algorithm", "group", "phase")]
        raise ValueError(f"column = {column!r}: there are {', '.join(numbers)}")
    rows = _Rows(trace, point=point, seed=view.seed(seed))
    known = rows.distinct("flow")
    chosen = known[:4] if flows is None else list(flows)
    for flow in chosen:
        if flow not in known:
            raise ValueError(f"flow = {flow}: there are {', '.join(map(str, known))}")
    ax = _axes(ax)
    for name, style in view.styles():
        for i, flow in enumerate(chosen):
            of = rows.of(algorithm=name, flow=flow)
            time, values = of["time_s"], np.asarray(of[column], dtype=float)
            line = {**style, "linestyle": _LINES[i % len(_LINES)]}
            line |= {"label": f"{name}, flow {flow}", "linewidth": 1.0, "drawstyle": "steps-post"}
            ax.plot(time, values, **line)
    _mark_times(ax, view.info)
    words = column.split("_")
    unit = {"packets": "packets", "bytes": "B", "s": "s", "bps": "bit/s"}.get(words[-1])
    label = f"{' '.join(words[:-1])} ({unit})" if unit else " ".join(words)
    ax.set(xlabel="time (s)", ylabel=label, ylim=(0, None))
    return _finish(ax)


@_documented
def delay(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the queueing delay over time: its mean over each step, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in milliseconds.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.delay(results)
    """
    return _over_time("delay", _View(results, point, link, algorithms), seed, ax)


@_documented
def throughput(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    class_: str | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the throughput over time, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in the unit that fits.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.throughput(results)
    """
    return _over_time("throughput", _View(results, point, link, algorithms), seed, ax, class_ or "all")


@_documented
def drops(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the packets dropped per second over time, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in packets per second.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.drops(results)
    """
    return _over_time("drops", _View(results, point, link, algorithms), seed, ax)


@_documented
def marks(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the packets marked per second over time, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y in packets per second.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.marks(results)
    """
    return _over_time("marks", _View(results, point, link, algorithms), seed, ax)


@_documented
def jain(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot Jain's fairness index of the bulk flows' goodputs over time, one line per algorithm.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in seconds, y from 0 to 1.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.jain(results)
    """
    ax = _over_time("jain", _View(results, point, link, algorithms), seed, ax)
    ax.set(ylim=(0, 1.05))
    return ax


@_documented
def queue_cdf(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the distribution function of the queue over the measured window, the mean over the seeds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in packets, y the share of time with no more.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.queue_cdf(results)
    """
    ax = _distribution("queue-cdf", _View(results, point, link, algorithms), ax)
    ax.set_ylim(0, 1.01)
    return ax


@_documented
def queue_pdf(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the density of the queue over the measured window, the mean over the seeds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in packets, y the share of time per packet.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.queue_pdf(results)
    """
    return _distribution("queue-pdf", _View(results, point, link, algorithms), ax)


@_documented
def delay_cdf(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    point: int = 0,
    link: str | None = None,
    scope: str = "all",
    ax: Axes | None = None,
) -> Axes:
    """Plot the distribution function of the queueing delay, the mean over the seeds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in milliseconds, y the share of packets that waited no longer.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.delay_cdf(results)
    """
    view = _View(results, point, link, algorithms)
    delays = _Rows(results.delays, point=point, link=view.link, scope=scope)
    if not len(delays):
        raise ValueError(f"scope = {scope!r}: has no delay distribution")
    ax = _axes(ax)
    longest = max(delays["queue_delay_s"])
    grid = np.linspace(0, longest, 500)
    for name, style in view.styles():
        rows = delays.of(algorithm=name)
        curves = []
        for seed in rows.distinct("seed"):
            one = rows.of(seed=seed)
            # The share of packets up to a delay: that of the last step at or before it.
            before = np.searchsorted(one["queue_delay_s"], grid, side="right") - 1
            share = np.where(before >= 0, one["cumulative_probability"][np.maximum(before, 0)], 0.0)
            curves.append(share)
        if curves:
            ax.plot(1e3 * grid, np.mean(curves, axis=0), label=name, linewidth=1.5, **style)
    ax.set(xlabel="queueing delay (ms)", ylabel="share of packets", xlim=(0, None), ylim=(0, 1.01))
    return _finish(ax)


@_documented
def completion_cdf(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    point: int = 0,
    link: str | None = None,
    scope: str = "all",
    ax: Axes | None = None,
) -> Axes:
    """Plot the distribution function of the completion times of transfers, the mean over the seeds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in the unit that fits, y the share of transfers with no more.

    Examples
    --------
    >>> import quell
    >>> web = quell.new("web", link="dsl", aqm=["codel", "fq-codel"], duration="20 s")
    >>> results = quell.run(web, seeds=1)
    >>> ax = quell.plot.completion_cdf(results)
    """
    return _of_transfers("completion-cdf", _View(results, point, link, algorithms), scope, ax)


@_documented
def slowdown_cdf(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    point: int = 0,
    link: str | None = None,
    scope: str = "all",
    ax: Axes | None = None,
) -> Axes:
    """Plot the distribution function of the slowdowns of transfers, the mean over the seeds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x is the slowdown, y the share of transfers with no more.

    Examples
    --------
    >>> import quell
    >>> web = quell.new("web", link="dsl", aqm=["codel", "fq-codel"], duration="20 s")
    >>> results = quell.run(web, seeds=1)
    >>> ax = quell.plot.slowdown_cdf(results)
    """
    return _of_transfers("slowdown-cdf", _View(results, point, link, algorithms), scope, ax)


@_documented
def delay_goodput(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    percentile: int | None = None,
    point: int = 0,
    link: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot delay against goodput: one mark per algorithm, with 95% intervals over the seeds.

    Better algorithms lie further up and to the left.

    Parameters
    ----------
    percentile : {50, 95, 99}, optional
        Which percentile of the delay; by default its mean.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x in milliseconds, y in Mbit/s.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.delay_goodput(results)
    """
    names = {None: "mean", 50: "p50", 95: "p95", 99: "p99"}
    if percentile not in names:
        raise ValueError(f"percentile = {percentile!r}: must be 50, 95 or 99")
    view = _View(results, point, link, algorithms)
    delay = f"queue_delay_{names[percentile]}_s"
    table = _Rows(results.table([delay, "goodput_bps"], point=point, link=view.link))
    ax = _axes(ax)
    for name, style in view.styles():
        x, y = (table.of(algorithm=name, metric=m) for m in (delay, "goodput_bps"))
        if not len(x) or not len(y):
            continue
        # A single seed has no interval, and neither delay nor goodput is below nothing.
        x_error, y_error = (
            np.array([np.minimum(half, rows["mean"]), half])
            for rows, half in ((rows, np.nan_to_num(rows["half_width"])) for rows in (x, y))
        )
        ax.errorbar(
            1e3 * x["mean"],
            1e-6 * y["mean"],
            xerr=1e3 * x_error,
            yerr=1e-6 * y_error,
            label=name,
            color=style["color"],
            marker=view.marker(name),
            markersize=7,
            capsize=3,
            linestyle="none",
        )
    words = "mean queueing delay" if percentile is None else f"P{percentile} of the queueing delay"
    ax.set(xlabel=f"{words} (ms)", ylabel="goodput (Mbit/s)", xlim=(0, None))
    ax.margins(y=0.2)
    return _finish(ax)


@_documented
def internals(
    results: Results,
    algorithm: str | None = None,
    *,
    seed: int | None = None,
    point: int = 0,
    link: str | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Plot the internal signals of an algorithm over time, one below the other.

    Parameters
    ----------
    algorithm : str, optional
        Its label; by default the first that has internal signals.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, one per signal; by default a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        One per signal; x in seconds, y in the signal's unit.

    Raises
    ------
    ValueError
        If the algorithm, seed, point or link does not exist, if the algorithm has no internal signals, or
        if there are fewer ``axes`` than signals.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> axes = quell.plot.internals(results, "pie")
    """
    view = _View(results, point, link, None if algorithm is None else [algorithm])
    seed = view.seed(seed)
    rows = _Rows(results.internals, point=point, link=view.link, seed=seed)
    with_signals = [a for a in view.algorithms if len(rows.of(algorithm=a))]
    if not with_signals:
        raise ValueError(f"no internal signals of {', '.join(view.algorithms)} were recorded")
    name = with_signals[0]
    rows = rows.of(algorithm=name)
    signals = rows.distinct("signal")
    if axes is None:
        _, grid = plt.subplots(
            len(signals),
            sharex=True,
            squeeze=False,
            figsize=(7, 1 + 1.6 * len(signals)),
            layout="constrained",
        )
        axes = list(grid[:, 0])
    if len(axes) < len(signals):
        raise ValueError(f"{name} has {len(signals)} signals ({', '.join(signals)}); axes has {len(axes)}")
    color = results.styles[name]["color"]
    for ax, signal in zip(axes, signals, strict=False):
        one = rows.of(signal=signal)
        ax.plot(one["time_s"], one["value"], color=color, linewidth=1.2)
        unit = one.distinct("unit")[0]
        ax.set_ylabel(signal if unit == "1" else f"{signal} ({unit})")
        _mark_times(ax, view.info)
        _frame(ax)
    axes[0].set_title(f"{name}, seed {seed}", loc="left", fontsize="medium")
    axes[len(signals) - 1].set_xlabel("time (s)")
    return list(axes[: len(signals)])


@_documented
def flow_goodput(
    results: Results,
    *,
    algorithms: Sequence[str] | None = None,
    class_: str | None = None,
    seed: int | None = None,
    point: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot the goodput of every flow, sorted, one line per algorithm; a flat line is fair.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x is the rank of the flow, y its goodput in Mbit/s.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = quell.plot.flow_goodput(results)
    """
    view = _View(results, point, None, algorithms)
    seed = view.seed(seed)
    flows = _Rows(results.flows, point=point, seed=seed)
    if class_ is not None:
        classes = flows.distinct("class")
        if class_ not in classes:
            raise ValueError(f"class_ = {class_!r}: there are {', '.join(classes)}")
        flows = flows.of(**{"class": class_})
    ax = _axes(ax)
    for name, style in view.styles():
        goodput = np.sort(1e-6 * flows.of(algorithm=name)["goodput_bps"])
        rank = np.arange(1, len(goodput) + 1)
        ax.plot(rank, goodput, label=name, marker=".", markersize=4, linewidth=1.2, **style)
    ax.set(xlabel="flow, from the slowest", ylabel="goodput (Mbit/s)", ylim=(0, None))
    return _finish(ax)


@_documented
def metric(
    results: Results,
    name: str = "utilization",
    *,
    over: str | None = None,
    by: str | None = None,
    algorithms: Sequence[str] | None = None,
    scope: str = "all",
    point: int = 0,
    link: str | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Plot a metric over a parameter of a sweep, with 95% intervals, one line per algorithm.

    For a single point, there is one bar per algorithm. Intervals are clipped to the metric's possible
    values. The axis is logarithmic if the values have equal ratios; values that are not numbers, such as
    loss recoveries, are categories.

    Parameters
    ----------
    name : str, default "utilization"
        The metric (:func:`quell.metric_list`); also ``"goodput_bps[ftp]"`` of a class, ``"internal:p"`` of an
        internal signal, or the ratio of two.
    over : str, optional
        The swept field on the axis, or "segment", "size" (of transfers), "link" or "algorithm" to compare
        those within the point; by default the first field that varies, numbers before names, or else the
        algorithms.
    by : str, optional
        The swept field that gets one panel per value; by default the next field that varies, if any.
    point : int, default 0
        The point that sets the other fields, in a sweep over more than two.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, one per panel; by default a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        One per panel; x in the field's unit, y in the metric's.

    Raises
    ------
    ValueError
        If the metric, field, algorithm, scope, point or link does not exist, if nothing varies, or if there
        are fewer ``axes`` than panels.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> axes = quell.plot.metric(results, "queue_delay_p99_s")
    """
    view = _View(results, point, link, algorithms)
    chart = results._chart(
        "metric",
        point=point,
        link=link,
        algorithms=view.algorithms if algorithms is not None else None,
        scope=scope,
        metric=name,
        over=over,
        by=by,
    )
    panels = chart["panels"]
    if axes is None:
        columns = min(len(panels), 3)
        rows = -(-len(panels) // columns)
        _, grid = plt.subplots(
            rows,
            columns,
            sharex=True,
            sharey=True,
            squeeze=False,
            figsize=(7 if columns == 1 else 3.6 * columns, 4 if rows == 1 else 3 * rows),
            layout="constrained",
        )
        for ax in grid.flat[len(panels) :]:
            ax.set_visible(False)
        axes = list(grid.flat)
    if len(axes) < len(panels):
        raise ValueError(f"{chart['panel_key']} has {len(panels)} values; axes has {len(axes)}")
    axes = list(axes[: len(panels)])
    for i, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        _draw(chart, ax, i)
        if len(panels) > 1:
            letter = f"({chr(ord('a') + i)}) " if i < 26 else ""  # noqa: PLR2004
            ax.set_title(f"{letter}{chart['panel_key']} = {panel['title']}", loc="left", fontsize="medium")
        _frame(ax)
        ax.label_outer()
    # One legend: the panels have the same lines.
    _finish(axes[min(2, len(axes) - 1)])
    return axes


class Plots:
    """The figures of the report for some results: ``results.plot.queue()`` is ``quell.plot.queue(results)``.

    Parameters
    ----------
    results : Results
        What :func:`quell.run` returned.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> ax = results.plot.queue()
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    queue = _of(queue)
    delay = _of(delay)
    throughput = _of(throughput)
    drops = _of(drops)
    marks = _of(marks)
    jain = _of(jain)
    internals = _of(internals)
    queue_cdf = _of(queue_cdf)
    queue_pdf = _of(queue_pdf)
    delay_cdf = _of(delay_cdf)
    completion_cdf = _of(completion_cdf)
    slowdown_cdf = _of(slowdown_cdf)
    delay_goodput = _of(delay_goodput)
    flow_goodput = _of(flow_goodput)
    flow_trace = _of(flow_trace)
    metric = _of(metric)


def bode(loops: Loop | Mapping[str, Loop], *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot the gain and the phase of open loops over the frequency, with the phase margins marked.

    Parameters
    ----------
    loops : Loop or dict of str to Loop
        One loop, or several with their labels.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw: two, for the gain and for the phase; by default a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        The axes; x in rad/s, y in dB and in degrees.

    Raises
    ------
    ValueError
        If there are not two ``axes``.

    Examples
    --------
    >>> import quell
    >>> loop = quell.theory.Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    >>> gain, phase = quell.plot.bode(loop)
    """
    if axes is None:
        _, grid = plt.subplots(2, sharex=True, figsize=(7, 5), layout="constrained")
        axes = list(grid)
    if len(axes) != 2:  # noqa: PLR2004
        raise ValueError(f"a Bode diagram has 2 axes; axes has {len(axes)}")
    top, bottom = axes
    for (label, loop), style in _labeled(loops):
        omega, gain, phase = loop.bode()
        top.semilogx(omega, 20 * np.log10(gain), label=label, linewidth=1.5, **style)
        bottom.semilogx(omega, phase, linewidth=1.5, **style)
        crossovers = loop.margins().crossovers_rad_per_s
        top.plot(crossovers, 0 * crossovers, "o", color=style["color"], markersize=4)
        at = np.interp(np.log(crossovers), np.log(omega), phase)
        bottom.plot(crossovers, at, "o", color=style["color"], markersize=4)
    top.axhline(0, color="0.4", linewidth=0.8)
    bottom.axhline(-180, color="0.4", linewidth=0.8)
    # Far beyond the crossovers the delay turns the phase on and on.
    low, high = bottom.get_ylim()
    bottom.set_ylim(max(low, -540), high)
    top.set(ylabel="gain (dB)")
    bottom.set(xlabel="frequency (rad/s)", ylabel="phase (degrees)")
    _frame(bottom)
    return [_finish(top), bottom]


def nyquist(loops: Loop | Mapping[str, Loop], *, ax: Axes | None = None) -> Axes:
    """Plot the Nyquist curve around -1, which a stable loop does not encircle.

    Parameters
    ----------
    loops : Loop or dict of str to Loop
        One loop, or several with their labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; real and imaginary part.

    Examples
    --------
    >>> import quell
    >>> loop = quell.theory.Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    >>> ax = quell.plot.nyquist({"PI": loop})
    """
    ax = plt.subplots(figsize=(5.5, 5), layout="constrained")[1] if ax is None else ax
    for (label, loop), style in _labeled(loops):
        values = loop.nyquist(loop.frequencies(2000))
        ax.plot(values.real, values.imag, label=label, linewidth=1.5, **style)
    ax.plot(-1, 0, "+", color="black", markersize=10)
    ax.set(xlabel="real part", ylabel="imaginary part", xlim=(-2.5, 1), ylim=(-2, 1.5), aspect="equal")
    return _finish(ax)


class _Rows:
    """Rows of a table that have given values in given columns."""

    def __init__(self, columns: Columns, **where: object) -> None:
        arrays = {name: _array(columns[name]) for name in columns.column_names}
        self._columns = _having(arrays, where)

    def of(self, **where: object) -> _Rows:
        rows = object.__new__(_Rows)
        rows._columns = _having(self._columns, where)
        return rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def distinct(self, name: str) -> list[Any]:
        return list(dict.fromkeys(self._columns[name].tolist()))


def _having(columns: dict[str, NDArray[Any]], where: dict[str, object]) -> dict[str, NDArray[Any]]:
    keep = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for name, value in where.items():
        keep &= columns[name] == value
    return {name: column[keep] for name, column in columns.items()}


def _array(values: Sequence[object]) -> NDArray[Any]:
    if any(isinstance(v, str) for v in values[:1]):
        return np.array(values, dtype=object)
    return np.array(values, dtype=float)  # None becomes NaN.


class _View:
    """What a plot shows, checked."""

    def __init__(
        self, results: Results, point: int, link: str | None, algorithms: Sequence[str] | None
    ) -> None:
        self._results, self._point = results, point
        points = results.points
        if not 0 <= point < len(points):
            raise ValueError(f"point = {point}: the results have {len(points)} point(s), counted from 0")
        self.info = points[point]
        self.link: str = self.info["links"][0] if link is None else link
        if self.link not in self.info["links"]:
            raise ValueError(f"link = {link!r}: there are {', '.join(self.info['links'])}")
        known = self.info["algorithms"]
        self.algorithms: list[str] = list(known if algorithms is None else algorithms)
        for name in self.algorithms:
            if name not in known:
                raise ValueError(f"no algorithm is labeled {name!r}: there are {', '.join(known)}")
        self._seeds = [s for (p, _, s) in results.digests if p == point]

    def seed(self, seed: int | None) -> int:
        if not self._seeds:
            raise ValueError("no replication was finished")
        if seed is not None and seed not in self._seeds:
            raise ValueError(f"seed = {seed}: there are {', '.join(map(str, dict.fromkeys(self._seeds)))}")
        return self._seeds[0] if seed is None else seed

    def chart(self, diagram: str, *, seed: int | None = None, scope: str = "all") -> dict[str, Any]:
        """Look up the curves of a diagram."""
        return self._results._chart(
            diagram, point=self._point, link=self.link, seed=seed, algorithms=self.algorithms, scope=scope
        )

    def styles(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each algorithm with its color, which it has in every plot of these results."""
        styles = self._results.styles
        for name in self.algorithms:
            yield name, _look(styles[name])

    def marker(self, name: str) -> str:
        """Find the mark of an algorithm."""
        return _MARKERS[self._results.styles[name]["mark"]]


def _look(style: dict[str, Any]) -> dict[str, Any]:
    """Convert a style of the extension to one of matplotlib, whose dashes are in points."""
    dashes = tuple(0.75 * length for length in style["dashes"])
    return {"color": style["color"], "linestyle": (0, dashes) if dashes else "-"}


def _style(i: int) -> dict[str, Any]:
    """Distinguish the line of a loop by its place in the list."""
    return {"color": _COLORS[i % len(_COLORS)], "linestyle": _LINES[i // len(_COLORS) % len(_LINES)]}


def _labeled(
    loops: Loop | Mapping[str, Loop],
) -> Iterator[tuple[tuple[str | None, Loop], dict[str, Any]]]:
    """Each loop with its label and its style; a single one needs no label."""
    items = loops.items() if hasattr(loops, "items") else [(None, loops)]
    for i, item in enumerate(items):
        yield item, _style(i)


def _draw(chart: dict[str, Any], ax: Axes, panel: int = 0) -> Axes:
    """Draw the curves of a panel."""
    if chart["form"] == "bars":
        return _bars(chart, ax, panel)
    points = chart["form"] == "points"
    for curve in chart["panels"][panel]["curves"]:
        x, y = (np.array(curve[name], dtype=float) for name in ("x", "y"))  # None becomes NaN.
        style = {"label": curve["label"], **_look(curve["style"])}
        if points:
            marker = _MARKERS[curve["style"]["mark"]]
            error = _errors(curve)
            ax.errorbar(x, y, yerr=error, marker=marker, markersize=5, capsize=3, linewidth=1.2, **style)
        else:
            ax.plot(x, y, linewidth=1.2 if chart["form"] == "over-time" else 1.5, **style)
    axis = chart["x"]
    if axis["log"] and not points:
        ax.set_xscale("log")
    elif axis["log"]:
        ax.set_xscale("log")
        # The values themselves; between them there is nothing.
        places = sorted({x for curve in chart["panels"][panel]["curves"] for x in curve["x"]})
        ax.set_xticks(places, [f"{x:g}" for x in places])
        ax.minorticks_off()
    if axis["names"]:
        ax.set_xticks(range(len(axis["names"])), axis["names"])
    ax.set(xlabel=axis["label"], ylabel=chart["y"])
    if chart["form"] == "over-time":
        ax.set_ylim(0, None)
    elif points and not axis["log"] and not axis["names"] and ax.dataLim.x0 >= 0:
        # No number that counts or times something is below nothing.
        ax.set_xlim(left=max(0, ax.get_xlim()[0]))
    return ax


def _errors(curve: dict[str, Any]) -> NDArray[Any]:
    """Find how far the intervals reach below and above the values; a single seed has none."""
    y, low, high = (np.array(curve[name], dtype=float) for name in ("y", "low", "high"))
    return np.nan_to_num(np.array([y - low, high - y])) if len(low) else np.zeros((2, len(y)))


def _bars(chart: dict[str, Any], ax: Axes, panel: int) -> Axes:
    """Draw one value of each curve as a bar, below each other, so that names have room."""
    curves = chart["panels"][panel]["curves"]
    for i, curve in enumerate(curves):
        y = np.array(curve["y"], dtype=float)
        ax.barh(
            [i], y, xerr=_errors(curve), color=curve["style"]["color"], ecolor="0.25", capsize=3, height=0.65
        )
    ax.set_yticks(range(len(curves)), [curve["label"] for curve in curves])
    ax.invert_yaxis()
    ax.set(xlabel=chart["y"])
    return ax


def _over_time(diagram: str, view: _View, seed: int | None, ax: Axes | None, scope: str = "all") -> Axes:
    """Draw a diagram over time, with what changes on the way."""
    ax = _draw(view.chart(diagram, seed=view.seed(seed), scope=scope), _axes(ax))
    _mark_times(ax, view.info)
    return _finish(ax)


def _distribution(diagram: str, view: _View, ax: Axes | None) -> Axes:
    """Draw a distribution of the queue."""
    ax = _draw(view.chart(diagram), _axes(ax))
    ax.set(xlim=(0, None), ylim=(0, None))
    return _finish(ax)


def _of_transfers(diagram: str, view: _View, scope: str, ax: Axes | None) -> Axes:
    """Draw a distribution over transfers."""
    chart = view.chart(diagram, scope=scope)
    ax = _draw(chart, _axes(ax))
    if not chart["x"]["log"]:
        ax.set_xlim(0, None)
    ax.set_ylim(0, 1.01)
    return _finish(ax)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    return plt.subplots(figsize=(7, 4), layout="constrained")[1]


def _mark_times(ax: Axes, info: dict[str, Any]) -> None:
    start = info["segments"][0][0] if info["segments"] else 0.0
    if start > 0:
        ax.axvspan(0, start, color="0.92", zorder=0)
        _note(ax, "warm-up", start, (-4, -4), fontsize="x-small", color="0.45")
    for at, what in info["changes"]:
        ax.axvline(at, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
        _note(ax, what, at, (-2, -4), rotation=90, fontsize="xx-small", color="0.3", bbox=box, zorder=4)
    ax.set_xlim(0, info["segments"][-1][1] if info["segments"] else None)


def _note(ax: Axes, text: str, at: float, offset: tuple[float, float], **style: Any) -> None:
    """Write a text to the left of a time, below the upper edge."""
    style |= {"ha": "right", "va": "top"}
    above = ("data", "axes fraction")
    ax.annotate(text, (at, 1), xycoords=above, xytext=offset, textcoords="offset points", **style)


def _frame(ax: Axes) -> None:
    ax.grid(visible=True, color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _finish(ax: Axes) -> Axes:
    _frame(ax)
    if ax.get_legend_handles_labels()[0]:
        # Beside the plot, where it hides nothing.
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
