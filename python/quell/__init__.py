"""Quell: a laboratory for active queue management (AQM).

Run a scenario with :func:`run`, look at the :class:`Results` with pandas, polars or
:mod:`quell.plot`, and write your own algorithm as a subclass of :class:`Aqm`.

>>> import quell
>>> results = quell.run("scenarios/main.toml", seeds=5)  # doctest: +SKIP
>>> results.table()  # doctest: +SKIP
>>> quell.plot.queue(results)  # doctest: +SKIP

Finished replications are kept in a cache: :func:`sql` queries everything you ever ran, and
:mod:`quell.scale` spreads a study over machines.

:mod:`quell.theory` applies control theory to the same scenario.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from quell._aqm import Aqm
from quell._quell import (
    PASS,
    Columns,
    Context,
    Crossing,
    Interrupted,
    Link,
    Packet,
    Progress,
    Results,
    RunError,
    ScenarioError,
    Task,
    TheoryError,
    Verdict,
    __version__,
    adversary,
    aqm_describe,
    aqm_list,
    cache_dir,
    check,
    drop,
    make,
    metric_list,
    new,
    read,
    run,
    search,
    signal,
    tasks,
    tcp_describe,
    tcp_list,
    tune,
)
from quell._tune import Objective, objective
from quell.papers import reproduce

if TYPE_CHECKING:
    from quell import data, plot, scale, theory
    from quell.data import results, sql

__all__ = [
    "PASS",
    "Aqm",
    "Columns",
    "Context",
    "Crossing",
    "Interrupted",
    "Link",
    "Objective",
    "Packet",
    "Progress",
    "Results",
    "RunError",
    "ScenarioError",
    "Task",
    "TheoryError",
    "Verdict",
    "__version__",
    "adversary",
    "aqm_describe",
    "aqm_list",
    "cache_dir",
    "check",
    "data",
    "drop",
    "make",
    "metric_list",
    "new",
    "objective",
    "plot",
    "read",
    "reproduce",
    "results",
    "run",
    "scale",
    "search",
    "signal",
    "sql",
    "tasks",
    "tcp_describe",
    "tcp_list",
    "theory",
    "tune",
]


# Parts that need other packages: not everyone has them installed, and no run should wait for them.
_PARTS = {
    "data": "duckdb",
    "plot": "matplotlib and numpy",
    "scale": "dask, distributed and fsspec",
    "theory": "numpy",
}
# What is in one of them, and named so often that it is here too.
_FROM_PARTS = {"results": "data", "sql": "data"}


def __getattr__(name: str) -> Any:
    if name in _FROM_PARTS:
        return getattr(__getattr__(_FROM_PARTS[name]), name)
    if name in _PARTS:
        try:
            return importlib.import_module(f"quell.{name}")
        except ModuleNotFoundError as error:
            hint = f'quell.{name} needs {_PARTS[name]}: pip install "quell[{name}]"'
            raise ModuleNotFoundError(hint, name=error.name) from error
    raise AttributeError(f"module 'quell' has no attribute {name!r}")
