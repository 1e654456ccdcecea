"""Everything you ever ran, as one table for DuckDB (``pip install "quell[data]"``).

A row is one link, segment (null: the whole measured window) and scope of one replication. It begins with
what identifies the replication: ``key``, ``title``, ``settings`` (what distinguishes its point from the
others of its study), ``scenario`` (with every default, as TOML), ``version``, ``digest``, ``algorithm``,
``elapsed_s``, ``seed``; then one column per metric, with its unit in its name (see
:func:`quell.metric_list`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from quell._quell import index

if TYPE_CHECKING:
    import os

__all__ = ["connect", "results", "sql"]


def connect(*, cache: bool | str | os.PathLike[str] = True) -> duckdb.DuckDBPyConnection:
    """Open a database in memory whose view ``quell`` has every replication of a cache.

    Parameters
    ----------
    cache : bool, str or os.PathLike, default True
        The cache, as for :func:`quell.run`.

    Returns
    -------
    duckdb.DuckDBPyConnection
        The database. The view reads the cache's index at each query, so it sees what runs add at once. What
        killed runs did not add to the index appears from the next call on.

    Raises
    ------
    FileNotFoundError
        If the cache has no replications.

    Examples
    --------
    >>> from quell.data import connect
    >>> with connect() as database:  # doctest: +SKIP
    ...     print(database.sql("SELECT count(DISTINCT key) FROM quell"))
    """
    pattern, exists = index(cache=cache)
    if not exists:
        raise FileNotFoundError(
            f"{pattern.parent.parent}: this cache has no replications; quell.run keeps them there"
        )
    connection = duckdb.connect()
    files = str(pattern).replace("'", "''")
    # Two runs that end at once may both have written a row.
    connection.execute(
        f"CREATE VIEW quell AS SELECT * FROM read_parquet('{files}', union_by_name = true) "
        "QUALIFY row_number() OVER (PARTITION BY key, link, segment, scope) = 1"
    )
    return connection


def sql(query: str, *, cache: bool | str | os.PathLike[str] = True) -> duckdb.DuckDBPyRelation:
    """Query everything you ever ran.

    Parameters
    ----------
    query : str
        SQL; the view is called ``quell``.
    cache : bool, str or os.PathLike, default True
        The cache, as for :func:`quell.run`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        The answer: ``.df()``, ``.pl()`` and ``.arrow()`` give it to pandas, polars and Arrow.

    Raises
    ------
    FileNotFoundError
        If the cache has no replications.

    Examples
    --------
    >>> import quell
    >>> quell.sql("SELECT title, algorithm, avg(utilization) FROM quell GROUP BY ALL")  # doctest: +SKIP
    """
    return connect(cache=cache).sql(query)


def results(*, cache: bool | str | os.PathLike[str] = True) -> duckdb.DuckDBPyRelation:
    """Return everything you ever ran, as a relation to filter and aggregate.

    Parameters
    ----------
    cache : bool, str or os.PathLike, default True
        The cache, as for :func:`quell.run`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        All rows: see :mod:`quell.data`.

    Raises
    ------
    FileNotFoundError
        If the cache has no replications.

    Examples
    --------
    >>> import quell
    >>> quell.results().filter("algorithm = 'codel'").df()  # doctest: +SKIP
    """
    return sql("SELECT * FROM quell", cache=cache)
