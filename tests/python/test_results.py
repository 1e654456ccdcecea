"""Results as columns, tables and folders."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quell

TABLES = [
    "metrics",
    "series",
    "throughput",
    "internals",
    "flows",
    "transfers",
    "delays",
    "internal_means",
    "replications",
]


@pytest.mark.parametrize("name", TABLES)
def test_arrow_pandas_and_polars_see_the_same(results: quell.Results, name: str) -> None:
    columns: quell.Columns = getattr(results, name)
    table = pa.table(columns)
    assert table.column_names == columns.column_names
    assert columns.shape == (table.num_rows, table.num_columns)
    assert len(columns) == table.num_rows
    assert pa.schema(columns) == table.schema
    assert table.column_names[:3] == ["point", "algorithm", "seed"]
    frame = pl.DataFrame(columns)
    assert frame.equals(results.to_polars(name))
    pandas = results.to_pandas(name)
    pd.testing.assert_frame_equal(pandas, table.to_pandas())
    pd.testing.assert_frame_equal(pandas, pd.DataFrame.from_arrow(columns))
    assert pandas.shape == columns.shape
    for column in columns.column_names:
        assert columns[column] == table[column].to_pylist()


@pytest.mark.parametrize("name", TABLES)
def test_saved_tables_are_parquet_for_everyone(results: quell.Results, name: str, tmp_path: Path) -> None:
    results.save(tmp_path / "saved")
    path = tmp_path / "saved" / f"{name}.parquet"
    columns: quell.Columns = getattr(results, name)
    table = pa.table(columns)
    assert pq.read_table(path).equals(table)
    assert pl.read_parquet(path).equals(pl.DataFrame(columns))
    pd.testing.assert_frame_equal(pd.read_parquet(path), table.to_pandas())
    assert getattr(quell.read(tmp_path / "saved"), name).shape == columns.shape


@pytest.mark.parametrize(
    ("package", "method", "extra"),
    [
        ("pandas", "to_pandas", "pandas"),
        ("pyarrow", "to_pandas", "pandas"),
        ("polars", "to_polars", "polars"),
    ],
)
def test_a_package_that_is_not_there_is_asked_for_by_its_extra(
    package: str, method: str, extra: str, results: quell.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for table in (results, results.metrics):
        with pytest.raises(ModuleNotFoundError, match=rf'pip install "quell\[{extra}\]"'):
            getattr(table, method)()


def test_columns_outlive_their_results() -> None:
    columns = quell.run(
        {
            "schema": 1,
            "duration": "3 s",
            "dumbbell": {"rate": "1 Mbit/s", "delay": "5 ms", "buffer": "20 packets"},
            "flows": [{"name": "a", "count": 1, "rtt": "50 ms"}],
            "aqm": [{"algorithm": "drop-tail"}],
        }
    ).metrics
    table = pa.table(columns)
    del columns
    assert 0.5 < table["utilization"][0].as_py() <= 1


def test_an_unknown_column_or_table_names_those_there_are(results: quell.Results) -> None:
    with pytest.raises(KeyError, match="utilization"):
        results.metrics["no"]
    with pytest.raises(ValueError, match="delays"):
        results.to_pandas("no")
    assert "utilization" in results.metrics
    assert "no" not in results.metrics


def test_the_table_agrees_with_the_columns(results: quell.Results) -> None:
    metrics = results.to_pandas("metrics")
    whole = metrics[(metrics.scope == "all") & metrics.segment.isna() & (metrics.link == "bottleneck")]
    table = results.table().to_pandas()
    assert list(table.columns) == ["algorithm", "metric", "unit", "mean", "half_width", "n"]
    for row in table.itertuples():
        values = whole[whole.algorithm == row.algorithm][row.metric]
        assert row.n == len(values) == 2
        assert row.mean == pytest.approx(values.mean())
        # Student's t with one degree of freedom: 12.706.
        assert row.half_width == pytest.approx(12.7062 * values.std() / np.sqrt(2), rel=1e-4, abs=1e-15)
    assert set(table.algorithm) == {"drop-tail", "red", "pi"}


def test_figures_of_classes_signals_and_ratios(results: quell.Results) -> None:
    names = ["Mean Queue", "queue_std_packets/queue_packets", "internal:p", "goodput[ftp]/goodput[all]"]
    frame = results.table(names).to_pandas().set_index(["algorithm", "metric"])
    whole = results.to_pandas("metrics").query("scope == 'all' and segment.isna() and link == 'bottleneck'")
    red = whole[whole.algorithm == "red"]
    assert frame.loc[("red", "queue_packets"), "mean"] == pytest.approx(red.queue_packets.mean())
    ratio = (red.queue_std_packets / red.queue_packets).mean()
    assert frame.loc[("red", "queue_std_packets/queue_packets"), "mean"] == pytest.approx(ratio)
    means = results.to_pandas("internal_means")
    at = (
        (means.algorithm == "red")
        & (means.signal == "p")
        & means.segment.isna()
        & (means.link == "bottleneck")
    )
    assert frame.loc[("red", "internal:p"), "mean"] == pytest.approx(means[at]["mean"].mean())
    assert ("drop-tail", "internal:p") not in frame.index
    assert 0 < frame.loc[("red", "goodput_bps[ftp]/goodput_bps[all]"), "mean"] <= 1
    with pytest.raises(ValueError, match='did you mean "P99 delay"'):
        results.table(["P99 dely"])
    with pytest.raises(ValueError, match="unknown internal signal"):
        results.table(["internal:no"])
    flows = results.to_pandas("flows")
    timed = flows[flows.round_trip_time_mean_s.notna()]
    assert len(timed)
    assert (timed.round_trip_time_mean_s > timed.base_rtt_s).all()


def test_the_table_of_a_sweep_is_of_all_points() -> None:
    scenario = {
        "schema": 1,
        "duration": "2 s",
        "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
        "flows": [{"name": "ftp", "rtt": "60 ms"}],
        "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
    }
    swept = quell.run(scenario, seeds=2, sweep={"flows.ftp.count": [1, 3]}, cache=False)
    table = swept.table(["utilization"]).to_pandas()
    assert list(table.columns)[:3] == ["point", "flows.ftp.count", "algorithm"]
    assert list(table["flows.ftp.count"]) == ["1", "1", "3", "3"]
    one = swept.table(["utilization"], point=1).to_pandas()
    assert "point" not in one.columns
    assert list(one["mean"]) == list(table[table.point == 1]["mean"])


def test_comparisons_are_paired(results: quell.Results) -> None:
    metrics = results.to_pandas("metrics")
    whole = metrics[(metrics.scope == "all") & metrics.segment.isna() & (metrics.link == "bottleneck")]
    by_seed = whole.pivot_table(index="seed", columns="algorithm", values="queue_packets")
    row = results.compare("drop-tail", ["queue_packets"]).to_pandas().set_index("algorithm").loc["red"]
    difference = by_seed["red"] - by_seed["drop-tail"]
    assert row.difference == pytest.approx(difference.mean())
    assert row.half_width == pytest.approx(12.7062 * difference.std() / np.sqrt(2), rel=1e-4)
    assert row.significant == (abs(row.difference) > row.half_width)
    assert row.difference < 0


@pytest.mark.parametrize(
    "arguments",
    [{"metrics": ["no"]}, {"point": 1}, {"link": "no"}, {"segment": 5}, {"scope": "no"}],
)
def test_a_view_of_nothing_is_refused(results: quell.Results, arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"no|5|1"):
        results.table(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"no|5|1"):
        results.compare("red", **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="drop-tail, red, pi"):
        results.compare("no")


def test_results_survive_a_folder(results: quell.Results, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    results.save(folder)
    again = quell.read(folder)
    assert again.digests == results.digests
    assert again.scenario == results.scenario
    assert again.info["points"] == results.info["points"]
    for name in TABLES:
        assert pa.table(getattr(again, name)).equals(pa.table(getattr(results, name)))
    with pytest.raises(OSError, match="overwrit"):
        results.save(folder)
    results.save(folder, overwrite=True)


def test_damaged_or_missing_results_are_refused(results: quell.Results, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        quell.read(tmp_path / "none")
    with pytest.raises(OSError, match=r"run\.json"):
        quell.read(tmp_path)
    folder = tmp_path / "results"
    results.save(folder)
    path = folder / "metrics.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(OSError, match=r"metrics\.parquet"):
        quell.read(folder)


def test_reprs_are_readable(results: quell.Results) -> None:
    assert repr(results) == 'Results("Python tests", 6 replications of drop-tail, red, pi)'
    lines = repr(results.table(["utilization"])).splitlines()
    assert lines[0].split() == ["algorithm", "metric", "unit", "mean", "half_width", "n"]
    assert lines[1].split()[:3] == ["drop-tail", "utilization", "1"]
    assert repr(results.series).splitlines()[-1].endswith("columns)")


def test_the_report_is_one_page(results: quell.Results, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    results.report(path)
    text = path.read_text()
    assert text.lower().startswith("<!doctype html>")
    assert "Python tests" in text
    with pytest.raises(FileNotFoundError, match="none"):
        results.report(tmp_path / "none" / "report.html")
