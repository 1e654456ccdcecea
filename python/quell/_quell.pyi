# Written by tests/python/stub.py from the documentation of the extension: do not edit. A test compares both.

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

import control
import numpy as np
import numpy.typing as npt
import pandas
import polars
import typing_extensions

import quell.plot

DESIGNED: Final[tuple[str, ...]]
PASS: Final[Verdict]
__version__: Final[str]

__all__ = [
    "DESIGNED",
    "PASS",
    "Analysis",
    "Bottleneck",
    "Columns",
    "Context",
    "Criterion",
    "Crossing",
    "Design",
    "Equilibrium",
    "Interrupted",
    "Link",
    "Loop",
    "Map",
    "Margins",
    "Mode",
    "Oscillation",
    "Packet",
    "PiDesign",
    "Progress",
    "QueueMap",
    "Reach",
    "Results",
    "RunError",
    "ScenarioError",
    "Summary",
    "Task",
    "TheoryError",
    "Trajectory",
    "Verdict",
    "__version__",
    "adversary",
    "analyze",
    "aqm_describe",
    "aqm_list",
    "auto_tuning_setup",
    "avq_largest_phi",
    "avq_longest_rtt",
    "cache_dir",
    "check",
    "cli",
    "critical_rtt",
    "design",
    "direction",
    "drop",
    "dumbbell",
    "ewma_autocorrelation",
    "ewma_expectation",
    "ewma_variance",
    "fluid",
    "fluid_map",
    "hred_local",
    "index",
    "make",
    "map",
    "measure",
    "metric_list",
    "new",
    "oscillation",
    "pi_design",
    "ranges",
    "read",
    "red_by_hollot",
    "red_filter",
    "red_map",
    "red_proposition",
    "red_tail_delay_bound",
    "run",
    "search",
    "signal",
    "tasks",
    "tcp_describe",
    "tcp_list",
    "tune",
    "vrc_k_p_range",
    "vrc_largest_k_i",
    "vrc_map",
    "vrc_theorem",
]

@final
class Analysis:
    """The theory's verdict on one algorithm at a bottleneck.

    Examples
    --------
    >>> from quell.theory import analyze, dumbbell
    >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
    >>> link["pi"].verdict
    'stable'
    """
    @property
    def algorithm(self) -> str:
        """str: Its name in the catalog."""
    @property
    def criteria(self) -> list[Criterion]:
        """list of Criterion: The published conditions that apply to it."""
    @property
    def equilibrium(self) -> Equilibrium | None:
        """Equilibrium or None: The equilibrium."""
    @property
    def label(self) -> str:
        """str: The algorithm's label in the scenario."""
    @property
    def loop(self) -> Loop | None:
        """Loop or None: The loop, for everything else."""
    @property
    def margins(self) -> Margins | None:
        """Margins or None: How far it is from the limit of stability."""
    @property
    def mode(self) -> Mode | None:
        """Mode or None: The slowest mode, or the fastest to grow."""
    @property
    def reach(self) -> list[Reach]:
        """list of Reach: How far N, C and R may each move before the verdict changes, if requested."""
    @property
    def reasons(self) -> list[str]:
        """list of str: Why, and what to make of it, in sentences."""
    @property
    def unstable_roots(self) -> int | None:
        """int or None: Roots to the right of the imaginary axis; 0 is stable."""
    @property
    def verdict(self) -> Literal["stable", "unstable", "no equilibrium", "no model"]:
        """{"stable", "unstable", "no equilibrium", "no model"}: The verdict of the linear model."""

