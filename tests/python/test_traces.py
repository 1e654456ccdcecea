"""Traces of senders and packets."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import quell
from conftest import make_scenario


@pytest.fixture(scope="module")
def traced() -> quell.Results:
    return quell.run(make_scenario(), seeds=2, trace=["flows", "packets"], cache=False)


def test_a_trace_has_the_first_seed_and_changes_no_figure(traced: quell.Results) -> None:
    plain = quell.run(make_scenario(), seeds=2, cache=False)
    assert traced.digests == plain.digests
    flows, packets = traced.trace("flows"), traced.trace("packets")
    assert set(flows["seed"]) == set(packets["seed"]) == {1}
    assert set(flows["algorithm"]) == set(traced.algorithms)
    assert {"enqueue", "dequeue"} <= set(packets["event"]) <= {"enqueue", "mark", "drop", "dequeue"}
    joined = packets.to_pandas().query("event == 'dequeue'")
    assert (joined.waited_s >= 0).all()


def test_traces_are_written_with_the_results_and_read_again(traced: quell.Results, tmp_path: Path) -> None:
    traced.save(tmp_path / "results")
    again = quell.read(tmp_path / "results")
    for name in ("flows", "packets"):
        ours, theirs = traced.trace(name), again.trace(name)
        assert ours.column_names == theirs.column_names
        assert ours.to_pandas().equals(theirs.to_pandas())


def test_a_plot_of_windows_shows_the_trace(traced: quell.Results) -> None:
    name = traced.algorithms[0]
    rows = traced.trace("flows").to_pandas().query(f"algorithm == '{name}' and flow == 1")
    ax = quell.plot.flow_trace(traced, algorithms=[name], flows=[1])
    (line,) = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    np.testing.assert_array_equal(np.asarray(line.get_ydata()), rows.cwnd_packets)
    assert ax.get_ylabel() == "cwnd (packets)"
    plt.close("all")
    with pytest.raises(ValueError, match="column = 'phase': there are point"):
        quell.plot.flow_trace(traced, "phase")
    with pytest.raises(ValueError, match="flow = 99"):
        quell.plot.flow_trace(traced, flows=[99])
    plt.close("all")


def test_what_is_not_there_is_refused(results: quell.Results) -> None:
    with pytest.raises(OSError, match="trace"):
        results.trace("flows")
    with pytest.raises(ValueError, match="packets"):
        results.trace("packet")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neither a group"):
        quell.run(make_scenario(), trace="flows", trace_flows=["nobody"])
    with pytest.raises(ValueError, match="need trace"):
        quell.run(make_scenario(), trace_step="10 ms")
