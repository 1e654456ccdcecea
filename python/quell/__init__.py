"""Quell: a laboratory for active queue management (AQM).

Run a scenario with :func:`run`, look at the :class:`Results` with pandas, polars or
:mod:`quell.plot`, and write an algorithm of your own as a subclass of :class:`Aqm`.

>>> import quell
>>> results = quell.run("scenarios/main.toml", seeds=5)  # doctest: +SKIP
>>> results.table()  # doctest: +SKIP
>>> quell.plot.queue(results)  # doctest: +SKIP

:mod:`quell.theory` gives the control theory of the same scenario.
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
    TheoryError,
    Verdict,
    __version__,
    aqm_describe,
    aqm_list,
    check,
    drop,
    metric_list,
    read,
    run,
    search,
    signal,
)

if TYPE_CHECKING:
    from quell import plot, theory

__all__ = [
    "PASS",
    "Aqm",
    "Columns",
    "Context",
    "Crossing",
    "Interrupted",
    "Link",
    "Packet",
    "Progress",
    "Results",
    "RunError",
    "ScenarioError",
    "TheoryError",
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
    "search",
    "signal",
    "theory",
]


# Parts that need other packages: not everyone has them installed, and no run should wait for them.
_PARTS = {"plot": "matplotlib and numpy", "theory": "numpy"}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        try:
            return importlib.import_module(f"quell.{name}")
        except ModuleNotFoundError as error:
            hint = f'quell.{name} needs {_PARTS[name]}: pip install "quell[{name}]"'
            raise ModuleNotFoundError(hint, name=error.name) from error
    raise AttributeError(f"module 'quell' has no attribute {name!r}")
