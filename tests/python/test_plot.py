"""Plots show the numbers of the results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.collections
import matplotlib.colors
import matplotlib.patches
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


@pytest.fixture(scope="module")
def sweep() -> quell.Results:
    """Two fields, and changes on the way."""
    scenario = make_scenario(duration="8 s", warmup="2 s", seeds=3)
    scenario["dumbbell"]["changes"] = [{"at": "6 s", "rate": "2 Mbit/s"}]
    scenario["sweep"] = {"flows.ftp.count": [2, 4, 8], "flows.ftp.tcp.recovery": ["reno", "sack"]}
    return quell.run(scenario)


def test_rates_over_time(results: quell.Results) -> None:
    (_, throughput) = lines(results.plot.throughput(class_="ftp"))["red"]
    rows = results.to_pandas("throughput").query(
        "algorithm == 'red' and seed == 1 and link == 'bottleneck' and `class` == 'ftp'"
    )
    np.testing.assert_allclose(throughput, rows.throughput_bps / 1e6)
    series = results.to_pandas("series").query("algorithm == 'red' and seed == 1 and link == 'bottleneck'")
    step = series.time_s.iloc[1] - series.time_s.iloc[0]
    (_, drops) = lines(results.plot.drops())["red"]
    np.testing.assert_allclose(drops * step, series.dropped_packets, atol=1e-9)
    (_, delay) = lines(results.plot.delay())["red"]
    np.testing.assert_allclose(delay, 1e3 * series.queue_delay_mean_s)
    assert not lines(results.plot.marks())["drop-tail"][1].any()
    ax = results.plot.jain()
    assert ax.get_ylim() == (0, 1.05)
    np.testing.assert_allclose(lines(ax)["red"][1], series.jain_index)
    assert series.jain_index.between(0.1, 1 + 1e-12).any()


def test_the_distribution_of_the_queue(results: quell.Results) -> None:
    (packets, share) = lines(results.plot.queue_cdf())["pi"]
    window = results.to_pandas("series").query(
        "algorithm == 'pi' and link == 'bottleneck' and time_s > 5.001"
    )
    for at in (0, 10, 40):
        below = (window.queue_packets <= at).groupby(window.seed).mean().mean()
        assert share[packets == at] == pytest.approx(below, abs=0.002)
    (middles, density) = lines(results.plot.queue_pdf())["pi"]
    assert density.sum() * (middles[1] - middles[0]) == pytest.approx(1)


def test_a_metric_over_two_fields(sweep: quell.Results) -> None:
    axes = sweep.plot.metric("queue_packets")
    assert [ax.get_title("left") for ax in axes] == [
        "(a) flows.ftp.tcp.recovery = reno",
        "(b) flows.ftp.tcp.recovery = sack",
    ]
    assert (axes[0].get_xscale(), axes[0].get_ylabel()) == ("log", "mean queue (packets)")
    bar = axes[1].containers[1]
    x, y = bar.lines[0].get_data()  # type: ignore[attr-defined]
    assert bar.get_label() == "red"
    np.testing.assert_array_equal(x, [2, 4, 8])
    points = [i for i, p in enumerate(sweep.points) if p["settings"]["flows.ftp.tcp.recovery"] == "sack"]
    for mean, point in zip(y, points, strict=True):
        table = sweep.table(["queue_packets"], point=point).to_pandas()
        assert mean == pytest.approx(table[table.algorithm == "red"]["mean"].item())
    (ax,) = sweep.plot.metric(over="flows.ftp.tcp.recovery", by=None, point=2, axes=[plt.subplots()[1]] * 3)[
        :1
    ]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["reno", "sack"]
    with pytest.raises(ValueError, match=r"flows\.ftp\.count"):
        sweep.plot.metric(over="no")
    with pytest.raises(ValueError, match="axes has 1"):
        sweep.plot.metric(axes=[ax])


def test_changes_are_marked(sweep: quell.Results) -> None:
    assert sweep.points[0]["changes"] == [(6.0, "rate 2 Mbit/s")]
    for draw in (sweep.plot.queue, sweep.plot.throughput):
        ax = draw()
        assert "rate 2 Mbit/s" in [t.get_text() for t in ax.texts]
        assert [6.0, 6.0] in [list(np.asarray(line.get_xdata())) for line in ax.get_lines()]


def test_results_draw_themselves(results: quell.Results) -> None:
    ax = plt.subplots()[1]
    assert results.plot.queue(algorithms=["red"], ax=ax) is ax
    assert (results.plot.queue.__doc__ or "").startswith("Plot the queue over time")
    methods = {name for name in vars(quell.plot.Plots) if not name.startswith("_")}
    assert methods == set(quell.plot.__all__) - {"Plots", "bode", "nyquist"}


def test_a_notebook_shows_the_table(results: quell.Results) -> None:
    html = results._repr_html_()
    assert "<strong>Python tests</strong>" in html
    assert html.count("<tr>") == 4
    assert "± half the width of the 95% confidence interval; 6 replications" in html
    assert results.plot.results is results


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


def test_a_metric_of_one_point_is_bars_in_the_colors_of_the_algorithms(results: quell.Results) -> None:
    (ax,) = results.plot.metric("utilization")
    assert [label.get_text() for label in ax.get_yticklabels()] == results.algorithms
    found = results.table(["utilization"])
    means = dict(zip(found["algorithm"], found["mean"], strict=True))
    for name, bar in zip(results.algorithms, ax.patches, strict=True):
        assert isinstance(bar, matplotlib.patches.Rectangle)
        assert bar.get_width() == pytest.approx(100 * means[name])
        assert matplotlib.colors.to_hex(bar.get_facecolor()).upper() == results.styles[name]["color"]
    # In every plot the same.
    for line in quell.plot.queue(results).get_lines():
        if line.get_label() in results.styles:
            assert line.get_color() == results.styles[str(line.get_label())]["color"]
    # No interval reaches beyond all of it.
    lines = [bars for bars in ax.collections if isinstance(bars, matplotlib.collections.LineCollection)]
    ends = [np.asarray(bars.get_segments()) for bars in lines]
    assert ends
    assert max(segment[..., 0].max() for segment in ends) <= 100


def test_completion_times() -> None:
    clients = {"name": "web", "kind": "transfers", "count": 5, "rtt": "40 ms"}
    clients |= {"size": {"exponential": "20 kB"}, "think": {"exponential": "500 ms"}}
    scenario = make_scenario(flows=[clients], duration="12 s", warmup="2 s", seeds=1)
    transfers = quell.run(scenario)
    drawn = lines(transfers.plot.completion_cdf())
    rows = transfers.to_pandas("transfers").query("start_s >= 2")
    for name, (time_ms, share) in drawn.items():
        times = rows[rows.algorithm == name].flow_completion_time_s
        assert (np.diff(time_ms) >= 0).all()
        assert share[-1] == 1
        assert time_ms[-1] == pytest.approx(1e3 * times.max(), rel=1e-6)
    assert transfers.plot.slowdown_cdf().get_xlabel() == "slowdown"
