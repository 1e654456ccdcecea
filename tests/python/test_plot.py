"""Plots show the numbers of the results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import quell
from conftest import make_scenario
from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


def lines(ax: Axes) -> dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in ax.get_lines()
        if not str(line.get_label()).startswith("_")
    }


def test_queue_over_time(results: quell.Results) -> None:
    ax = quell.plot.queue(results, algorithms=["red", "pi"], seed=2)
    rows = results.to_pandas("series").query("algorithm == 'red' and seed == 2 and link == 'bottleneck'")
    drawn = lines(ax)
    assert list(drawn) == ["red", "pi"]
    np.testing.assert_array_equal(drawn["red"][0], rows.time_s)
    np.testing.assert_array_equal(drawn["red"][1], rows.queue_mean_packets)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "queue (packets)")
    assert ax.get_xlim() == (0, 20)


def test_delay_distributions_rise_to_one_through_the_median(results: quell.Results) -> None:
    ax = quell.plot.delay_cdf(results)
    drawn = lines(ax)
    assert list(drawn) == ["drop-tail", "red", "pi"]
    medians = results.to_pandas("metrics").query("link == 'bottleneck' and scope == 'all' and segment.isna()")
    for name, (delay_ms, share) in drawn.items():
        assert (np.diff(share) >= 0).all()
        assert share[-1] == pytest.approx(1)
        median = 1e3 * medians[medians.algorithm == name].queue_delay_p50_s.mean()
        assert delay_ms[np.searchsorted(share, 0.5)] == pytest.approx(median, rel=0.1, abs=1)


def test_delay_against_goodput(results: quell.Results) -> None:
    ax = quell.plot.delay_goodput(results, percentile=95)
    table = (
        results.table(["queue_delay_p95_s", "goodput_bps"])
        .to_pandas()
        .pivot_table(index="algorithm", columns="metric", values="mean")
    )
    assert len(ax.containers) == 3
    for bar in ax.containers:
        (x,), (y,) = bar.lines[0].get_data()  # type: ignore[attr-defined]
        row = table.loc[bar.get_label()]
        assert x == pytest.approx(1e3 * row.queue_delay_p95_s)
        assert y == pytest.approx(1e-6 * row.goodput_bps)
    with pytest.raises(ValueError, match="95"):
        quell.plot.delay_goodput(results, percentile=90)


def test_internal_signals(results: quell.Results) -> None:
    axes = quell.plot.internals(results)
    assert [ax.get_ylabel() for ax in axes] == ["avg (packets)", "p"]
    (ax,) = quell.plot.internals(results, "pi", axes=[plt.subplots()[1]])
    rows = results.to_pandas("internals").query("algorithm == 'pi' and seed == 1 and link == 'bottleneck'")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), rows.value)
    with pytest.raises(ValueError, match="drop-tail"):
        quell.plot.internals(results, "drop-tail")
    with pytest.raises(ValueError, match="2 signals"):
        quell.plot.internals(results, "red", axes=[ax])


def test_goodput_per_flow(results: quell.Results) -> None:
    ax = quell.plot.flow_goodput(results, class_="ftp", seed=1)
    rank, goodput = lines(ax)["red"]
    rows = results.to_pandas("flows").query("algorithm == 'red' and seed == 1")
    np.testing.assert_array_equal(rank, np.arange(1, 11))
    np.testing.assert_allclose(goodput, np.sort(rows.goodput_bps) / 1e6)
    with pytest.raises(ValueError, match="ftp"):
        quell.plot.flow_goodput(results, class_="no")


@pytest.mark.parametrize("draw", [quell.plot.queue, quell.plot.delay_cdf, quell.plot.delay_goodput])
def test_what_is_not_there_is_refused_by_name(results: quell.Results, draw: Callable[..., Axes]) -> None:
    with pytest.raises(ValueError, match="drop-tail, red, pi"):
        draw(results, algorithms=["no"])
    with pytest.raises(ValueError, match="bottleneck"):
        draw(results, link="no")
    with pytest.raises(ValueError, match="point"):
        draw(results, point=1)


def test_given_axes_are_used_and_one_seed_suffices() -> None:
    results = quell.run(make_scenario(duration="6 s"), seeds=1)
    _, axes = plt.subplots(4)
    draws: list[Callable[..., Axes]] = [
        quell.plot.queue,
        quell.plot.delay_cdf,
        quell.plot.delay_goodput,
        quell.plot.flow_goodput,
    ]
    for draw, ax in zip(draws, axes, strict=True):
        assert draw(results, ax=ax) is ax
    plt.gcf().canvas.draw()


def test_importing_quell_imports_none_of_its_companions() -> None:
    companions = ("matplotlib", "numpy", "pandas", "polars", "pyarrow")
    code = f"import sys, quell; print([m for m in {companions} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
