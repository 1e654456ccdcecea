"""Quell: a laboratory for active queue management (AQM).

Run a scenario with :func:`run`, look at the :class:`Results` with pandas, polars or
:mod:`quell.plot`, and write an algorithm of your own as a subclass of :class:`Aqm`.

>>> import quell
>>> results = quell.run("scenarios/main.toml", seeds=5)  # doctest: +SKIP
>>> results.table()  # doctest: +SKIP
>>> quell.plot.queue(results)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from quell._aqm import Aqm
from quell._quell import (
    PASS,
    Columns,
    Context,
    Interrupted,
    Link,
    Packet,
    Progress,
    Results,
    RunError,
    ScenarioError,
    Verdict,
    __version__,
    aqm_describe,
    aqm_list,
    check,
    drop,
    metric_list,
    read,
    run,
    signal,
)

if TYPE_CHECKING:
    from quell import plot

__all__ = [
    "PASS",
    "Aqm",
    "Columns",
    "Context",
    "Interrupted",
    "Link",
    "Packet",
    "Progress",
    "Results",
    "RunError",
    "ScenarioError",
    "Verdict",
    "__version__",
    "aqm_describe",
    "aqm_list",
    "check",
    "drop",
    "metric_list",
    "plot",
    "read",
    "run",
    "signal",
]


def __getattr__(name: str) -> Any:
    # Plots need matplotlib, which not everyone has installed and no run should wait for.
    if name == "plot":
        try:
            return importlib.import_module("quell.plot")
        except ModuleNotFoundError as error:
            hint = 'quell.plot needs matplotlib and numpy: pip install "quell[plot]"'
            raise ModuleNotFoundError(hint, name=error.name) from error
    raise AttributeError(f"module 'quell' has no attribute {name!r}")