@final
class Bottleneck:
    """A link, the flows that fill it, and what the theory says about each algorithm there.

    Examples
    --------
    >>> from quell.theory import analyze, dumbbell
    >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
    >>> link.capacity_pps
    1250.0
    """
    def __getitem__(self, label: str, /) -> Analysis: ...
    @property
    def analyses(self) -> dict[str, Analysis]:
        """dict of str to Analysis: The analysis of each algorithm, by label."""
    @property
    def buffer_packets(self) -> float:
        """float: The buffer."""
    @property
    def capacity_pps(self) -> float:
        """float: C in packets of mean size per second."""
    @property
    def congestion(self) -> Literal["reno", "cubic", "dctcp", "prague"]:
        """{"reno", "cubic", "dctcp", "prague"}: The flows' congestion control."""
    @property
    def flows(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: N of each class of flows with one round-trip time."""
    @property
    def left_out(self) -> list[str]:
        """list of str: What the models leave out of the scenario, in words."""
    @property
    def link(self) -> str:
        """str: The link's name."""
    @property
    def propagation_s(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The round-trip time of each class without queueing, in seconds."""
    @property
    def settings(self) -> dict[str, str]:
        """dict of str to str: The fields that a sweep set, and their values."""
    @property
    def signal(self) -> Literal["mark", "drop"]:
        """{"mark", "drop"}: How a signal reaches the senders."""

@final
class Columns:
    """A table of columns with units in their names.

    Any library that supports Arrow reads it without a copy: ``pyarrow.table(columns)``,
    ``polars.DataFrame(columns)``, ``pandas.DataFrame.from_arrow(columns)``. ``columns["name"]`` gives one
    column as a list, None where there is no value.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> columns = results.metrics
    >>> columns.shape == (len(columns), len(columns.column_names))
    True
    """
    def __arrow_c_schema__(self) -> typing_extensions.CapsuleType:
        """Give the names and types of the columns.

        Returns
        -------
        types.CapsuleType
            An ``arrow_schema`` (Arrow PyCapsule interface).
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> typing_extensions.CapsuleType:
        """Give the columns as an Arrow stream of one batch.

        Parameters
        ----------
        requested_schema : object, optional
            Accepted as the interface requires, but not used: the columns keep their types.

        Returns
        -------
        types.CapsuleType
            An ``arrow_array_stream`` (Arrow PyCapsule interface).
        """
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def __len__(self, /) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """list of str: The names of the columns, in order."""
    @property
    def shape(self) -> tuple[int, int]:
        """(int, int): The number of rows and of columns."""
    def to_pandas(self) -> pandas.DataFrame:
        """Convert to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The same columns.

        Raises
        ------
        ModuleNotFoundError
            If pandas or pyarrow is not installed; ``pip install "quell[pandas]"`` installs both.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> results.delays.to_pandas().columns[0]
        'point'
        """
    def to_polars(self) -> polars.DataFrame:
        """Convert to a polars DataFrame.

        Returns
        -------
        polars.DataFrame
            The same columns.

        Raises
        ------
        ModuleNotFoundError
            If polars is not installed; ``pip install "quell[polars]"`` installs it.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> results.delays.to_polars().columns[0]
        'point'
        """

@final
class Context:
    """Everything an algorithm may know when it decides; valid only during the call that receives it.

    Examples
    --------
    >>> import quell
    >>> class Line(quell.Aqm):
    ...     def on_enqueue(self, cx, pkt):
    ...         return quell.signal() if cx.random() < cx.queue_packets / 1000 else quell.PASS
    """
    @property
    def head_since_s(self) -> float | None:
        """float or None: When the packet at the head arrived, in seconds; None if nothing waits."""
    @property
    def link_rate_bps(self) -> int | None:
        """int or None: The link's current rate, in bit/s; None if it is not known."""
    @property
    def now_ns(self) -> int:
        """int: The time of the event, in nanoseconds (exact)."""
    @property
    def now_s(self) -> float:
        """float: The time of the event, in seconds since the start of the simulation."""
    @property
    def queue_bytes(self) -> int:
        """int: Bytes waiting, likewise."""
    @property
    def queue_packets(self) -> int:
        """int: Packets waiting, without the one in transmission and without the packet in question."""
    def random(self) -> float:
        """Draw a random number from this queue's own stream.

        The stream depends only on the seed of the replication, so an algorithm that draws here gives the same results
        each time, on every machine.

        Returns
        -------
        float
            Uniform on [0, 1), with 53 random bits.

        Raises
        ------
        RuntimeError
            If it is called after the call to which the context was passed.

        Examples
        --------
        >>> import quell
        >>> class Coin(quell.Aqm):
        ...     def on_enqueue(self, cx, pkt):
        ...         return quell.drop() if cx.random() < 0.01 else quell.PASS
        """

@final
class Criterion:
    """A published condition of the form ``left < right``, evaluated.

    Examples
    --------
    >>> from quell.theory import vrc_theorem
    >>> rule = vrc_theorem(0.0024, 0.0045, 0.0003, flows=100, rtt=0.2, capacity=1250)
    >>> rule.holds, rule.left < rule.right
    (True, False)
    """
    def __bool__(self, /) -> bool: ...
    @property
    def holds(self) -> bool:
        """bool: Whether it holds."""
    @property
    def left(self) -> float:
        """float: The left side."""
    @property
    def necessary(self) -> bool:
        """bool: Whether, by its paper, a loop that does not meet it is unstable; otherwise it only may be."""
    @property
    def reason(self) -> str:
        """str: Why, in words with the numbers, and what would help."""
    @property
    def right(self) -> float:
        """float: The right side."""
    @property
    def statement(self) -> str:
        """str: What it says and where: "Chen 2010, eq. 4.9: L w <= 0.8 N^3/(RC)^5"."""

@final
class Crossing:
    """The crossing of a value by a metric, from :func:`search`.

    Examples
    --------
    >>> import quell
    >>> crossing = quell.search(  # doctest: +SKIP
    ...     "my.toml", "aqm.red.max_p=0.01..0.5:log", "loss_rate", "2%"
    ... )
    >>> crossing.low, crossing.high  # doctest: +SKIP
    """
    @property
    def algorithm(self) -> str:
        """str: The algorithm's label."""
    @property
    def ending(self) -> Literal["found", "undecided", "same-side", "end-undecided"]:
        """{"found", "undecided", "same-side", "end-undecided"}: How the search ended: "found" (the interval is within the
        tolerance), "undecided" (it is wider because all seeds left probes within it undecided), "same-side" (the metric
        is on one side of the value at both ends) or "end-undecided" (all seeds left one end undecided).
        """
    @property
    def high(self) -> float | None:
        """float or None: The upper end of that interval."""
    @property
    def link(self) -> str:
        """str: The link."""
    @property
    def low(self) -> float | None:
        """float or None: The lower end of the interval that holds the crossing, with a probability of at least 95%
        for normal samples and a metric that crosses the value once; None if no crossing is known.
        """
    @property
    def probes(self) -> Columns:
        """Columns: The probes in their order: ``at`` (the value, without its unit), ``mean``, ``half_width`` (of the
        interval that decided, which is wider than a usual one), ``n`` (seeds) and ``side`` ("below", "above", or
        null where it remained undecided).
        """
    @property
    def rises(self) -> bool | None:
        """bool or None: Whether the metric rises along the axis; None if no crossing is known."""

@final
class Design:
    """Parameters by a published rule, and what becomes of them.

    Examples
    --------
    >>> from quell.theory import design
    >>> design("pi", rate="10 Mbit/s", rtt="200 ms", flows=50).aqm["algorithm"]
    'pi'
    """
    @property
    def analysis(self) -> Analysis:
        """Analysis: Its equilibrium, its margins, and how far the network may move."""
    @property
    def aqm(self) -> dict[str, Any]:
        """dict: The algorithm with its parameters, as a table of a scenario; those left out have their
        defaults.
        """
    @property
    def assumptions(self) -> list[str]:
        """list of str: The rule with its source, and what it assumes."""
    @property
    def scenario(self) -> dict[str, Any]:
        """dict: A scenario of the network with this design: ``quell.run`` shows whether packets confirm it."""
    @property
    def warnings(self) -> list[str]:
        """list of str: What one should know before use."""

@final
class Equilibrium:
    """The equilibrium of a network and an algorithm.

    Examples
    --------
    >>> from quell.theory import analyze, dumbbell
    >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
    >>> round(link["pi"].equilibrium.queue_packets)
    50
    """
    @property
    def probability(self) -> float:
        """float: The probability of a signal."""
    @property
    def queue_delay_s(self) -> float:
        """float: The time that the queue takes to drain."""
    @property
    def queue_packets(self) -> float:
        """float: The queue."""
    @property
    def rtt_s(self) -> float:
        """float: The round-trip time, queueing included, as a mean over flows."""
    @property
    def state(self) -> dict[str, float]:
        """dict of str to float: The algorithm's own variables."""
    @property
    def window_packets(self) -> float:
        """float: A flow's window."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes
    ----------
    results : Results
        What was finished before; ``results.partial`` is true.

    Examples
    --------
    >>> import quell
    >>> try:  # doctest: +SKIP
    ...     results = quell.run("study.toml")
    ... except quell.Interrupted as stopped:
    ...     results = stopped.results
    """

    results: Results

@final
class Link:
    """The link as it is known when an algorithm is built.

    Examples
    --------
    >>> import quell
    >>> class Bounded(quell.Aqm):
    ...     def __init__(self, link):
    ...         super().__init__(link)
    ...         self.target = link.buffer_packets // 4
    ...     def on_enqueue(self, cx, pkt):
    ...         return quell.PASS if cx.queue_packets < self.target else quell.signal()
    """
    @property
    def buffer_bytes(self) -> float:
        """float: Its buffer in bytes (of packets of mean size, if it is given in packets)."""
    @property
    def buffer_counts_bytes(self) -> bool:
        """bool: Whether the buffer counts bytes rather than packets."""
    @property
    def buffer_packets(self) -> float:
        """float: Its buffer in packets (of mean size, if it is given in bytes)."""
    @property
    def capacity_packets_per_s(self) -> float:
        """float: C of the papers: packets of mean size per second."""
    @property
    def mean_packet_bytes(self) -> int:
        """int: The mean packet size, in bytes, by which packets are converted to bytes and back."""
    @property
    def rate_bps(self) -> int:
        """int: Its rate at the start, in bit/s."""

@final
class Loop:
    """A network and an algorithm near their equilibrium: a loop, with exact delays.

    The flows are linearized as in Park et al. 2004, eq. 14 and appendix A.1, for any number of classes; the
    loop is
    ``L(s) = C(s) P(s)`` with the algorithm's ``C`` and the negative feedback of the flows and the queue.
    Transfer functions are pairs of coefficients, numerator and denominator, with the highest power of s
    first, as scipy and python-control have them.

    Parameters
    ----------
    controller : (array_like, array_like)
        The algorithm's transfer function, numerator and denominator: from the queue in packets (or from
        the rate of arrivals in packets/s) to the probability of a signal.
    flows : float or array_like
        N; several for several classes.
    rtt : float or array_like
        R, including the queue at equilibrium, in seconds, one for each class.
    capacity : float
        C in packets/s.
    queue : float, default 0.0
        The queue at equilibrium, in packets.
    input : {"queue", "rate"}, default "queue"
        What the controller is applied to.
    signal : {"mark", "drop"}, default "mark"
        How a signal reaches the senders.
    congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
        The senders' congestion control.
    a : float, default 1.5
        A signal takes W/a of Reno's window: 1.5 as Park et al. 2004 have it, 2 as Chen 2010, eq. 4.1.
    increase : float, default 1.0
        Packets that a window gains per round trip; CUBIC's gains what it does.
    plant : {"exact", "simplified"}, default "exact"
        "simplified" neglects the delay in the windows' own motion (Chen 2010, eq. 4.2; Hollot et al. 2001a).

    Raises
    ------
    TheoryError
        If a quantity is not physical, or the transfer function grows too fast with the frequency.

    Examples
    --------
    >>> from quell.theory import Loop
    >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    >>> loop.stable
    True
    """
    def __new__(
        cls,
        controller: tuple[npt.ArrayLike, npt.ArrayLike],
        *,
        flows: float | npt.ArrayLike,
        rtt: float | npt.ArrayLike,
        capacity: float,
        queue: float = 0.0,
        input: Literal["queue", "rate"] = "queue",
        signal: Literal["mark", "drop"] = "mark",
        congestion: Literal["reno", "cubic", "dctcp", "prague"] = "reno",
        a: float = 1.5,
        increase: float = 1.0,
        plant: Literal["exact", "simplified"] = "exact",
    ) -> Loop: ...
    def at(self, s: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """Evaluate ``L(s)`` anywhere.

        Parameters
        ----------
        s : array_like of complex
            Points of the complex plane, per second.

        Returns
        -------
        numpy.ndarray of complex
            One value for each point.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> bool(abs(loop.at(1j)) > abs(loop.at(10j)))
        True
        """
    def bode(
        self, omega: npt.ArrayLike | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Compute the Bode diagram.

        Parameters
        ----------
        omega : array_like, optional
            Frequencies in rad/s, rising; by default those of :meth:`frequencies`.

        Returns
        -------
        (numpy.ndarray, numpy.ndarray, numpy.ndarray)
            The frequencies in rad/s, the gain as a factor, and the phase in degrees, continuous from the
            lowest frequency on.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> omega, gain, phase = loop.bode([1, 10])
        >>> bool(gain[0] > gain[1])
        True
        """
    @property
    def controller(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """(numpy.ndarray, numpy.ndarray): The algorithm's transfer function: numerator and denominator, the highest
        power first.
        """
    def first_order_lag(self) -> npt.NDArray[np.float64]:
        """Return the characteristic polynomial with ``1/(1 + R s)`` in place of the delay (Park et al. 2004, eq.
        16).

        From 1/R up the lag is smaller than the delay: a loop that it calls stable need not be.

        Returns
        -------
        numpy.ndarray
            Coefficients, the highest power first and 1.

        Raises
        ------
        TheoryError
            If there are several classes or a further delay.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> len(loop.first_order_lag())
        5
        """
    def frequencies(self, count: int = 500) -> npt.NDArray[np.float64]:
        """Choose frequencies that show the loop, evenly on a logarithmic scale.

        Parameters
        ----------
        count : int, default 500
            How many.

        Returns
        -------
        numpy.ndarray
            In rad/s, from a hundredth of the slowest corner to beyond the crossovers.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> len(loop.frequencies(50))
        50
        """
    def margins(self) -> Margins:
        """Find the gain, phase and delay margins.

        Returns
        -------
        Margins
            The margins and the crossovers.

        Raises
        ------
        TheoryError
            If the open loop is itself unstable, or a root lies on the axis.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> round(loop.margins().phase_deg, 1)
        53.0
        """
    def mode(self) -> Mode:
        """Find the slowest mode of the closed loop, or the fastest to grow.

        Returns
        -------
        Mode
            The root farthest to the right.

        Raises
        ------
        TheoryError
            If no root could be confirmed as the farthest.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.mode().root.real < 0
        True
        """
    def nyquist(self, omega: npt.ArrayLike | None = None) -> npt.NDArray[np.complex128]:
        """Compute the Nyquist curve.

        Parameters
        ----------
        omega : array_like, optional
            Frequencies in rad/s; by default those of :meth:`frequencies`.

        Returns
        -------
        numpy.ndarray of complex
            ``L(j omega)``.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.nyquist([1, 10]).shape
        (2,)
        """
    def plant_response(self, omega: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """Evaluate the plant alone: from the probability to the queue (or the rate), its sign reversed.

        Parameters
        ----------
        omega : array_like
            Frequencies in rad/s.

        Returns
        -------
        numpy.ndarray of complex
            One value for each frequency.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.plant_response([1, 10]).shape
        (2,)
        """
    def quasi_polynomial(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        """Return the characteristic equation ``P(s) + Q(s) exp(-s R) = 0`` (Park et al. 2004, eq. 15).

        Returns
        -------
        (numpy.ndarray, numpy.ndarray, float)
            P and Q (arrays, the highest power first) and R in seconds.

        Raises
        ------
        TheoryError
            If there are several classes or a further delay.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> p, q, delay = loop.quasi_polynomial()
        >>> delay
        0.2
        """
    def rational(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        """Return the loop as a quotient of polynomials and a separate delay.

        Returns
        -------
        (numpy.ndarray, numpy.ndarray, float)
            Numerator and denominator (arrays, the highest power first) and the delay in seconds.

        Raises
        ------
        TheoryError
            If the delay cannot be separated: it can for one class, marks and the simplified plant.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> pi = [0.0024, 0.0045], [1, 0]
        >>> loop = Loop(pi, flows=100, rtt=0.2, capacity=1250, plant="simplified")
        >>> numerator, denominator, delay = loop.rational()
        >>> delay
        0.2
        """
    def response(self, omega: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """Evaluate ``L(j omega)``, with the exact delay.

        Parameters
        ----------
        omega : array_like
            Frequencies in rad/s.

        Returns
        -------
        numpy.ndarray of complex
            One value for each frequency.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.response([1, 10]).shape
        (2,)
        """
    @property
    def stable(self) -> bool:
        """bool: Whether every mode dies out. A root on the imaginary axis, to within rounding, does not."""
    def to_control(self) -> tuple[control.TransferFunction, float]:
        """Convert to python-control: the loop without its delay, and the delay.

        Returns
        -------
        (control.TransferFunction, float)
            A ``control.TransferFunction`` and the delay in seconds.

        Raises
        ------
        TheoryError
            If the delay cannot be separated; see :meth:`rational`.
        ModuleNotFoundError
            If python-control is not installed.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> transfer, delay = loop.to_control()  # doctest: +SKIP
        """
    def to_frd(self, omega: npt.ArrayLike | None = None) -> control.FrequencyResponseData:
        """Convert to python-control: the frequency response, with the exact delay.

        Parameters
        ----------
        omega : array_like, optional
            Frequencies in rad/s; by default those of :meth:`frequencies`.

        Returns
        -------
        control.FrequencyResponseData
            The open loop, to be interpolated between the frequencies.

        Raises
        ------
        ModuleNotFoundError
            If python-control is not installed.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> response = loop.to_frd()  # doctest: +SKIP
        """
    @property
    def unstable_roots(self) -> int:
        """int: Roots of the closed loop to the right of the imaginary axis, conjugates included: 0 is
        stable. Counted by the principle of the argument, in steps that a bound proves small enough.
        """
    def with_delay(self, seconds: float) -> Loop:
        """Delay the signal further, with unchanged round-trip times.

        Parameters
        ----------
        seconds : float
            By how much.

        Returns
        -------
        Loop
            The other loop.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.with_delay(1).stable
        False
        """
    def with_gain(self, factor: float) -> Loop:
        """Multiply the gain.

        Parameters
        ----------
        factor : float
            By how much.

        Returns
        -------
        Loop
            The other loop.

        Examples
        --------
        >>> from quell.theory import Loop
        >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
        >>> loop.with_gain(100).stable
        False
        """

@final
class Map:
    """A quantity over a grid of two others.

    Examples
    --------
    >>> from quell.theory import dumbbell, map
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> map(net, ("flows", [30, 60, 120]), ("rtt", [0.05, 0.4]), show="queue").x_name
    'flows'
    """
    @property
    def missing(self) -> list[tuple[str, int]]:
        """list of (str, int): Why points have no value: the first such point's reason, and how many there are."""
    @property
    def show(self) -> str:
        """str: What the map shows."""
    @property
    def values(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The values, ``values[j, i]`` at ``x[i]`` and ``y[j]``; NaN if there is none, which ``missing``
        explains.
        """
    @property
    def x(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The values across."""
    @property
    def x_name(self) -> str:
        """str: What varies across."""
    @property
    def y(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The values upwards."""
    @property
    def y_name(self) -> str:
        """str: What varies from bottom to top."""

@final
class Margins:
    """The margins of a loop: its distance from the limit of stability.

    Examples
    --------
    >>> from quell.theory import Loop
    >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    >>> margins = loop.margins()
    >>> margins.delay_s > 0
    True
    """
    @property
    def crossovers_rad_per_s(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: Where the gain is 1, rising."""
    @property
    def delay_s(self) -> float | None:
        """float or None: The smallest additional delay that makes it unstable, in seconds. None without a
        crossover, and for an unstable loop.
        """
    @property
    def gain(self) -> float | None:
        """float or None: The factor by which the gain may rise; for an unstable loop, the factor to which it
        must fall. None if no factor changes the verdict.
        """
    @property
    def phase_crossovers_rad_per_s(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: Where the loop's value is negative, rising: those that matter to the gain."""
    @property
    def phase_deg(self) -> float | None:
        """float or None: The smallest change of phase that reaches -1: positive for a lag, negative for a lead
        or an unstable loop. None without a crossover.
        """

@final
class Mode:
    """A mode of the closed loop.

    Examples
    --------
    >>> from quell.theory import Loop
    >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    >>> mode = loop.mode()
    >>> mode.settling_s > 0
    True
    """
    @property
    def damping(self) -> float:
        """float: The damping ratio, ``-real/abs`` of the root."""
    @property
    def period_s(self) -> float | None:
        """float or None: The period, if it oscillates."""
    @property
    def root(self) -> complex:
        """complex: The root, per second; its real part is negative if the mode dies out."""
    @property
    def settling_s(self) -> float | None:
        """float or None: The time in which it falls to 2%, if it does."""

@final
class Oscillation:
    """The strongest periodic motion of a queue.

    Examples
    --------
    >>> import numpy as np
    >>> from quell.theory import oscillation
    >>> t = np.arange(0, 100, 0.02)
    >>> found = oscillation(50 + 45 * np.sin(2 * np.pi * t / 1.25), 0.02)
    >>> round(found.amplitude)
    45
    """
    @property
    def amplitude(self) -> float:
        """float: How far it swings to either side: that of a sine with its variance."""
    @property
    def deviation(self) -> float:
        """float: The standard deviation of the samples."""
    @property
    def mean(self) -> float:
        """float: The mean of the samples."""
    @property
    def motion(self) -> Literal["settled", "oscillating", "irregular"]:
        """{"settled", "oscillating", "irregular"}: The motion; an irregular queue swings far, without a period."""
    @property
    def period_s(self) -> float:
        """float: The period."""
    @property
    def share(self) -> float:
        """float: The share of the variance within a quarter of its frequency."""
    @property
    def swing(self) -> float:
        """float: How far a sine of the whole variance swings, over the mean; up to 0.5 it is settled."""

@final
class Packet:
    """A packet as an algorithm sees it.

    Examples
    --------
    >>> import quell
    >>> class SparesSyns(quell.Aqm):
    ...     def on_enqueue(self, cx, pkt):
    ...         return quell.PASS if pkt.syn or cx.queue_packets < 20 else quell.signal()
    """
    @property
    def bytes(self) -> int:
        """int: Its size on the wire, in bytes."""
    @property
    def dscp(self) -> int:
        """int: Its DSCP, 0 to 63."""
    @property
    def ecn(self) -> Literal["not-ect", "ect0", "ect1", "ce"]:
        """{"not-ect", "ect0", "ect1", "ce"}: Its ECN field (RFC 3168)."""
    @property
    def ecn_capable(self) -> bool:
        """bool: Whether a signal may be a mark: true unless ``ecn`` is ``not-ect``."""
    @property
    def enqueued_at_ns(self) -> int:
        """int: When it arrived at this queue, in nanoseconds (exact)."""
    @property
    def enqueued_at_s(self) -> float:
        """float: When it arrived at this queue, in seconds."""
    @property
    def flow(self) -> int:
        """int: The flow it belongs to."""
    @property
    def precedence(self) -> int:
        """int: Its precedence, 0 to 7: the upper half of its DSCP."""
    @property
    def syn(self) -> bool:
        """bool: Whether it opens a TCP connection (a SYN)."""

@final
class PiDesign:
    """PI from its design rule, in each form in which papers give its gains.

    Examples
    --------
    >>> from quell.theory import pi_design
    >>> pi = pi_design(flows=60, rtt=0.246, capacity=3750, sampling_hz=160)
    >>> pi.a > pi.b
    True
    """
    @property
    def a(self) -> float | None:
        """float or None: Gain a of the discrete form per packet, if a sampling rate was given."""
    @property
    def b(self) -> float | None:
        """float or None: Gain b of the discrete form per packet, if a sampling rate was given."""
    @property
    def crossover_rad_per_s(self) -> float:
        """float: The frequency at which the gain is made 1, in rad/s."""
    @property
    def k_i(self) -> float:
        """float: K_I per packet and second; K of ``K (s/z + 1)/s``."""
    @property
    def k_p(self) -> float:
        """float: K_P per packet."""
    @property
    def phase_margin_deg(self) -> float:
        """float: The phase margin with the delay R, in degrees (Chen 2010, eq. 6.5)."""
    @property
    def zero_rad_per_s(self) -> float:
        """float: The zero z at the corner of TCP's windows, in rad/s."""

@final
class Progress:
    """The progress of a run.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    >>> seen = []
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"}, progress=seen.append)
    >>> all(step.total == 2 for step in seen)
    True
    """
    @property
    def done(self) -> float:
        """float: Share of the simulated time that is done, in [0, 1]."""
    @property
    def elapsed_s(self) -> float:
        """float: Seconds since the beginning."""
    @property
    def finished(self) -> int:
        """int: Finished replications."""
    @property
    def left_s(self) -> float | None:
        """float or None: Estimated seconds to the end; None until there is an estimate."""
    @property
    def total(self) -> int:
        """int: All replications."""

@final
class QueueMap:
    """The map behind ARED with dynamic thresholds: the queue from one time slot to the next (Jou et al. 2003,
    section VI).

    ``f(q) = q + S (sum_k W C/(q + d_k C) - C)`` (Jou et al. 2003, eq. 6), and noise, within the buffer (eq.
    15). Units are bits, seconds and bits per second.

    Parameters
    ----------
    capacity : float
        C in bit/s.
    window : float
        The mean window W in bits.
    delays : array_like
        The round-trip propagation delay d_k of each flow, in seconds.
    interval : float
        The time slot S in seconds.

    Raises
    ------
    TheoryError
        If a quantity is not positive and finite, or there are no flows.

    Examples
    --------
    Twenty flows of Jou et al. 2003, Fig. 17:

    >>> from quell.theory import QueueMap
    >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    >>> round(queue.equilibrium)
    820000
    """
    def __new__(
        cls, *, capacity: float, window: float, delays: npt.ArrayLike, interval: float
    ) -> QueueMap: ...
    @property
    def by_proposition_6_1(self) -> bool:
        """bool: Proposition 6.1 (and with it the convergence of 6.3): the map contracts."""
    @property
    def by_proposition_6_2(self) -> bool:
        """bool: Proposition 6.2: q_e is stable from every start, as f'(q_e) >= 0."""
    @property
    def contracting_interval_s(self) -> float:
        """float: Below this slot the map contracts (Jou et al. 2003, eq. 10), in seconds."""
    def contraction(self, largest: float) -> float:
        """Compute the factor by which two queues converge or diverge in a slot (Jou et al. 2003, eq. 14, 16).

        Parameters
        ----------
        largest : float
            The largest queue considered, in bits.

        Returns
        -------
        float
            The largest ``|f'|`` up to there.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> queue.contraction(queue.equilibrium) > 0
        True
        """
    @property
    def equilibrium(self) -> float:
        """float: The queue q_e at the map's fixed point (Jou et al. 2003, eq. 9), in bits."""
    def gaussian(self, sigma: float) -> tuple[float, float]:
        """Approximate the queue by a normal distribution (Jou et al. 2003, eq. 20 and 21).

        Parameters
        ----------
        sigma : float
            The standard deviation of each flow's rate, in bit/s.

        Returns
        -------
        (float, float)
            The mean and the standard deviation, in bits.

        Raises
        ------
        TheoryError
            If there is no equilibrium, or disturbances grow.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> mean, deviation = queue.gaussian(77021)
        >>> round(mean)
        820000
        """
    @property
    def locally_stable(self) -> bool:
        """bool: Whether q_e is stable against small disturbances, ``|f'(q_e)| < 1``."""
    def next(self, queue: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Compute the queue one slot later, without noise and limits (Jou et al. 2003, eq. 6).

        Parameters
        ----------
        queue : array_like
            Queues in bits.

        Returns
        -------
        numpy.ndarray
            One queue for each, in bits.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> float(queue.next([queue.equilibrium])[0]) - queue.equilibrium < 1
        True
        """
    @property
    def rising_interval_s(self) -> float:
        """float: Up to this slot f'(q_e) >= 0, in seconds; with equal delays the round-trip time."""
    def slope(self, queue: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Compute f' (Jou et al. 2003, eq. 13).

        Parameters
        ----------
        queue : array_like
            Queues in bits.

        Returns
        -------
        numpy.ndarray
            One slope for each.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> round(float(queue.slope([queue.equilibrium])[0]), 2)
        0.5
        """
    def stationary(
        self, buffer: float, sigma: float, cell: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Compute the stationary distribution of the queue as a Markov chain (Jou et al. 2003, eq. 15 to 19).

        Its states are an empty queue, a full one, and cells between. The time grows with the cube of the
        number of cells.

        Parameters
        ----------
        buffer : float
            The buffer in bits.
        sigma : float
            The standard deviation of each flow's rate, in bit/s.
        cell : float
            The width of a cell in bits, such as a packet.

        Returns
        -------
        (numpy.ndarray, numpy.ndarray)
            The queues in bits (0, the middles of the cells, the buffer) and their probabilities.

        Raises
        ------
        TheoryError
            If there is no equilibrium, there are more than 2000 cells, or a cell is wider than the noise.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> lengths, shares = queue.stationary(2.56e6, 77021, 2e4)
        >>> round(float(shares.sum()), 6)
        1.0
        """
    @property
    def sufficient_interval_s(self) -> float:
        """float: A slot short enough for proposition 6.2 that depends only on the longest delay, in seconds;
        with the factor W C that the printed second term lacks.
        """
    def trajectory(
        self, start: float, noise: npt.ArrayLike, *, buffer: float | None = None
    ) -> npt.NDArray[np.float64]:
        """Follow the queue slot by slot, held within the buffer (Jou et al. 2003, eq. 15).

        Parameters
        ----------
        start : float
            The first queue in bits.
        noise : array_like
            What is added in each slot, in bits; zeros for none.
        buffer : float, optional
            The buffer in bits; by default there is no limit.

        Returns
        -------
        numpy.ndarray
            The queue after each slot, in bits.

        Examples
        --------
        >>> from quell.theory import QueueMap
        >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
        >>> path = queue.trajectory(0, [0] * 100)
        >>> bool(abs(path[-1] - queue.equilibrium) < 1)
        True
        """

@final
class Reach:
    """The range in which a quantity may move, alone, before the verdict changes.

    Examples
    --------
    >>> from quell.theory import analyze, dumbbell
    >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
    >>> [reach.quantity for reach in link["pi"].reach]
    ['flows', 'capacity', 'rtt']
    """
    @property
    def beyond_high(self) -> str | None:
        """str or None: The verdict above: "stable", "unstable" or why there is no equilibrium."""
    @property
    def beyond_low(self) -> str | None:
        """str or None: The verdict below: "stable", "unstable" or why there is no equilibrium."""
    @property
    def high(self) -> float | None:
        """float or None: The largest value with this verdict; None if the verdict does not change up to a
        thousandfold.
        """
    @property
    def low(self) -> float | None:
        """float or None: The smallest value with this verdict; None if the verdict does not change down to a
        thousandth.
        """
    @property
    def now(self) -> float:
        """float: Its current value."""
    @property
    def quantity(self) -> Literal["flows", "capacity", "rtt"]:
        """{"flows", "capacity", "rtt"}: The quantity that moves; capacity is in packets/s, rtt in seconds."""

@final
class Results:
    """The results of a run, from :func:`run` or :func:`read`.

    The tables ``metrics``, ``series``, ``internals``, ``flows``, ``transfers``, ``delays``,
    ``throughput`` and ``replications`` are :class:`Columns`; each row names its replication by
    ``point`` (from 0), ``algorithm`` and ``seed``.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> results.algorithms
    ['codel', 'pie']
    >>> frame = results.to_pandas()
    >>> len(frame)
    12
    """
    def _chart(
        self,
        diagram: str,
        *,
        point: int = 0,
        link: str | None = None,
        seed: int | None = None,
        algorithms: Sequence[str] | None = None,
        scope: str = "all",
        metric: str = "utilization",
        over: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
    @property
    def algorithms(self) -> list[str]:
        """list of str: The labels of the algorithms, in the order of the scenario (of its first point)."""
    @property
    def commit(self) -> str:
        """str: The commit of the source that made it; "unknown" if that was not built from a repository."""
    def compare(
        self,
        baseline: str,
        metrics: Sequence[str] | None = None,
        *,
        point: int = 0,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> Columns:
        """Compare the algorithms with one of them, paired by seed (common random numbers).

        Parameters
        ----------
        baseline : str
            The label of the algorithm to compare with.
        metrics : sequence of str, optional
            As in :meth:`table`.
        point : int, default 0
            As in :meth:`table`.
        link : str, optional
            As in :meth:`table`.
        segment : int, optional
            As in :meth:`table`.
        scope : str, default "all"
            As in :meth:`table`.

        Returns
        -------
        Columns
            One row per other algorithm and metric: ``algorithm``, ``metric``, ``unit``, ``difference`` (algorithm minus
            baseline, mean over the seeds both have), ``half_width`` (of its 95% interval; null for a single seed),
            ``n`` (pairs), ``significant`` (whether the interval excludes zero).

        Raises
        ------
        ValueError
            If the algorithm, metric, point, link, segment or scope does not exist.

        Examples
        --------
        >>> import quell
        >>> scenario = {
        ...     "schema": 1, "duration": "20 s", "warmup": "5 s",
        ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
        ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
        ...     "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
        ... }
        >>> results = quell.run(scenario, seeds=2)
        >>> row = results.compare("drop-tail", ["queue_packets"])
        >>> row["algorithm"], row["difference"][0] < 0
        (['red'], True)
        """
    @property
    def delays(self) -> Columns:
        """Columns: The distribution function of the queueing delay, per replication, link and scope."""
    @property
    def digest(self) -> str:
        """str: A hash over the digests of all replications."""
    @property
    def digests(self) -> dict[tuple[int, str, int], str]:
        """dict of (int, str, int) to str: For each replication, by point, algorithm and seed, 16 hexadecimal digits;
        equal digests mean equal sample paths.
        """
    @property
    def engine(self) -> dict[str, str]:
        """dict of str to str: The fingerprints of the engine that made it, by algorithm: results with equal fingerprints
        come from engines that compute the same.
        """
    @property
    def flows(self) -> Columns:
        """Columns: One row per replication and flow, over the measured window."""
    @property
    def holes(self) -> list[dict[str, Any]]:
        """list of dict: The points of a sweep that are not valid and were not run: ``title``, ``settings``, and
        ``reason``.
        """
    @property
    def info(self) -> dict[str, Any]:
        """dict: What was run, how and when: the contents of ``run.json``."""
    @property
    def internal_means(self) -> Columns:
        """Columns: Averages of the algorithms' internal signals: one row per replication, link, segment (null:
        the whole measured window) and signal, with its unit; the mean of the samples in :attr:`internals`.
        """
    @property
    def internals(self) -> Columns:
        """Columns: The algorithms' internal signals over time: one row per replication, link, signal and
        step, with the signal's name and unit.
        """
    @property
    def metrics(self) -> Columns:
        """Columns: One row per replication, link, segment (null: the whole measured window) and scope ("all", "data", a
        class, "lane:…" or, for transfers by size, "size:0-10kB" and so on), with one column per metric; null if a
        metric does not apply.
        """
    @property
    def notes(self) -> list[str]:
        """list of str: What a reader of the results should know: surprises in the scenarios (useless ECN, a key without
        effect) and in the results (no steady state, one sample path for all seeds).
        """
    @property
    def partial(self) -> bool:
        """bool: Whether the run was stopped before all replications were finished."""
    @property
    def plot(self) -> quell.plot.Plots:
        """Plots: The figures of the report, drawn with matplotlib: ``results.plot.queue()`` is
        ``quell.plot.queue(results)``.
        """
    @property
    def points(self) -> list[dict[str, Any]]:
        """list of dict: The points of a sweep: ``title`` ("dumbbell.rate = 10 Mbit/s"), ``settings`` (a
        dict of fields and values), ``scenario`` (resolved), ``algorithms``, ``seeds``, ``links``,
        ``classes``, ``segments`` (pairs of seconds), and ``changes`` (of links and flows on the way:
        seconds, and what in words).
        """
    @property
    def replications(self) -> Columns:
        """Columns: One row per replication: digest, events, time taken."""
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report: one HTML file that opens offline.

        Parameters
        ----------
        path : str or os.PathLike
            The file; an existing one is replaced.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results.report(folder + "/report.html")
        ...     [path.name for path in pathlib.Path(folder).iterdir()]
        ['report.html']
        """
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write everything to a folder, whole or not at all: ``run.json`` and Parquet files.

        Parameters
        ----------
        folder : str or os.PathLike
            The folder.
        overwrite : bool, default False
            Whether to replace an earlier result there.

        Raises
        ------
        OSError
            If the folder cannot be written, or something is in the way.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results.save(folder + "/study")
        ...     quell.read(folder + "/study").digest == results.digest
        True
        """
    @property
    def scenario(self) -> dict[str, Any]:
        """dict: The scenario with every default filled in (of the first point, if it sweeps)."""
    @property
    def series(self) -> Columns:
        """Columns: Queue, delay, drops and marks over time: one row per replication, link and step."""
    @property
    def styles(self) -> dict[str, dict[str, Any]]:
        """dict of str to dict: The look of each algorithm, the same in every plot and in the report: ``color``, ``dark``
        (its color on a dark background), ``dashes`` (lengths of dashes and gaps in pixels; empty: solid) and ``mark``.
        """
    def table(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> Columns:
        """Summarize each algorithm's metrics as means over the seeds with 95% intervals.

        Parameters
        ----------
        metrics : sequence of str, optional
            Which metrics, by name or title (:func:`metric_list`); by default those of the standard table, or of
            transfers if the scope is a size. ``name[class]`` is the metric of a class, whatever the scope;
            ``internal:signal`` is the mean of an algorithm's internal signal; and ``a/b`` is the ratio of two metrics,
            taken in each replication.
        point : int, optional
            Which point of a sweep; by default all.
        link : str, optional
            Which observed link; by default the first.
        segment : int, optional
            Which segment; by default the whole measured window.
        scope : str, default "all"
            "all", "data" (all but acknowledgments), a class, a lane ("lane:l") or the transfers of a size
            ("size:0-10kB", "size:10-100kB", "size:100kB-1MB", "size:1MB-").

        Returns
        -------
        Columns
            One row per algorithm and metric that applies: ``algorithm``, ``metric``, ``unit``, ``mean``, ``half_width``
            (of the 95% interval, Student's t; null for a single seed), ``n`` (seeds). For all points of a sweep,
            ``point`` comes first, and each field that varies, with its value as text.

        Raises
        ------
        ValueError
            If the metric, point, link, segment or scope does not exist.

        Examples
        --------
        >>> import quell
        >>> scenario = {
        ...     "schema": 1, "duration": "20 s", "warmup": "5 s",
        ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
        ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
        ...     "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
        ... }
        >>> table = quell.run(scenario, seeds=2).table(["utilization", "queue_packets"])
        >>> table["algorithm"]
        ['drop-tail', 'drop-tail', 'red', 'red']
        >>> table.column_names
        ['algorithm', 'metric', 'unit', 'mean', 'half_width', 'n']
        """
    @property
    def throughput(self) -> Columns:
        """Columns: Throughput over time: one row per replication, link, class and step."""
    @property
    def title(self) -> str:
        """str: The scenario's title."""
    def to_csv(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str:
        """Format metrics as CSV: one row per algorithm and point, with interval bounds and the number of seeds.

        Parameters
        ----------
        metrics : sequence of str, optional
            As in :meth:`table`.
        point : int, optional
            As in :meth:`table`.
        link : str, optional
            Which observed link, or "all" for each; by default the first.
        segment : int, optional
            As in :meth:`table`.
        scope : str, default "all"
            As in :meth:`table`.

        Returns
        -------
        str
            CSV (RFC 4180), with every number in the unit of its column's name.

        Raises
        ------
        ValueError
            If the metric, point, link, segment or scope does not exist.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> print(results.to_csv(["utilization"]).splitlines()[0])
        link,class,algorithm,seeds,utilization,utilization low,utilization high
        """
    def to_latex(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str:
        """Format metrics as a LaTeX ``tabular`` with the rules of the package booktabs.

        Parameters
        ----------
        metrics : sequence of str, optional
            As in :meth:`table`.
        point : int, optional
            As in :meth:`table`.
        link : str, optional
            Which observed link, or "all" for each; by default the first.
        segment : int, optional
            As in :meth:`table`.
        scope : str, default "all"
            As in :meth:`table`.

        Returns
        -------
        str
            The table, after comments that say what the intervals are and what made it.

        Raises
        ------
        ValueError
            If the metric, point, link, segment or scope does not exist.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> "begin{tabular}" in results.to_latex(["utilization"])
        True
        """
    def to_markdown(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str:
        """Format metrics as a Markdown table, with units that fit and the digits that the intervals support.

        Parameters
        ----------
        metrics : sequence of str, optional
            As in :meth:`table`.
        point : int, optional
            As in :meth:`table`.
        link : str, optional
            Which observed link, or "all" for each; by default the first.
        segment : int, optional
            As in :meth:`table`.
        scope : str, default "all"
            As in :meth:`table`.

        Returns
        -------
        str
            The table, followed by a note on the intervals.

        Raises
        ------
        ValueError
            If the metric, point, link, segment or scope does not exist.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> print(results.to_markdown(["queue_delay_mean_s"]).splitlines()[0])
        | algorithm | mean delay (ms) |
        """
    def to_pandas(self, name: str = "metrics") -> pandas.DataFrame:
        """Convert a table to a pandas DataFrame.

        Parameters
        ----------
        name : str, default "metrics"
            Which table: "metrics", "series", "internals", "internal_means", "throughput", "flows",
            "transfers", "delays" or "replications".

        Returns
        -------
        pandas.DataFrame
            Its columns.

        Raises
        ------
        ValueError
            If the table does not exist.
        ModuleNotFoundError
            If pandas or pyarrow is not installed; ``pip install "quell[pandas]"`` installs both.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> frame = results.to_pandas("series")
        >>> "queue_packets" in frame.columns
        True
        """
    def to_polars(self, name: str = "metrics") -> polars.DataFrame:
        """Convert a table to a polars DataFrame.

        Parameters
        ----------
        name : str, default "metrics"
            Which table, as in :meth:`to_pandas`.

        Returns
        -------
        polars.DataFrame
            Its columns.

        Raises
        ------
        ValueError
            If the table does not exist.
        ModuleNotFoundError
            If polars is not installed; ``pip install "quell[polars]"`` installs it.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
        >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
        >>> frame = results.to_polars()
        >>> frame["algorithm"].unique().sort().to_list()
        ['codel', 'pie']
        """
    def trace(self, name: Literal["flows", "packets"]) -> Columns:
        """Read a trace of senders over time or of packets at links, as ``run(..., trace=...)`` and ``quell run --trace``
        keep it. docs/traces.md describes its columns.

        Parameters
        ----------
        name : {"flows", "packets"}
            Which trace.

        Returns
        -------
        Columns
            One row per sample of a sender, or per event of a packet.

        Raises
        ------
        ValueError
            If no trace has that name.
        OSError
            If the results have no such trace, or it is damaged.

        Examples
        --------
        >>> import quell
        >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
        >>> results = quell.run(net, seeds=1, overrides={"duration": "10 s", "warmup": "2 s"}, trace=["flows"])
        >>> "cwnd_packets" in results.trace("flows").column_names
        True
        """
    @property
    def transfers(self) -> Columns:
        """Columns: One row per replication and finished transfer: when it began, its completion time, size and slowdown,
        and when its sender knew that it was complete (null: not by the end of the run).
        """

class RunError(RuntimeError):
    """A run that gave no results; the message says which replication and why.

    Examples
    --------
    >>> import quell
    >>> issubclass(quell.RunError, RuntimeError)
    True
    """

    ...

class ScenarioError(ValueError):
    """A scenario that cannot be used: the message says where, what and why.

    Attributes
    ----------
    file : str
        The file, or ``<dict>``.
    line : int or None
        The line, counted from 1; None for a dict.
    field : str
        The field, such as ``flows[1].rtt``; empty if the scenario as a whole is meant.
    value : str or None
        Its value as written.
    rule : str
        The rule that it breaks.
    nearest : str or None
        The nearest valid name, if a name is wrong.

    Examples
    --------
    >>> import quell
    >>> try:
    ...     quell.check({"schema": 1})
    ... except quell.ScenarioError as error:
    ...     print("refused")
    refused
    """

    file: str
    line: int | None
    field: str
    value: str | None
    rule: str
    nearest: str | None

@final
class Summary:
    """A summary of the motion of a queue.

    Examples
    --------
    >>> from quell.theory import dumbbell, fluid
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> summary = fluid(net, 60).summary(30)
    >>> summary.least <= summary.mean <= summary.most
    True
    """
    @property
    def amplitude(self) -> float:
        """float: Half of the range from the least to the most, in packets, in the second half of the time."""
    @property
    def amplitude_before(self) -> float:
        """float: The same in the first half."""
    @property
    def deviation(self) -> float:
        """float: Its standard deviation, in packets."""
    @property
    def least(self) -> float:
        """float: The smallest queue, in packets."""
    @property
    def mean(self) -> float:
        """float: The mean of the queue, in packets."""
    @property
    def most(self) -> float:
        """float: The largest queue, in packets."""
    @property
    def period_s(self) -> float | None:
        """float or None: The period, if there are at least two."""
    @property
    def settles(self) -> bool:
        """bool: Whether the queue settles, or its oscillations die out; otherwise they persist or grow."""

@final
class Task:
    """One replication of a study, with everything that another process or machine needs to make it: see :func:`tasks` and
    :func:`make`. It can be pickled.

    Parameters
    ----------
    key : str
        Its key.
    scenario : str
        The scenario, as TOML.
    settings : sequence of (str, str)
        The fields that distinguish its point, with their values.
    algorithm : str
        The algorithm's label.
    seed : int
        The seed.
    series : bool
        Whether its time series are kept.
    cost_packets : float
        About how much work it is, in packets.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    >>> task = quell.tasks(net, seeds=[7])[0]
    >>> task.algorithm, task.seed
    ('codel', 7)
    """
    def __new__(
        cls,
        key: str,
        scenario: str,
        settings: Sequence[tuple[str, str]],
        algorithm: str,
        seed: int,
        series: bool,
        cost_packets: float,
    ) -> Task: ...
    @property
    def algorithm(self) -> str:
        """str: The algorithm's label."""
    @property
    def cost_packets(self) -> float:
        """float: About how much work it is, in packets that its links can carry."""
    @property
    def key(self) -> str:
        """str: What identifies it, here and on every other machine: 64 hexadecimal digits."""
    @property
    def scenario(self) -> str:
        """str: The scenario with every default and this algorithm alone, as TOML."""
    @property
    def seed(self) -> int:
        """int: The seed."""
    @property
    def series(self) -> bool:
        """bool: Whether its time series are kept."""
    @property
    def settings(self) -> dict[str, str]:
        """dict of str to str: What distinguishes its point from the others of the study."""

class TheoryError(ValueError):
    """A question that the theory cannot answer; the message says why.

    Attributes
    ----------
    kind : str
        "quantity", "no-equilibrium", "unstable-open-loop", "tolerance", "no-model", "parameter" or "capture".
    quantity : str or None
        The quantity, parameter, algorithm or file that is meant.
    value : str or None
        Its value with its unit.
    reason : str
        The rule that it breaks, or why there is no answer.

    Examples
    --------
    >>> from quell.theory import TheoryError, red_tail_delay_bound
    >>> try:
    ...     red_tail_delay_bound(240e3, 0)
    ... except TheoryError:
    ...     print("refused")
    refused
    """

    kind: str
    quantity: str | None
    value: str | None
    reason: str

@final
class Trajectory:
    """The motion of a fluid, sampled. At a jump, the sample is the value before it.

    Examples
    --------
    >>> from quell.theory import dumbbell, fluid
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> path = fluid(net, 20)
    >>> len(path.time_s) == len(path.queue_packets)
    True
    """
    def __len__(self, /) -> int: ...
    @property
    def arrivals_pps(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: What arrives, in packets/s."""
    @property
    def lost(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: What a full queue loses, as a share of what the algorithm passed."""
    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The probability with which the algorithm signals."""
    @property
    def queue_packets(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The queue."""
    @property
    def rtt_s(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The round-trip times, one row for each class of flows."""
    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The senders' estimates of the share of marks, one row for each class of flows; no rows where
        they keep none.
        """
    @property
    def state(self) -> dict[str, npt.NDArray[np.float64]]:
        """dict of str to numpy.ndarray: The algorithm's own variables."""
    @property
    def steps(self) -> int:
        """int: Steps that the solver kept."""
    def summary(self, from_s: float = 0.0) -> Summary:
        """Summarize what the queue does from a time on.

        Parameters
        ----------
        from_s : float, default 0.0
            The time, in seconds.

        Returns
        -------
        Summary
            Mean, amplitude, period, and whether it settles.

        Raises
        ------
        TheoryError
            If there are fewer than 8 samples from that time on.

        Examples
        --------
        >>> from quell.theory import dumbbell, fluid
        >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
        >>> fluid(net, 60).summary(30).settles
        True
        """
    @property
    def time_s(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: Times of the samples, in seconds."""
    @property
    def windows_packets(self) -> npt.NDArray[np.float64]:
        """numpy.ndarray: The windows, one row for each class of flows."""

@final
class Verdict:
    """An algorithm's answer: ``PASS``, or what :func:`signal` and :func:`drop` return.

    Examples
    --------
    >>> import quell
    >>> quell.PASS, quell.signal(), quell.drop("forced")
    (quell.PASS, quell.signal("early"), quell.drop("forced"))
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...

def adversary(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    a: str,
    b: str,
    metric: str,
    vary: Mapping[str, str],
    *,
    link: str | None = None,
    scope: str = "all",
    trials: int = 50,
    seeds: int = 3,
    check_seeds: int = 20,
    seed: int = 1,
    threads: int | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    cache: bool | str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Search for the traffic under which algorithm ``a`` loses most against ``b``, and the other way around.

    The loss is the disadvantage in the metric over the larger of both values, per seed: a share of at most 1, above 0
    if the algorithm loses. Both cases are confirmed on fresh seeds. A case whose ``"verdict"`` is ``"does-not"`` is the
    closest one: within the bounds, the algorithm never lost. Start times that the scenario fixes are drawn by
    the seed.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`run`; a single point, not a sweep.
    a : str
        The algorithm that is to lose, by its label.
    b : str
        The algorithm to compare it with, by its label.
    metric : str
        As for :func:`tune`.
    vary : dict of str to str
        The fields that vary and their bounds, as for :func:`tune`.
    link : str, optional
        As for :func:`tune`.
    scope : str, default "all"
        As for :func:`tune`.
    trials : int, default 50
        The most trials of each of both searches.
    seeds : int, default 3
        As for :func:`tune`.
    check_seeds : int, default 20
        As for :func:`tune`.
    seed : int, default 1
        As for :func:`tune`.
    threads : int, optional
        As for :func:`run`.
    aqms : dict of str to callable, optional
        As for :func:`run`.
    overrides : dict of str to value, optional
        As for :func:`run`.
    cache : bool, str or os.PathLike, optional
        As for :func:`run`.

    Returns
    -------
    dict
        What ``quell adversary --format json`` prints. ``"cases"`` has the worst case of ``a`` and that of ``b``, each
        with its ``"scenario"``, of which :func:`run` gives the same figures.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule.
    ValueError
        If an argument does not fit the scenario, or if no trial has a value.
    RunError
        If a replication could not be run.
    OSError
        If the file cannot be read.
    KeyboardInterrupt
        After Ctrl-C. The cache has what was finished.

    Examples
    --------
    >>> import quell
    >>> scenario = {
    ...     "schema": 1, "duration": "10 s", "warmup": "5 s",
    ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "voice", "kind": "udp", "rate": "1 Mbit/s", "packet": "500 B"}],
    ...     "aqm": [{"algorithm": "policer", "rate": "1 Mbit/s"}, {"algorithm": "drop-tail"}],
    ... }
    >>> found = quell.adversary(
    ...     scenario, "policer", "drop-tail", "goodput_bps", {"flows.voice.rate": "0.2..1.8 Mbit/s"},
    ...     trials=10, check_seeds=2, cache=False,
    ... )
    >>> [case["verdict"] for case in found["cases"]]
    ['loses', 'does-not']
    """

def analyze(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    algorithms: Sequence[str] | None = None,
    link: str | None = None,
    at: str | float | None = None,
    plant: Literal["exact", "simplified"] = "exact",
    reach: bool | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Bottleneck]:
    """Ask the theory about a scenario: each algorithm's equilibrium, and whether it is stable.

    The model is TCP in congestion avoidance and a fluid queue, linearized at its equilibrium, with the exact
    delay. It includes only long-lived flows; ``left_out`` names what is omitted.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`quell.run`; :func:`dumbbell` makes one from a few quantities.
    algorithms : sequence of str, optional
        Which algorithms, by label; by default all.
    link : str, optional
        Which link; by default the first that is measured.
    at : str or float, optional
        The time at which flows, rates and delays are taken ("60 s", or seconds); by default the end of the
        warm-up.
    plant : {"exact", "simplified"}, default "exact"
        How much of the flows' delay the model keeps; as for :class:`Loop`.
    reach : bool, optional
        Whether to find how far N, C and R may move; by default for scenarios without a sweep.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.

    Returns
    -------
    list of Bottleneck
        One for each point of a sweep.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule, or no long-lived flow crosses the link at that time.
    TheoryError
        If a parameter breaks a rule. The absence of an equilibrium or a model is a verdict, not an error.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from quell.theory import analyze, dumbbell
    >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi", "drop-tail"]))
    >>> link["drop-tail"].verdict
    'no model'
    >>> link["pi"].loop.stable == (link["pi"].verdict == "stable")
    True
    """

def aqm_describe(name: str) -> dict[str, Any]:
    """Describe an algorithm and its parameters.

    Parameters
    ----------
    name : str
        Its name in the catalog.

    Returns
    -------
    dict
        The fields of :func:`aqm_list`, and ``parameters``: for each, in order, its ``name``, ``doc``,
        ``unit`` ("1" for a pure number, "name" for a choice), ``default`` as a scenario would state it, and
        the ``source`` of the default.

    Raises
    ------
    ValueError
        If the catalog has no algorithm of that name.

    Examples
    --------
    >>> import quell
    >>> quell.aqm_describe("red")["parameters"][0]["name"]
    'min_th'
    """

def aqm_list() -> list[dict[str, str]]:
    """List the algorithms of the catalog.

    Returns
    -------
    list of dict of str to str
        For each algorithm, in the order of the documentation: ``name`` (as in scenarios), ``title``, ``family``,
        ``source`` (who published it where) and ``label`` (how far it can be trusted: ``experimental``, ``faithful`` if
        every equation is tested against known answers, ``reproduced`` if most of the published numbers that need a
        simulation are reproduced).

    Examples
    --------
    >>> import quell
    >>> [a["name"] for a in quell.aqm_list()][:2]
    ['drop-tail', 'red']
    """

def auto_tuning_setup(
    *, min_th: float, max_th: float, flows: float, rtt: float, capacity: float
) -> Criterion:
    """Evaluate Auto-Tuning RED's set-up: ``max_th - min_th >= 0.21 R C`` (Chen 2010, section 3.3.2).

    Parameters
    ----------
    min_th : float
        The lower threshold in packets.
    max_th : float
        The upper threshold in packets.
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.

    Returns
    -------
    Criterion
        Both sides and the verdict.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import auto_tuning_setup
    >>> auto_tuning_setup(min_th=20, max_th=60, flows=100, rtt=0.1, capacity=1250).holds
    True
    """

def avq_largest_phi(
    *, flows: float, rtt: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None:
    """Find the largest phi with which AVQ is stable at a round-trip time.

    Parameters
    ----------
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.
    tau : float, default 1.0
        The utilization that is wanted.
    a : float, default 1.5
        A signal takes W/a of the window.

    Returns
    -------
    float or None
        Per second; None if no value from 1e-6 up is small enough.

    Raises
    ------
    TheoryError
        If a quantity is not physical, or every packet would have to be marked.

    Examples
    --------
    >>> from quell.theory import avq_largest_phi
    >>> round(avq_largest_phi(flows=100, rtt=0.21, capacity=1250), 2)
    0.62
    """

def avq_longest_rtt(
    phi: float, *, flows: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None:
    """Find the longest round-trip time at which AVQ is stable (Kunniyur and Srikant 2001, Theorem 4.1).

    Parameters
    ----------
    phi : float
        AVQ's smoothing, per second.
    flows : float
        N.
    capacity : float
        C in packets/s.
    tau : float, default 1.0
        The utilization that is wanted.
    a : float, default 1.5
        A signal takes W/a of the window.

    Returns
    -------
    float or None
        In seconds, without queueing, because AVQ has none; None if no time up to 100 s is too long.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import avq_longest_rtt
    >>> round(avq_longest_rtt(0.15, flows=100, capacity=1250), 3)
    0.216
    """

def cache_dir(cache: bool | str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Say where a cache is.

    Parameters
    ----------
    cache : bool, str or os.PathLike, optional
        As for :func:`run`; by default the user's.

    Returns
    -------
    pathlib.Path
        Its folder, which need not exist, as an absolute path.

    Examples
    --------
    >>> import quell
    >>> quell.cache_dir("/tmp/runs").name
    'runs'
    """

def check(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: int | Sequence[int] | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Check a scenario without running it.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`run`.
    seeds : int or sequence of int, optional
        As for :func:`run`.
    aqms : dict of str to callable, optional
        As for :func:`run`; each is built once, to see whether it accepts its parameters.
    overrides : dict of str to value, optional
        As for :func:`run`.
    sweep : dict of str to value, optional
        As for :func:`run`.

    Returns
    -------
    list of dict
        The scenario with every default filled in; several if it sweeps.

    Warns
    -----
    UserWarning
        For each point of a sweep that is not valid, with the reason; the point is left out.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import quell
    >>> scenario = {
    ...     "schema": 1, "duration": "20 s", "warmup": "5 s",
    ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
    ...     "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
    ... }
    >>> [point["flows"][0]["count"] for point in quell.check(scenario, sweep={"flows.ftp.count": [2, 5]})]
    [2, 5]
    """

def cli(args: Sequence[str]) -> int:
    """Run the command line.

    Parameters
    ----------
    args : sequence of str
        The program's name and its arguments, as in ``sys.argv``.

    Returns
    -------
    int
        The exit code: 0 if all went well, 1 after a failure, 2 for a wrong scenario or argument,
        130 if it was interrupted.
    """

def critical_rtt(
    controller: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    flows: float,
    capacity: float,
    input: Literal["queue", "rate"] = "queue",
    a: float = 1.5,
    increase: float = 1.0,
    plant: Literal["exact", "simplified"] = "exact",
    delay: Literal["exact", "first-order-lag"] = "exact",
) -> float | None:
    """Find the round-trip time at which an algorithm with a fixed transfer function loses stability.

    Parameters
    ----------
    controller : (array_like, array_like)
        As for :class:`Loop`: numerator and denominator, the highest power of s first.
    flows : float
        N.
    capacity : float
        C in packets/s.
    input : {"queue", "rate"}, default "queue"
        What the controller is applied to.
    a : float, default 1.5
        A signal takes W/a of the window.
    increase : float, default 1.0
        Packets that a window gains per round trip.
    plant : {"exact", "simplified"}, default "exact"
        As for :class:`Loop`.
    delay : {"exact", "first-order-lag"}, default "exact"
        "first-order-lag" replaces the delay by ``1/(1 + R s)`` (Park et al. 2004, eq. 16), which is
        optimistic.

    Returns
    -------
    float or None
        R in seconds, queueing included; None if it is stable at every R up to 100 s, or at no shorter one.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    Park et al. 2004, section 5.4.2 prints 0.361 s for VRC's gains, by the lag; the exact delay allows less.

    >>> from quell.theory import critical_rtt
    >>> vrc = ([0.0003, 0.0024, 0.0045], [1, 0])
    >>> round(critical_rtt(vrc, flows=100, capacity=1250, delay="first-order-lag"), 3)
    0.363
    >>> round(critical_rtt(vrc, flows=100, capacity=1250), 3)
    0.28
    """

def design(
    aqm: str,
    *,
    rate: str | float,
    rtt: str | float,
    flows: int,
    packet: str | float | None = None,
    buffer: str | float | None = None,
    queue: str | float | None = None,
    signal: Literal["mark", "drop"] = "mark",
    congestion: Literal["reno", "cubic", "dctcp", "prague"] = "reno",
) -> Design:
    """Find parameters for a link by the algorithm's published rule.

    Give the worst case: the fewest flows and the longest round-trip time that the link will see.

    Parameters
    ----------
    aqm : str
        The algorithm: one of ``DESIGNED``.
    rate : str or float
        The link's rate ("10 Mbit/s", or bit/s).
    rtt : str or float
        R: the longest round-trip time with the queue at its target ("100 ms", or seconds).
    flows : int
        N: the fewest long-lived flows.
    packet : str or float, optional
        Size of a packet on the wire ("500 B", or bytes); by default 1000 bytes.
    buffer : str or float, optional
        The buffer ("200 packets", or packets); by default the bandwidth-delay product, at least 20
        packets.
    queue : str or float, optional
        The queue to hold; by default a quarter of the buffer. Rules that set their own ignore it.
    signal : {"mark", "drop"}, default "mark"
        How a signal reaches the senders.
    congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
        The flows' congestion control. The published rules are for Reno's window; "pi" is shaped for any.

    Returns
    -------
    Design
        The parameters, what the rule assumes, and what the theory says about them.

    Raises
    ------
    TheoryError
        If there is no rule for the algorithm, a quantity is not physical, or no parameters suit.

    Examples
    --------
    >>> from quell.theory import design
    >>> pi = design("pi", rate="10 Mbit/s", rtt="200 ms", flows=50)
    >>> pi.analysis.verdict
    'stable'
    >>> pi.aqm["algorithm"]
    'pi'
    """

def direction(metric: str) -> tuple[str, str]:
    """Read a metric with its direction, for :func:`quell.objective`.

    Parameters
    ----------
    metric : str
        As for :func:`tune`.

    Returns
    -------
    (str, str)
        Its name, and "minimize" or "maximize".
    """

def drop(cause: Literal["early", "forced", "overflow"] = "early") -> Verdict:
    """Drop the packet, whatever its ECN field says.

    Parameters
    ----------
    cause : {"early", "forced", "overflow"}, default "early"
        Why, as in :func:`signal`.

    Returns
    -------
    Verdict
        Return it from ``on_enqueue`` or ``on_dequeue``.

    Raises
    ------
    ValueError
        If the cause is not one of the three.

    Examples
    --------
    >>> import quell
    >>> class Threshold(quell.Aqm):
    ...     def on_enqueue(self, cx, pkt):
    ...         return quell.drop("forced") if cx.queue_packets > 20 else quell.PASS
    """

def dumbbell(
    *,
    rate: str | float,
    rtt: str | float,
    flows: int,
    algorithms: Sequence[str | Mapping[str, Any]],
    packet: str | float | None = None,
    buffer: str | float | None = None,
    signal: Literal["mark", "drop"] = "mark",
    congestion: Literal["reno", "cubic", "dctcp", "prague"] = "reno",
) -> dict[str, Any]:
    """Make a scenario of one link and flows of one kind: the network of the formulas.

    Parameters
    ----------
    rate : str or float
        The link's rate ("10 Mbit/s", or bit/s).
    rtt : str or float
        The round-trip time without queueing ("100 ms", or seconds).
    flows : int
        How many long-lived flows.
    algorithms : sequence of str or dict
        Names of the catalog, or tables as in a scenario: ``{"algorithm": "pi", "q_ref": "50 packets"}``.
    packet : str or float, optional
        Size of a packet on the wire ("500 B", or bytes); by default 1000 bytes.
    buffer : str or float, optional
        The buffer ("200 packets", or packets); by default twice the bandwidth-delay product, at least
        100 packets; where an algorithm needs more, what the link sends in 200 ms.
    signal : {"mark", "drop"}, default "mark"
        Whether flows and link use ECN.
    congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
        The flows' congestion control; the last two need marks.

    Returns
    -------
    dict
        The scenario, for :func:`analyze`, :func:`map` and :func:`quell.run`.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import dumbbell
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> net["dumbbell"]["rate"]
    '10 Mbit/s'
    """

def ewma_autocorrelation(weight: float, lag: int, *, rho: float = 0.0) -> float:
    """Compute the correlation of an exponentially weighted average with itself, in the limit.

    Parameters
    ----------
    weight : float
        The weight w of a new sample, in (0, 1].
    lag : int
        How many samples later.
    rho : float, default 0.0
        The samples have the correlation ``rho**k`` at lag k; 0 if they are independent.

    Returns
    -------
    float
        ``(1 - w)**lag`` for independent samples.

    Raises
    ------
    TheoryError
        If the weight or the correlation is out of range.

    Examples
    --------
    >>> from quell.theory import ewma_autocorrelation
    >>> round(ewma_autocorrelation(0.002, 500), 3)
    0.368
    """

def ewma_expectation(weight: float, t: int) -> float:
    """Compute the expectation of an exponentially weighted average over the mean of its samples.

    The first sample is 0, all others have the same mean: ``1 - (1 - w)**(t - 1)`` (Trinh and Molnár, lemma 1
    holds in the limit only).

    Parameters
    ----------
    weight : float
        The weight w of a new sample, in (0, 1].
    t : int
        Which sample, counted from 1.

    Returns
    -------
    float
        The expectation over the mean.

    Raises
    ------
    TheoryError
        If the weight is out of range.

    Examples
    --------
    >>> from quell.theory import ewma_expectation
    >>> round(ewma_expectation(0.002, 501), 2)
    0.63
    """

def ewma_variance(weight: float, t: int | None = None, *, rho: float | npt.ArrayLike | None = None) -> float:
    """Compute the variance of an exponentially weighted average over that of its samples (Trinh and Molnár,
    section 4.3).

    At sample ``t``, where the first sample is 0 (an empty queue), or in the limit: ``w/(2 - w)`` for
    independent samples. For correlated ones eq. 4 is used, with the sigma^2 that the printed second sum
    lacks.

    Parameters
    ----------
    weight : float
        The weight w of a new sample, in (0, 1].
    t : int, optional
        Which sample, counted from 1; by default the limit.
    rho : float or array_like, optional
        Correlation of samples: a number r for ``r**k`` at lag k, or the correlations at the lags 0, 1,
        2, ..., beyond which it is 0. By default samples are independent.

    Returns
    -------
    float
        The variance over that of the samples.

    Raises
    ------
    TheoryError
        If the weight or a correlation is out of range, or ``rho`` belongs to no stationary sequence.

    Examples
    --------
    >>> from quell.theory import ewma_variance
    >>> round(ewma_variance(0.002), 6)
    0.001001
    """

def fluid(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    duration: str | float,
    *,
    algorithm: str | None = None,
    start: Literal["empty", "equilibrium"] = "empty",
    nudge: float = 0.0,
    changes: Sequence[tuple[str | float, Mapping[str, str | float]]] | None = None,
    overflow: Literal["signals", "ignored"] = "signals",
    sample: str | float | None = None,
    tolerance: float | None = None,
    link: str | None = None,
    at: str | float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Trajectory:
    """Simulate TCP and an algorithm as a fluid: delay differential equations, with the delay that the queue
    causes.

    Chen 2010, eq. 4.1, Park et al. 2004, eq. 6-9, for any number of classes of flows: windows, queue, and the
    algorithm's own variables. N, C and R may change in steps.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`analyze`, without a sweep.
    duration : str or float
        How long ("100 s", or seconds).
    algorithm : str, optional
        Which algorithm, by label; needed if there are several.
    start : {"empty", "equilibrium"}, default "empty"
        Windows of one packet and an empty queue, or the equilibrium that :func:`analyze` finds.
    nudge : float, default 0.0
        With "equilibrium", this many more packets in the queue, to see whether it returns.
    changes : sequence of (str or float, dict of str to str or float), optional
        Times in seconds, rising, each with a dict of what changes then: "flows" (N), "rate" ("5 Mbit/s",
        or bit/s) and "rtt" (the mean without queueing, including a packet's own transmission). The algorithm
        is not told.
    overflow : {"signals", "ignored"}, default "signals"
        Whether senders see what a full queue loses; the papers' equations ignore it.
    sample : str or float, optional
        The time between samples; by default 10 ms.
    tolerance : float, optional
        Error per step, relative and absolute (packets; probabilities in thousandths); by default 1e-6.
    link : str, optional
        As for :func:`analyze`.
    at : str or float, optional
        As for :func:`analyze`: the network is that of this time, throughout.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.

    Returns
    -------
    Trajectory
        Arrays over time.

    Raises
    ------
    TheoryError
        If the algorithm has no continuous form, there is no equilibrium to start from, a quantity is not
        physical, or the tolerance cannot be reached.
    ScenarioError
        If the scenario breaks a rule.

    Examples
    --------
    >>> from quell.theory import dumbbell, fluid
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> path = fluid(net, 60, start="equilibrium", nudge=1)
    >>> len(path.time_s), path.windows_packets.shape
    (6001, (1, 6001))
    """

def fluid_map(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    x: tuple[str, npt.ArrayLike] | tuple[str, npt.ArrayLike, str],
    y: tuple[str, npt.ArrayLike] | tuple[str, npt.ArrayLike, str],
    duration: str | float,
    *,
    from_s: float | None = None,
    show: str = "settles",
    algorithm: str | None = None,
    start: Literal["empty", "equilibrium"] = "empty",
    nudge: float = 0.0,
    overflow: Literal["signals", "ignored"] = "signals",
    sample: str | float | None = None,
    tolerance: float | None = None,
    link: str | None = None,
    at: str | float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Map:
    """Map what the queue does over two quantities: one fluid for each point, on all cores.

    Points of one algorithm run side by side in the lanes of the processor.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`analyze`, without a sweep.
    x : (str, array_like), or (str, array_like, str)
        What varies across, as for :func:`map`.
    y : (str, array_like), or (str, array_like, str)
        What varies from bottom to top.
    duration : str or float
        How long each is simulated ("100 s", or seconds).
    from_s : float, optional
        When the queue's statistics begin, in seconds; by default after half of the duration.
    show : str, default "settles"
        "settles" (1 or 0), "mean", "deviation", "least", "most", "amplitude" (packets) or "period" (s).
    algorithm : str, optional
        Which algorithm, by label; needed if there are several.
    start : {"empty", "equilibrium"}, default "empty"
        As for :func:`fluid`.
    nudge : float, default 0.0
        As for :func:`fluid`.
    overflow : {"signals", "ignored"}, default "signals"
        As for :func:`fluid`.
    sample : str or float, optional
        As for :func:`fluid`.
    tolerance : float, optional
        As for :func:`fluid`.
    link : str, optional
        As for :func:`analyze`.
    at : str or float, optional
        As for :func:`analyze`.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.

    Returns
    -------
    Map
        The values.

    Raises
    ------
    TheoryError
        If there is no such axis, or the algorithm has no continuous form.
    ScenarioError
        If the scenario breaks a rule.

    Examples
    --------
    >>> from quell.theory import dumbbell, fluid_map
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> found = fluid_map(net, ("flows", [30, 60]), ("rtt", [0.05, 0.4]), 20, show="mean")
    >>> found.values.shape
    (2, 2)
    """

def hred_local(
    *, min_th: float, max_th: float, kappa: float, queue: float, bandwidth_delay: float
) -> Criterion:
    """Evaluate Joo et al. 2006, eq. 9: HRED is stable at a queue if its gain ``|G|`` is below 1.

    Sufficient, not necessary.

    Parameters
    ----------
    min_th : float
        The lower threshold in packets.
    max_th : float
        The upper threshold in packets.
    kappa : float
        The slope's parameter of Joo et al. 2006, eq. 10.
    queue : float
        The queue in packets.
    bandwidth_delay : float
        C times the propagation delay, in packets.

    Returns
    -------
    Criterion
        ``|G|`` and 1, and the verdict.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import hred_local
    >>> hred_local(min_th=150, max_th=300, kappa=2, queue=225, bandwidth_delay=1350).holds
    False
    """

def index(*, cache: bool | str | os.PathLike[str] | None = None) -> tuple[pathlib.Path, bool]:
    """Bring the index of a cache up to date.

    Parameters
    ----------
    cache : bool, str or os.PathLike, optional
        As for :func:`run`.

    Returns
    -------
    (pathlib.Path, bool)
        The pattern of its Parquet files, and whether it has any rows.
    """

def make(
    tasks: Sequence[Task], *, cache: bool | str | os.PathLike[str] | None = None, threads: int = 1
) -> dict[str, str]:
    """Make replications and put them into a cache, where :func:`run` finds them.

    Only the cache records what was made, so a process that makes tasks may be killed at any time, and its tasks may be
    given to another.

    Parameters
    ----------
    tasks : sequence of Task
        Which tasks.
    cache : bool, str or os.PathLike, optional
        The cache: a folder, or True for the user's.
    threads : int, default 1
        How many threads.

    Returns
    -------
    dict of str to str
        For each key "made", "found" (it was in the cache) or "failed: " and the reason.

    Raises
    ------
    RunError
        If no task could be started.

    Examples
    --------
    >>> import quell, tempfile
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    >>> todo = quell.tasks(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(quell.make(todo, cache=folder).values())
    ['made', 'made']
    """

def map(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    x: tuple[str, npt.ArrayLike] | tuple[str, npt.ArrayLike, str],
    y: tuple[str, npt.ArrayLike] | tuple[str, npt.ArrayLike, str],
    *,
    show: str = "growth",
    algorithm: str | None = None,
    link: str | None = None,
    at: str | float | None = None,
    plant: Literal["exact", "simplified"] = "exact",
    overrides: Mapping[str, Any] | None = None,
) -> Map:
    """Map a quantity of an algorithm over two of its parameters, or of the network's quantities.

    At each point the algorithm is built again, so that automatic parameters follow the link, and the
    equilibrium is found again. All cores are used.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`analyze`, without a sweep.
    x : (str, array_like), or (str, array_like, str)
        What varies across: its name, its values, and their unit if it is not the scenario's. Names are
        "flows", "rate" (bit/s), "rtt" (the mean without queueing, including a packet's own transmission, in
        seconds), or a parameter of the algorithm: ``("q_ref", [10, 20, 50], "packets")``.
    y : (str, array_like), or (str, array_like, str)
        What varies from bottom to top.
    show : str, default "growth"
        "growth" (real part of the slowest mode's root, per second: negative is stable),
        "unstable-roots", "gain-margin", "phase-margin" (degrees), "delay-margin" (s), "crossover"
        (rad/s), "damping", "period" (s), "settling" (s), "queue" (packets) or "probability".
    algorithm : str, optional
        Which algorithm, by label; needed if there are several.
    link : str, optional
        As for :func:`analyze`.
    at : str or float, optional
        As for :func:`analyze`.
    plant : {"exact", "simplified"}, default "exact"
        As for :class:`Loop`.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.

    Returns
    -------
    Map
        The values.

    Raises
    ------
    TheoryError
        If the axis does not exist, or if no point of the map has a value.
    ScenarioError
        If the scenario breaks a rule.

    Examples
    --------
    >>> from quell.theory import dumbbell, map
    >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    >>> found = map(net, ("flows", [30, 60, 120]), ("rtt", [0.05, 0.4]), show="queue")
    >>> found.values.shape
    (2, 3)
    """

def measure(
    path: str | os.PathLike[str],
    *,
    interval: str | float | None = None,
    window: str | float | None = None,
    inside: Sequence[str] | None = None,
    layer: str | None = None,
) -> dict[str, Any]:
    """Estimate R, N and C (round-trip time, flows, capacity) from a packet capture.

    "Up" is the traffic from the side that opens connections, "down" the traffic to it; with ``inside``, up is
    what leaves these networks. N counts a flow from its first packet until ``window`` after its last one
    (Chen 2010, section 4.4), and beside it the flows that sent data in an interval of the busy time, which is
    the N of fluid models. R is the time from a SYN to the acknowledgment that completes the handshake. C is the
    busiest 100 ms, the mode of packet pairs and the clock of acknowledgments, with a verdict on how well they
    agree; ``capacity_bps`` is None unless it can be determined. Capture behind the bottleneck, on the side of
    the receivers, where the link has spaced the packets.

    Parameters
    ----------
    path : str or os.PathLike
        The capture: pcap or pcapng, as it is or compressed by gzip or zstd.
    interval : str or float, optional
        The length of an interval; by default 1 s.
    window : str or float, optional
        How long a flow counts after its last packet; by default 60 s.
    inside : sequence of str, optional
        The networks on one side of the link, such as "192.0.2.0/24"; by default the side that opens
        connections.
    layer : str, optional
        The layer of rates and packets: "ip" (the default), "capture" for frames as captured, "ptm", or a word of
        tc-cake(8) such as "ethernet", "docsis" or "pppoe-ptm".

    Returns
    -------
    dict
        As ``quell measure --format json`` prints it: ``directions``, ``round_trips`` and so on, with
        units in the names. ``intervals`` is a dict of arrays, one item for each interval with packets.

    Raises
    ------
    TheoryError
        If the file is not a capture, or an option breaks a rule.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from quell.theory import measure
    >>> found = measure("trace.pcap")  # doctest: +SKIP
    >>> found["capacity_bps"]  # doctest: +SKIP
    """

def metric_list() -> list[dict[str, str]]:
    """List the metrics that a run returns.

    Returns
    -------
    list of dict of str to str
        For each metric, its ``name`` (the column in ``Results.metrics``, unit included), ``title``, ``unit`` ("1" for a
        pure number), ``doc``, ``source`` (where it comes from; may be empty), and ``better``: ``higher``, ``lower`` or
        ``neither``.

    Examples
    --------
    >>> import quell
    >>> [m["name"] for m in quell.metric_list()][:2]
    ['utilization', 'throughput_bps']
    """

def new(
    load: str, *, link: str, aqm: Sequence[str] | None = None, duration: str | None = None
) -> dict[str, Any]:
    """Make a scenario of a named load over a named link.

    ``quell new`` on the command line lists the names, as docs/presets.md does, and writes the same scenario with comments.

    Parameters
    ----------
    load : str
        The load, such as "rrul", "web" or "call".
    link : str
        The link, such as "home", "lte" or "satellite".
    aqm : sequence of str, optional
        The algorithms, by their names in the catalog; default: those of the load.
    duration : str, optional
        The simulated time, such as "20 s"; default: the load's own, or less on a fast link.

    Returns
    -------
    dict
        The scenario, for :func:`run`.

    Raises
    ------
    ValueError
        If a name does not exist, with the one that may have been meant, or the algorithms or the duration do not suit the
        link.

    Examples
    --------
    >>> import quell
    >>> scenario = quell.new("call", link="dsl", aqm=["codel", "fq-codel"], duration="20 s")
    >>> scenario["title"]
    'call over DSL'
    >>> scenario["duration"]
    '20 s'
    """

def oscillation(samples: npt.ArrayLike, step: str | float) -> Oscillation | None:
    """Find the strongest oscillation of a queue, and tell whether it is settled.

    This is how packets are compared with the theory's verdict: Welch's averaged spectrum, with a Hann
    window. Give the queue after the warm-up, sampled several times per round-trip time.

    Parameters
    ----------
    samples : array_like
        The queue at equal steps.
    step : str or float
        The step ("10 ms", or seconds).

    Returns
    -------
    Oscillation or None
        None for fewer than 64 samples, or if the queue does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from quell.theory import oscillation
    >>> t = np.arange(0, 100, 0.02)
    >>> found = oscillation(50 + 45 * np.sin(2 * np.pi * t / 1.25), 0.02)
    >>> found.motion, round(found.period_s, 2)
    ('oscillating', 1.25)
    """

def pi_design(
    *,
    flows: float,
    rtt: float,
    capacity: float,
    lambda_: float | None = None,
    sampling_hz: float | None = None,
) -> PiDesign:
    """Design PI by Hollot et al. 2001b (Chen 2010, section 3.4.2 and eq. 6.2-6.5).

    The zero cancels the corner of TCP's windows, ``z = 2N/(R^2 C)``, and the gain makes the crossover
    ``lambda/R``. The windows are those with a = 2.

    Parameters
    ----------
    flows : float
        The fewest flows N.
    rtt : float
        The longest R in seconds.
    capacity : float
        C in packets/s.
    lambda_ : float, optional
        The crossover times R; by default the zero is the crossover, as Hollot et al. chose.
    sampling_hz : float, optional
        Also give a and b of the discrete form at this rate.

    Returns
    -------
    PiDesign
        The gains and the phase margin that they leave.

    Raises
    ------
    TheoryError
        If a quantity is not physical, or the crossover leaves no phase margin.

    Examples
    --------
    >>> from quell.theory import pi_design
    >>> pi = pi_design(flows=60, rtt=0.246, capacity=3750, sampling_hz=160)
    >>> round(pi.zero_rad_per_s, 3), round(pi.phase_margin_deg, 1)
    (0.529, 75.1)
    """

def ranges(vary: Mapping[str, str]) -> list[dict[str, Any]]:
    """Read the fields that vary and their ranges, for :func:`quell.objective`.

    Parameters
    ----------
    vary : dict of str to str
        As for :func:`tune`.

    Returns
    -------
    list of dict of str to value
        Of each field its ``name``, the ends ``low`` and ``high``, the ``unit``, how many whole packets or bytes
        that is (``whole_per_unit``; None if it is neither), whether it is ``log``, and the ``values`` of a sweep's range.
    """

def read(folder: str | os.PathLike[str]) -> Results:
    """Read results that were saved to a folder, here or by the command ``quell run``.

    Parameters
    ----------
    folder : str or os.PathLike
        The folder.

    Returns
    -------
    Results
        What was saved.

    Raises
    ------
    OSError
        If the folder is not a result, or is incomplete or damaged; FileNotFoundError if there is none.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results.save(folder + "/study")
    ...     quell.read(folder + "/study").algorithms
    ['codel', 'pie']
    """

def red_by_hollot(*, slope: float, filter: float, flows: float, rtt: float, capacity: float) -> Criterion:
    """Evaluate RED's rule of Hollot et al. 2001a (Chen 2010, eq. 4.11-4.13).

    Parameters
    ----------
    slope : float
        L, of the probability over the average queue, per packet.
    filter : float
        K of the average, per second.
    flows : float
        The fewest flows N.
    rtt : float
        The longest R in seconds.
    capacity : float
        C in packets/s.

    Returns
    -------
    Criterion
        ``L (RC)^3/(2N)^2`` and ``sqrt(w_g^2/K^2 + 1)``, and the verdict.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import red_by_hollot
    >>> red_by_hollot(slope=0.001, filter=0.5, flows=60, rtt=0.246, capacity=3750).holds
    False
    """

def red_filter(*, slope: float, flows: float, rtt: float, capacity: float) -> float:
    """Compute the largest K of RED's average for a slope, by the rule of :func:`red_by_hollot`.

    Parameters
    ----------
    slope : float
        L per packet.
    flows : float
        The fewest flows N.
    rtt : float
        The longest R in seconds.
    capacity : float
        C in packets/s.

    Returns
    -------
    float
        Per second; infinite where no average is needed.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import red_filter
    >>> round(red_filter(slope=1.86e-4, flows=60, rtt=0.246, capacity=3750), 4)
    0.0052
    """

def red_map(
    x: tuple[str, npt.ArrayLike],
    y: tuple[str, npt.ArrayLike],
    *,
    flows: float | None = None,
    rtt: float | None = None,
    capacity: float | None = None,
    slope: float | None = None,
    filter: float | None = None,
    double: bool = False,
) -> npt.NDArray[np.floating]:
    """Map RED's loop gain at ``w_g = 0.1 min(2N/(R^2 C), 1/R)`` (Chen 2010, eq. 4.11-4.12): at most 1 is stable.

    A closed form, for maps of a million points in milliseconds. One class of flows, marks. The two
    quantities that vary need not be given otherwise.

    Parameters
    ----------
    x : (str, array_like)
        What varies across: its name ("flows", "rtt", "capacity", "slope" or "filter") and its values.
    y : (str, array_like)
        What varies from bottom to top.
    flows : float, optional
        N.
    rtt : float, optional
        R in seconds.
    capacity : float, optional
        C in packets/s.
    slope : float, optional
        L per packet.
    filter : float, optional
        K of the average, per second.
    double : bool, default False
        Compute in double precision, which takes longer.

    Returns
    -------
    numpy.ndarray of floating
        The gain at ``x[i]`` and ``y[j]`` in ``[j, i]``, in single precision without ``double``.

    Raises
    ------
    TheoryError
        If a value is not physical.

    Examples
    --------
    >>> import numpy as np
    >>> from quell.theory import red_map
    >>> axes = ("flows", np.linspace(20, 200, 1000)), ("rtt", np.linspace(0.02, 0.5, 1000))
    >>> gain = red_map(*axes, capacity=1250, slope=0.001, filter=0.5)
    >>> gain.shape
    (1000, 1000)
    """

def red_proposition(
    *, min_th: float, max_th: float, max_p: float, weight: float, flows: float, rtt: float, capacity: float
) -> Criterion:
    """Evaluate Chen 2010, proposition 4.9: RED with a small weight is stable if ``L w <= 0.8 N^3/(RC)^5``.

    That holds for ``N <= RC/2``; otherwise the bound is ``L w <= 0.4 N^2/(RC)^4``. Sufficient, not necessary.

    Parameters
    ----------
    min_th : float
        The lower threshold in packets.
    max_th : float
        The upper threshold in packets.
    max_p : float
        The probability there.
    weight : float
        The weight w of a new sample in the average.
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.

    Returns
    -------
    Criterion
        Both sides and the verdict.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import red_proposition
    >>> red_proposition(min_th=50, max_th=150, max_p=0.05, weight=1e-4, flows=50, rtt=0.12, capacity=2500).holds
    False
    """

def red_tail_delay_bound(max_th: float, capacity: float) -> float:
    """Compute the least mean delay of RED+Tail's first queue, ``maxth1/C`` (Jou et al. 2003, section VI.A).

    Parameters
    ----------
    max_th : float
        The upper threshold maxth1 in bits.
    capacity : float
        C in bit/s.

    Returns
    -------
    float
        In seconds.

    Raises
    ------
    TheoryError
        If a quantity is not positive and finite.

    Examples
    --------
    >>> from quell.theory import red_tail_delay_bound
    >>> red_tail_delay_bound(240e3, 3e6)
    0.08
    """

def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | list[str | os.PathLike[str] | Mapping[str, Any]],
    *,
    seeds: int | Sequence[int] | Literal["auto"] | None = None,
    precision: Mapping[str, str | float | None] | None = None,
    baseline: str | None = None,
    max_seeds: int = 50,
    threads: int | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], object] | None = None,
    engine: Literal["fast", "reference"] = "fast",
    cache: bool | str | os.PathLike[str] | None = None,
    fresh: bool = False,
    finished: bool = False,
    verify: float = 0.0,
    series: Literal["drawn", "all", "none"] = "drawn",
    trace: str | Sequence[str] | None = None,
    trace_step: str | None = None,
    trace_flows: Sequence[str | int] | None = None,
    trace_links: Sequence[str] | None = None,
) -> Results:
    """Run a scenario: every algorithm with every seed, over all cores.

    Python stays responsive while it runs: other threads continue, and Ctrl-C stops it cleanly.

    Parameters
    ----------
    scenario : str, os.PathLike or dict, or list of these
        A scenario file, or the same tree as dicts and lists. Quantities are strings with units ("10 Mbit/s", "100 ms",
        "50 packets"), as in files. Paths of files that it names, such as traces of a link's rate, are relative to the
        scenario file, or to the working directory for a dict. Several scenarios become one result; the settings of each
        point then begin with ``scenario``, the name of the file.
    seeds : int or sequence of int, or "auto", optional
        How many seeds (1, 2, ...) or which, instead of the scenario's; "auto" runs as many for each algorithm and point
        as ``precision`` needs.
    precision : dict of str to str, float or None, optional
        With ``seeds="auto"``, half the width at which a metric's 95% interval is narrow enough, by the metric's name
        (as for :meth:`Results.table`): a share of the mean such as "1%", or a value in the metric's unit. With a
        ``baseline``, differences smaller than this do not matter; None if every difference matters.
    baseline : str, optional
        With ``seeds="auto"``, the algorithm to compare the others with: seeds are added until each difference's
        interval excludes 0 or is as narrow as requested. Each decision is wrong with a probability of at most 5%, for
        normal differences.
    max_seeds : int, default 50
        With ``seeds="auto"``, the most seeds. ``results.info["sequential"]`` says how many each algorithm got, and why.
    threads : int, optional
        How many threads; by default one per core. The results do not depend on it.
    aqms : dict of str to callable, optional
        Algorithms written in Python (see :class:`Aqm`) by the name that the scenario gives as
        ``algorithm``. Each is called with the :class:`Link` and, as keywords, the parameters beside its name;
        a function that returns an object also works.
    overrides : dict of str to value, optional
        Fields to override in the scenario, by path: ``{"flows.ftp.count": 20}``. A value may be an expression of other
        fields: ``{"aqm.red.max_th": "0.5 * dumbbell.buffer"}``. A field that the scenario sweeps no longer varies.
    sweep : dict of str to value, optional
        Fields to vary, by path: over a list or a range, ``{"flows.ftp.count": [10, 20], "aqm.red.max_p":
        "0.02..0.2:log:5"}``, in every combination. It replaces the scenario's sweep of the same fields. The key
        ``"linked"`` has a list of such dicts, whose fields change together. Points that are not valid are left out: see
        :attr:`Results.holes`.
    progress : callable of Progress, optional
        Called with a :class:`Progress` a few times a second and once at the end, in this thread.
    engine : {"fast", "reference"}, default "fast"
        Which engine; both give the same sample path.
    cache : bool, str or os.PathLike, optional
        Where finished replications are kept and looked up before a run: a folder, True (the default) for your own cache
        (``$QUELL_CACHE``, or ``quell`` in your cache folder), or False for none. Replications with algorithms written
        in Python, or on the reference engine, are not kept.
    fresh : bool, default False
        Run every replication again, even if it is in the cache.
    finished : bool, default False
        Run nothing: use what the cache has, and mark the results partial unless it has everything.
    verify : float, default 0.0
        The share of cached replications to run again; one that differs raises RunError.
    series : {"drawn", "all", "none"}, default "drawn"
        Which replications keep their time series: those that a report can draw (the first seeds, at most ten per
        algorithm and about a hundred in all), all, or none.
    trace : str or sequence of str, optional
        Traces of the first seed of each algorithm at each point, for :meth:`Results.trace`: "flows" (senders over
        time), "packets" (each packet at the measured links), or both. These replications run even if they are in the
        cache. A replication's trace is in memory until it ends; unlike `quell run --trace`, this function does not
        refuse a trace that is too large.
    trace_step : str, optional
        The time between samples of a sender, such as "10 ms"; by default a sample after each change.
    trace_flows : sequence of str or int, optional
        The flows to trace, by group name or number; by default all.
    trace_links : sequence of str, optional
        The links whose packets to trace; by default all measured links.

    Returns
    -------
    Results
        The metrics of every replication.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule; has the attributes ``file``, ``line``, ``field``, ``value``,
        ``rule``, ``nearest``.
    RunError
        If a replication could not be run.
    OSError
        If the file cannot be read.
    Interrupted
        After Ctrl-C (it is a KeyboardInterrupt); its attribute ``results`` holds what was finished.
    Exception
        Whatever an algorithm written in Python or ``progress`` raises, as it was raised.

    Examples
    --------
    >>> import quell
    >>> scenario = {
    ...     "schema": 1, "duration": "20 s", "warmup": "5 s",
    ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
    ...     "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
    ... }
    >>> results = quell.run(scenario, seeds=2)
    >>> results.algorithms
    ['drop-tail', 'red']
    """

def search(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    over: str,
    metric: str,
    crosses: float | str,
    *,
    aqm: str | None = None,
    link: str | None = None,
    scope: str = "all",
    tolerance: float | str = "5%",
    max_seeds: int = 50,
    threads: int | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Crossing:
    """Search for the point of one axis of a scenario at which a metric crosses a value.

    The search is a bisection. At each probe, an interval over the seeds 1, 2, 3, ... decides which side of the value
    the metric is on, with more seeds as long as it is undecided. All probes together are wrong with a probability of at
    most 5%, for normal samples and a metric that crosses the value once.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`run`; a single point, not a sweep.
    over : str
        The field that varies and its ends, ``"aqm.red.max_p=0.01..0.5"`` or ``"dumbbell.rate=5 Mbit/s..50 Mbit/s"``,
        with ``:log`` at the end for a logarithmic axis. If a field takes only whole numbers, only those are probed;
        with a range as in a sweep (``"aqm.red.max_p=0.01..0.5:log:20"``), only its values are.
    metric : str
        Which metric, by name, as for :meth:`Results.table`; it may be of a class, a ratio, or an internal signal.
    crosses : float or str
        The value that it crosses, with or without a unit ("2%", "20 ms").
    aqm : str, optional
        The algorithm, by its label; by default the one that ``over`` names, or the scenario's only one.
    link : str, optional
        Which observed link; by default the first.
    scope : str, default "all"
        "all", "data" (all but acknowledgments) or a class.
    tolerance : float or str, default "5%"
        How narrow the interval for the crossing must be: a value in the axis's unit, or a share of the crossing such as
        "5%", which on a linear axis is at least a thousandth of the axis.
    max_seeds : int, default 50
        The most seeds per probe.
    threads : int, optional
        As for :func:`run`.
    aqms : dict of str to callable, optional
        As for :func:`run`.
    overrides : dict of str to value, optional
        As for :func:`run`.

    Returns
    -------
    Crossing
        The interval for the crossing, and the probes.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule, perhaps at an end of the axis.
    ValueError
        If an argument does not fit the scenario.
    RunError
        If a replication could not be run.
    OSError
        If the file cannot be read.
    KeyboardInterrupt
        After Ctrl-C.

    Examples
    --------
    >>> import quell
    >>> scenario = {
    ...     "schema": 1, "duration": "10 s", "warmup": "2 s",
    ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "voice", "kind": "udp", "rate": "1 Mbit/s", "packet": "500 B"}],
    ...     "aqm": [{"algorithm": "drop-tail"}],
    ... }
    >>> crossing = quell.search(
    ...     scenario, "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "utilization", "50%"
    ... )
    >>> crossing.low <= 1 <= crossing.high
    True
    """

def signal(cause: Literal["early", "forced", "overflow"] = "early") -> Verdict:
    """Signal congestion: mark the packet if it is ECN-capable and its queue marks, drop it otherwise.

    Parameters
    ----------
    cause : {"early", "forced", "overflow"}, default "early"
        Why: by chance before the queue is full, because a limit of the algorithm was exceeded, or because the buffer is
        full. Results count the three separately.

    Returns
    -------
    Verdict
        Return it from ``on_enqueue`` or ``on_dequeue``.

    Raises
    ------
    ValueError
        If the cause is not one of the three.

    Examples
    --------
    >>> import quell
    >>> class Threshold(quell.Aqm):
    ...     def on_enqueue(self, cx, pkt):
    ...         return quell.signal("forced") if cx.queue_packets > 20 else quell.PASS
    """

def tasks(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    series: Literal["drawn", "all", "none"] = "drawn",
    missing: bool = False,
    cache: bool | str | os.PathLike[str] | None = None,
) -> list[Task]:
    """List the replications of a study as tasks, the longest first.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`run`.
    seeds : int or sequence of int, optional
        As for :func:`run`.
    overrides : dict of str to value, optional
        As for :func:`run`.
    sweep : dict of str to value, optional
        As for :func:`run`.
    series : {"drawn", "all", "none"}, default "drawn"
        As for :func:`run`.
    missing : bool, default False
        List only those that the cache does not have.
    cache : bool, str or os.PathLike, optional
        As for :func:`run`; used only with ``missing``.

    Returns
    -------
    list of Task
        What :func:`make` makes, in this process or another.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule.
    ValueError
        If an algorithm is not in the catalog, because nothing identifies it.

    Examples
    --------
    >>> import quell
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    >>> todo = quell.tasks(net, seeds=2)
    >>> sorted((task.algorithm, task.seed) for task in todo)
    [('codel', 1), ('codel', 2), ('pie', 1), ('pie', 2)]
    """

def tcp_describe(name: str) -> dict[str, Any]:
    """Describe a part of a TCP sender.

    Parameters
    ----------
    name : str
        A value that :func:`tcp_list` lists, or with its key if the name is ambiguous: ``recovery.reno``.

    Returns
    -------
    dict
        The fields of :func:`tcp_list`; ``needs`` and ``refuses``, lists of settings; ``choices``, what Quell does where
        its source leaves something open; and ``parameters``: for each key that it reads but not every sender does, its
        ``name``, ``doc``, ``unit``, ``default``, ``range`` and the ``source`` of the default.

    Raises
    ------
    ValueError
        If nothing has that name.

    Examples
    --------
    >>> import quell
    >>> quell.tcp_describe("bbr3")["needs"]
    ['recovery = "rack"', 'pacing = true']
    """

def tcp_list() -> list[dict[str, str]]:
    """List the parts that make up TCP senders.

    Returns
    -------
    list of dict of str to str
        For each value of each key that selects a part, in the order of the documentation: ``key`` (of a group's ``tcp``
        table, such as ``congestion``), ``name`` (the value), ``title``, ``summary`` and ``source`` (where it is
        specified).

    Examples
    --------
    >>> import quell
    >>> [s["name"] for s in quell.tcp_list() if s["key"] == "slow_start"]
    ['standard', 'hystart++', 'hystart']
    """

def tune(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    vary: Mapping[str, str],
    metric: str,
    against: str | None = None,
    *,
    aqm: str | None = None,
    link: str | None = None,
    scope: str = "all",
    trials: int = 50,
    seeds: int = 3,
    check_seeds: int = 20,
    seed: int = 1,
    threads: int | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    cache: bool | str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Search for the values of fields with which a metric is best, or for a front of two metrics.

    Each trial runs the same seeds, so that trials differ only by the fields. The final results come from fresh seeds,
    beside those of the scenario as it is and of the ends of each range. Start times that the scenario fixes are drawn
    by the seed.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`run`; a single point, not a sweep.
    vary : dict of str to str
        The fields that vary and their ranges: ``{"aqm.red.max_p": "0.01..0.5:log"}``, as ``--vary`` of the command.
    metric : str
        Which metric, by name, as for :meth:`Results.table`, with ``:min`` or ``:max`` where its better direction is not
        clear or not meant.
    against : str, optional
        A second metric: the result is then a front.
    aqm : str, optional
        The algorithm, by its label; by default the one that the fields name, or the scenario's only one.
    link : str, optional
        Which observed link; by default the first.
    scope : str, default "all"
        "all", "data" (all but acknowledgments) or a class.
    trials : int, default 50
        The most trials.
    seeds : int, default 3
        The seeds of each trial: 1, 2, ... up to this.
    check_seeds : int, default 20
        The fresh seeds of the final results: those that follow.
    seed : int, default 1
        The seed of the search itself.
    threads : int, optional
        As for :func:`run`.
    aqms : dict of str to callable, optional
        As for :func:`run`.
    overrides : dict of str to value, optional
        As for :func:`run`.
    cache : bool, str or os.PathLike, optional
        As for :func:`run`.

    Returns
    -------
    dict
        What ``quell tune --format json`` prints. Among others, ``"trials"`` has each trial; ``"front"``, the numbers of
        the best ones; ``"verdict"``, whether the best setting is better than the scenario as it is; and ``"checks"``,
        the final results, each with its ``"scenario"``, of which :func:`run` gives the same figures.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule.
    ValueError
        If an argument does not fit the scenario, or if no trial has a value.
    RunError
        If a replication could not be run.
    OSError
        If the file cannot be read.
    KeyboardInterrupt
        After Ctrl-C. The cache has what was finished.

    Examples
    --------
    >>> import quell
    >>> scenario = {
    ...     "schema": 1, "duration": "10 s", "warmup": "5 s",
    ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "voice", "kind": "udp", "rate": "4 Mbit/s", "packet": "500 B"}],
    ...     "aqm": [{"algorithm": "drop-tail"}],
    ... }
    >>> found = quell.tune(
    ...     scenario, {"dumbbell.buffer": "10..100 packets:step:10"}, "queue_delay_mean_s", check_seeds=2, cache=False
    ... )
    >>> found["checks"][-1]["settings"]
    [{'field': 'dumbbell.buffer', 'value': '10 packets'}]
    """

def vrc_k_p_range(
    k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> tuple[float, float] | None:
    """Compute the range of K_P for a K_I and a K_D, Park et al. 2004, eq. 19 and 21.

    Parameters
    ----------
    k_i : float
        K_I per packet and second.
    k_d : float
        K_D in seconds per packet.
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.
    a : float, default 1.5
        A signal takes W/a of the window.

    Returns
    -------
    (float, float), or None
        Both ends, per packet, exclusive; None if K_I exceeds eq. 20.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import vrc_k_p_range
    >>> low, high = vrc_k_p_range(0.01, 0.001, flows=100, rtt=0.1, capacity=1250)
    >>> round(high, 3)
    0.125
    """

def vrc_largest_k_i(k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5) -> float:
    """Compute the bound of K_I, Park et al. 2004, eq. 20.

    Parameters
    ----------
    k_d : float
        K_D in seconds per packet.
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.
    a : float, default 1.5
        A signal takes W/a of the window.

    Returns
    -------
    float
        The bound, per packet and second; K_I must be smaller.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    The example of Park et al. 2004, section 3.2:

    >>> from quell.theory import vrc_largest_k_i, vrc_k_p_range
    >>> round(vrc_largest_k_i(0.001, flows=100, rtt=0.1, capacity=1250), 3)
    0.659
    >>> low, high = vrc_k_p_range(0.01, 0.001, flows=100, rtt=0.1, capacity=1250)
    >>> low, round(high, 3)
    (0.0, 0.125)
    """

def vrc_map(
    x: tuple[str, npt.ArrayLike],
    y: tuple[str, npt.ArrayLike],
    *,
    flows: float | None = None,
    rtt: float | None = None,
    capacity: float | None = None,
    k_p: float | None = None,
    k_i: float | None = None,
    k_d: float = 0.0,
    a: float = 1.5,
    double: bool = False,
) -> npt.NDArray[np.floating]:
    """Map the theorem of Park et al. 2004 for VRC, PID and PI: positive is stable, with a lag in place of the
    delay.

    The figure is ``(left - right)/(|left| + right)`` of Park et al. 2004, eq. 17, its misprint corrected:
    between -1 and
    1. A closed form, for maps of a million points in milliseconds. The two quantities that vary need not
    be given otherwise.

    Parameters
    ----------
    x : (str, array_like)
        What varies across: its name ("flows", "rtt", "capacity", "k_p", "k_i" or "k_d") and its values.
    y : (str, array_like)
        What varies from bottom to top.
    flows : float, optional
        N.
    rtt : float, optional
        R in seconds.
    capacity : float, optional
        C in packets/s.
    k_p : float, optional
        K_P per packet.
    k_i : float, optional
        K_I per packet and second.
    k_d : float, default 0.0
        K_D in seconds per packet; 0 makes it PI.
    a : float, default 1.5
        A signal takes W/a of the window.
    double : bool, default False
        Compute in double precision, which takes longer.

    Returns
    -------
    numpy.ndarray of floating
        The value at ``x[i]`` and ``y[j]`` in ``[j, i]``, in single precision without ``double``.

    Raises
    ------
    TheoryError
        If a value is not physical.

    Examples
    --------
    >>> from quell.theory import vrc_map
    >>> figures = vrc_map(("rtt", [0.36, 0.37]), ("k_d", [0.0003]), flows=100, capacity=1250,
    ...                   k_p=0.0024, k_i=0.0045)
    >>> figures > 0
    array([[ True, False]])
    """

def vrc_theorem(
    k_p: float, k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> Criterion:
    """Evaluate the theorem of Park et al. 2004: VRC, PID and PI are stable, with a lag for the delay, if and
    only if eq. 17 holds.

    The misprint of eq. 17 is corrected: its bracket ends in ``- tau2 R K_P``.

    Parameters
    ----------
    k_p : float
        K_P per packet.
    k_i : float
        K_I per packet and second.
    k_d : float
        K_D in seconds per packet; 0 makes it PI.
    flows : float
        N.
    rtt : float
        R in seconds.
    capacity : float
        C in packets/s.
    a : float, default 1.5
        A signal takes W/a of the window.

    Returns
    -------
    Criterion
        Both sides of eq. 17 and the verdict.

    Raises
    ------
    TheoryError
        If a quantity is not physical.

    Examples
    --------
    >>> from quell.theory import vrc_theorem
    >>> vrc_theorem(0.0024, 0.0045, 0.0003, flows=100, rtt=0.2, capacity=1250).holds
    True
    """
