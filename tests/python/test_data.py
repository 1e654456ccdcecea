"""Everything that was ever run, by DuckDB."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import duckdb
import pytest
import quell


def test_the_view_has_what_was_run(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(FileNotFoundError, match="no replications"):
        quell.results(cache=cache)
    results = quell.run(scenario, cache=cache)
    frame = quell.results(cache=cache).df()
    assert frame["key"].nunique() == 6
    assert set(frame["algorithm"]) == {"drop-tail", "red", "pi"}
    assert set(frame["title"]) == {"Python tests"}
    assert "max_th" in frame[frame["algorithm"] == "red"]["scenario"].iloc[0]
    whole = quell.sql(
        "SELECT algorithm, avg(utilization) u, count(*) n FROM quell "
        "WHERE segment IS NULL AND scope = 'all' GROUP BY algorithm ORDER BY algorithm",
        cache=cache,
    ).fetchall()
    table = results.table(["utilization"]).to_pandas().set_index("algorithm")["mean"]
    assert [(name, n) for name, _, n in whole] == [("drop-tail", 2), ("pi", 2), ("red", 2)]
    for name, mean, _ in whole:
        assert mean == pytest.approx(table[name], rel=1e-12)
    # What is run later is there, and nothing twice.
    quell.run(scenario, seeds=3, cache=cache)
    quell.run({**scenario, "title": "Another"}, seeds=3, cache=cache)
    assert quell.sql("SELECT count(DISTINCT key) FROM quell", cache=cache).fetchall() == [(9,)]


def test_any_shell_takes_the_statement(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    cache = tmp_path / "it's a cache"
    quell.run(scenario, cache=cache)
    code = "import sys; from quell._quell import cli; sys.exit(cli(sys.argv))"
    command = [sys.executable, "-c", code, "cache", "--cache", str(cache), "sql"]
    statement = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    database = duckdb.connect()
    database.execute(statement)
    assert database.execute("SELECT count(DISTINCT key) FROM quell").fetchone() == (6,)


def test_a_run_is_found_again(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    cache = tmp_path / "cache"
    first = quell.run(scenario, cache=cache)
    plain = quell.run(scenario, cache=False)
    again = quell.run(scenario, cache=cache, verify=1.0)
    assert first.digest == plain.digest == again.digest
    assert (first.info["reused"], again.info["reused"]) == (0, 6)
    assert quell.run(scenario, cache=cache, fresh=True).info["reused"] == 0
    part = quell.run(scenario, seeds=9, cache=cache, finished=True)
    assert part.partial
    assert part.info["digest"] == again.info["digest"]
    assert quell.run(scenario, cache=cache, engine="reference", seeds=1).info["reused"] == 0
    none = quell.run(scenario, cache=cache, series="none")
    assert (none.info["reused"], len(none.series), len(first.series) > 0) == (6, 0, True)
    with pytest.raises(ValueError, match="drawn"):
        quell.run(scenario, series="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="share"):
        quell.run(scenario, verify=2.0)
