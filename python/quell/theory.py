"""Control theory of AQM, to compare with packets (``pip install quell[theory]``).

:func:`analyze` gives the equilibrium of every algorithm in a scenario, whether it is stable there, and by
what margin; :func:`design` finds parameters by the published rules; :class:`Loop` is the
linear model for everything else, with the exact delay; :func:`fluid` integrates the nonlinear model,
:func:`map` and :func:`fluid_map` show where it is stable; :func:`measure` reads R, N and C from a packet
capture. Values are numpy arrays; times are in seconds, frequencies in rad/s, and rates in bit/s or
packets/s, as names and documentation say. A question without an answer raises :class:`quell.TheoryError`,
which names the quantity and the reason.

>>> from quell import theory
>>> [link] = theory.analyze(
...     theory.dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi", "red"])
... )
>>> link["pi"].loop.margins().gain > 1
True
"""

from __future__ import annotations

import numpy as np

from quell._quell import (
    DESIGNED,
    Analysis,
    Bottleneck,
    Criterion,
    Design,
    Equilibrium,
    Loop,
    Map,
    Margins,
    Mode,
    Oscillation,
    PiDesign,
    QueueMap,
    Reach,
    Summary,
    TheoryError,
    Trajectory,
    analyze,
    auto_tuning_setup,
    avq_largest_phi,
    avq_longest_rtt,
    critical_rtt,
    design,
    dumbbell,
    ewma_autocorrelation,
    ewma_expectation,
    ewma_variance,
    fluid,
    fluid_map,
    hred_local,
    map,
    measure,
    oscillation,
    pi_design,
    red_by_hollot,
    red_filter,
    red_map,
    red_proposition,
    red_tail_delay_bound,
    vrc_k_p_range,
    vrc_largest_k_i,
    vrc_map,
    vrc_theorem,
)

__all__ = [
    "DESIGNED",
    "Analysis",
    "Bottleneck",
    "Criterion",
    "Design",
    "Equilibrium",
    "Loop",
    "Map",
    "Margins",
    "Mode",
    "Oscillation",
    "PiDesign",
    "QueueMap",
    "Reach",
    "Summary",
    "TheoryError",
    "Trajectory",
    "analyze",
    "auto_tuning_setup",
    "avq_largest_phi",
    "avq_longest_rtt",
    "critical_rtt",
    "design",
    "dumbbell",
    "ewma_autocorrelation",
    "ewma_expectation",
    "ewma_variance",
    "fluid",
    "fluid_map",
    "hred_local",
    "map",
    "measure",
    "oscillation",
    "pi_design",
    "red_by_hollot",
    "red_filter",
    "red_map",
    "red_proposition",
    "red_tail_delay_bound",
    "vrc_k_p_range",
    "vrc_largest_k_i",
    "vrc_map",
    "vrc_theorem",
]

# The extension makes arrays: if numpy is missing, fail here and not at the first of them.
del np
