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
    "vrc_k_p_range",
    "vrc_largest_k_i",
    "vrc_map",
    "vrc_theorem",
]

@final
class Analysis:
    @property
    def algorithm(self) -> str: ...
    @property
    def criteria(self) -> list[Criterion]: ...
    @property
    def equilibrium(self) -> Equilibrium | None: ...
    @property
    def label(self) -> str: ...
    @property
    def loop(self) -> Loop | None: ...
    @property
    def margins(self) -> Margins | None: ...
    @property
    def mode(self) -> Mode | None: ...
    @property
    def reach(self) -> list[Reach]: ...
    @property
    def reasons(self) -> list[str]: ...
    @property
    def unstable_roots(self) -> int | None: ...
    @property
    def verdict(self) -> Literal["stable", "unstable", "no equilibrium", "no model"]: ...

@final
class Bottleneck:
    def __getitem__(self, label: str, /) -> Analysis: ...
    @property
    def analyses(self) -> dict[str, Analysis]: ...
    @property
    def buffer_packets(self) -> float: ...
    @property
    def capacity_pps(self) -> float: ...
    @property
    def congestion(self) -> Literal["reno", "cubic", "dctcp", "prague"]: ...
    @property
    def flows(self) -> npt.NDArray[np.float64]: ...
    @property
    def left_out(self) -> list[str]: ...
    @property
    def link(self) -> str: ...
    @property
    def propagation_s(self) -> npt.NDArray[np.float64]: ...
    @property
    def settings(self) -> dict[str, str]: ...
    @property
    def signal(self) -> Literal["mark", "drop"]: ...

@final
class Columns:
    def __arrow_c_schema__(self) -> typing_extensions.CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> typing_extensions.CapsuleType: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def __len__(self, /) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_polars(self) -> polars.DataFrame: ...

@final
class Context:
    @property
    def head_since_s(self) -> float | None: ...
    @property
    def link_rate_bps(self) -> int | None: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def now_s(self) -> float: ...
    @property
    def queue_bytes(self) -> int: ...
    @property
    def queue_packets(self) -> int: ...
    def random(self) -> float: ...

@final
class Criterion:
    def __bool__(self, /) -> bool: ...
    @property
    def holds(self) -> bool: ...
    @property
    def left(self) -> float: ...
    @property
    def necessary(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def right(self) -> float: ...
    @property
    def statement(self) -> str: ...

@final
class Crossing:
    @property
    def algorithm(self) -> str: ...
    @property
    def ending(self) -> Literal["found", "undecided", "same-side", "end-undecided"]: ...
    @property
    def high(self) -> float | None: ...
    @property
    def link(self) -> str: ...
    @property
    def low(self) -> float | None: ...
    @property
    def probes(self) -> Columns: ...
    @property
    def rises(self) -> bool | None: ...

@final
class Design:
    @property
    def analysis(self) -> Analysis: ...
    @property
    def aqm(self) -> dict[str, Any]: ...
    @property
    def assumptions(self) -> list[str]: ...
    @property
    def scenario(self) -> dict[str, Any]: ...
    @property
    def warnings(self) -> list[str]: ...

@final
class Equilibrium:
    @property
    def probability(self) -> float: ...
    @property
    def queue_delay_s(self) -> float: ...
    @property
    def queue_packets(self) -> float: ...
    @property
    def rtt_s(self) -> float: ...
    @property
    def state(self) -> dict[str, float]: ...
    @property
    def window_packets(self) -> float: ...

class Interrupted(KeyboardInterrupt):
    results: Results

@final
class Link:
    @property
    def buffer_bytes(self) -> float: ...
    @property
    def buffer_counts_bytes(self) -> bool: ...
    @property
    def buffer_packets(self) -> float: ...
    @property
    def capacity_packets_per_s(self) -> float: ...
    @property
    def mean_packet_bytes(self) -> int: ...
    @property
    def rate_bps(self) -> int: ...

@final
class Loop:
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
    def at(self, s: npt.ArrayLike) -> npt.NDArray[np.complex128]: ...
    def bode(
        self, omega: npt.ArrayLike | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    @property
    def controller(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def first_order_lag(self) -> npt.NDArray[np.float64]: ...
    def frequencies(self, count: int = 500) -> npt.NDArray[np.float64]: ...
    def margins(self) -> Margins: ...
    def mode(self) -> Mode: ...
    def nyquist(self, omega: npt.ArrayLike | None = None) -> npt.NDArray[np.complex128]: ...
    def plant_response(self, omega: npt.ArrayLike) -> npt.NDArray[np.complex128]: ...
    def quasi_polynomial(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]: ...
    def rational(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]: ...
    def response(self, omega: npt.ArrayLike) -> npt.NDArray[np.complex128]: ...
    @property
    def stable(self) -> bool: ...
    def to_control(self) -> tuple[control.TransferFunction, float]: ...
    def to_frd(self, omega: npt.ArrayLike | None = None) -> control.FrequencyResponseData: ...
    @property
    def unstable_roots(self) -> int: ...
    def with_delay(self, seconds: float) -> Loop: ...
    def with_gain(self, factor: float) -> Loop: ...

@final
class Map:
    @property
    def missing(self) -> list[tuple[str, int]]: ...
    @property
    def show(self) -> str: ...
    @property
    def values(self) -> npt.NDArray[np.float64]: ...
    @property
    def x(self) -> npt.NDArray[np.float64]: ...
    @property
    def x_name(self) -> str: ...
    @property
    def y(self) -> npt.NDArray[np.float64]: ...
    @property
    def y_name(self) -> str: ...

@final
class Margins:
    @property
    def crossovers_rad_per_s(self) -> npt.NDArray[np.float64]: ...
    @property
    def delay_s(self) -> float | None: ...
    @property
    def gain(self) -> float | None: ...
    @property
    def phase_crossovers_rad_per_s(self) -> npt.NDArray[np.float64]: ...
    @property
    def phase_deg(self) -> float | None: ...

@final
class Mode:
    @property
    def damping(self) -> float: ...
    @property
    def period_s(self) -> float | None: ...
    @property
    def root(self) -> complex: ...
    @property
    def settling_s(self) -> float | None: ...

@final
class Oscillation:
    @property
    def amplitude(self) -> float: ...
    @property
    def deviation(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def motion(self) -> Literal["settled", "oscillating", "irregular"]: ...
    @property
    def period_s(self) -> float: ...
    @property
    def share(self) -> float: ...
    @property
    def swing(self) -> float: ...

@final
class Packet:
    @property
    def bytes(self) -> int: ...
    @property
    def dscp(self) -> int: ...
    @property
    def ecn(self) -> Literal["not-ect", "ect0", "ect1", "ce"]: ...
    @property
    def ecn_capable(self) -> bool: ...
    @property
    def enqueued_at_ns(self) -> int: ...
    @property
    def enqueued_at_s(self) -> float: ...
    @property
    def flow(self) -> int: ...
    @property
    def precedence(self) -> int: ...
    @property
    def syn(self) -> bool: ...

@final
class PiDesign:
    @property
    def a(self) -> float | None: ...
    @property
    def b(self) -> float | None: ...
    @property
    def crossover_rad_per_s(self) -> float: ...
    @property
    def k_i(self) -> float: ...
    @property
    def k_p(self) -> float: ...
    @property
    def phase_margin_deg(self) -> float: ...
    @property
    def zero_rad_per_s(self) -> float: ...

@final
class Progress:
    @property
    def done(self) -> float: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def finished(self) -> int: ...
    @property
    def left_s(self) -> float | None: ...
    @property
    def total(self) -> int: ...

@final
class QueueMap:
    def __new__(
        cls, *, capacity: float, window: float, delays: npt.ArrayLike, interval: float
    ) -> QueueMap: ...
    @property
    def by_proposition_6_1(self) -> bool: ...
    @property
    def by_proposition_6_2(self) -> bool: ...
    @property
    def contracting_interval_s(self) -> float: ...
    def contraction(self, largest: float) -> float: ...
    @property
    def equilibrium(self) -> float: ...
    def gaussian(self, sigma: float) -> tuple[float, float]: ...
    @property
    def locally_stable(self) -> bool: ...
    def next(self, queue: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
    @property
    def rising_interval_s(self) -> float: ...
    def slope(self, queue: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
    def stationary(
        self, buffer: float, sigma: float, cell: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    @property
    def sufficient_interval_s(self) -> float: ...
    def trajectory(
        self, start: float, noise: npt.ArrayLike, *, buffer: float | None = None
    ) -> npt.NDArray[np.float64]: ...

@final
class Reach:
    @property
    def beyond_high(self) -> str | None: ...
    @property
    def beyond_low(self) -> str | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def now(self) -> float: ...
    @property
    def quantity(self) -> Literal["flows", "capacity", "rtt"]: ...

@final
class Results:
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
    def algorithms(self) -> list[str]: ...
    @property
    def commit(self) -> str: ...
    def compare(
        self,
        baseline: str,
        metrics: Sequence[str] | None = None,
        *,
        point: int = 0,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> Columns: ...
    @property
    def delays(self) -> Columns: ...
    @property
    def digest(self) -> str: ...
    @property
    def digests(self) -> dict[tuple[int, str, int], str]: ...
    @property
    def engine(self) -> dict[str, str]: ...
    @property
    def flows(self) -> Columns: ...
    @property
    def holes(self) -> list[dict[str, Any]]: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def internal_means(self) -> Columns: ...
    @property
    def internals(self) -> Columns: ...
    @property
    def metrics(self) -> Columns: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def plot(self) -> quell.plot.Plots: ...
    @property
    def points(self) -> list[dict[str, Any]]: ...
    @property
    def replications(self) -> Columns: ...
    def report(self, path: str | os.PathLike[str]) -> None: ...
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    @property
    def scenario(self) -> dict[str, Any]: ...
    @property
    def series(self) -> Columns: ...
    @property
    def styles(self) -> dict[str, dict[str, Any]]: ...
    def table(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> Columns: ...
    @property
    def throughput(self) -> Columns: ...
    @property
    def title(self) -> str: ...
    def to_csv(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str: ...
    def to_latex(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str: ...
    def to_markdown(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> str: ...
    def to_pandas(self, name: str = "metrics") -> pandas.DataFrame: ...
    def to_polars(self, name: str = "metrics") -> polars.DataFrame: ...
    def trace(self, name: Literal["flows", "packets"]) -> Columns: ...
    @property
    def transfers(self) -> Columns: ...

class RunError(RuntimeError): ...

class ScenarioError(ValueError):
    file: str
    line: int | None
    field: str
    value: str | None
    rule: str
    nearest: str | None

@final
class Summary:
    @property
    def amplitude(self) -> float: ...
    @property
    def amplitude_before(self) -> float: ...
    @property
    def deviation(self) -> float: ...
    @property
    def least(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def most(self) -> float: ...
    @property
    def period_s(self) -> float | None: ...
    @property
    def settles(self) -> bool: ...

@final
class Task:
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
    def algorithm(self) -> str: ...
    @property
    def cost_packets(self) -> float: ...
    @property
    def key(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def series(self) -> bool: ...
    @property
    def settings(self) -> dict[str, str]: ...

class TheoryError(ValueError):
    kind: str
    quantity: str | None
    value: str | None
    reason: str

@final
class Trajectory:
    def __len__(self, /) -> int: ...
    @property
    def arrivals_pps(self) -> npt.NDArray[np.float64]: ...
    @property
    def lost(self) -> npt.NDArray[np.float64]: ...
    @property
    def probability(self) -> npt.NDArray[np.float64]: ...
    @property
    def queue_packets(self) -> npt.NDArray[np.float64]: ...
    @property
    def rtt_s(self) -> npt.NDArray[np.float64]: ...
    @property
    def shares(self) -> npt.NDArray[np.float64]: ...
    @property
    def state(self) -> dict[str, npt.NDArray[np.float64]]: ...
    @property
    def steps(self) -> int: ...
    def summary(self, from_s: float = 0.0) -> Summary: ...
    @property
    def time_s(self) -> npt.NDArray[np.float64]: ...
    @property
    def windows_packets(self) -> npt.NDArray[np.float64]: ...

@final
class Verdict:
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...

def analyze(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    algorithms: Sequence[str] | None = None,
    link: str | None = None,
    at: str | float | None = None,
    plant: Literal["exact", "simplified"] = "exact",
    reach: bool | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Bottleneck]: ...
def aqm_describe(name: str) -> dict[str, Any]: ...
def aqm_list() -> list[dict[str, str]]: ...
def auto_tuning_setup(
    *, min_th: float, max_th: float, flows: float, rtt: float, capacity: float
) -> Criterion: ...
def avq_largest_phi(
    *, flows: float, rtt: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None: ...
def avq_longest_rtt(
    phi: float, *, flows: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None: ...
def cache_dir(cache: bool | str | os.PathLike[str] | None = None) -> pathlib.Path: ...
def check(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: int | Sequence[int] | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]: ...
def cli(args: Sequence[str]) -> int: ...
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
) -> float | None: ...
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
) -> Design: ...
def drop(cause: Literal["early", "forced", "overflow"] = "early") -> Verdict: ...
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
) -> dict[str, Any]: ...
def ewma_autocorrelation(weight: float, lag: int, *, rho: float = 0.0) -> float: ...
def ewma_expectation(weight: float, t: int) -> float: ...
def ewma_variance(
    weight: float, t: int | None = None, *, rho: float | npt.ArrayLike | None = None
) -> float: ...
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
) -> Trajectory: ...
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
) -> Map: ...
def hred_local(
    *, min_th: float, max_th: float, kappa: float, queue: float, bandwidth_delay: float
) -> Criterion: ...
def index(*, cache: bool | str | os.PathLike[str] | None = None) -> tuple[pathlib.Path, bool]: ...
def make(
    tasks: Sequence[Task], *, cache: bool | str | os.PathLike[str] | None = None, threads: int = 1
) -> dict[str, str]: ...
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
) -> Map: ...
def measure(
    path: str | os.PathLike[str],
    *,
    interval: str | float | None = None,
    window: str | float | None = None,
    inside: Sequence[str] | None = None,
) -> dict[str, Any]: ...
def metric_list() -> list[dict[str, str]]: ...
def new(
    load: str, *, link: str, aqm: Sequence[str] | None = None, duration: str | None = None
) -> dict[str, Any]: ...
def oscillation(samples: npt.ArrayLike, step: str | float) -> Oscillation | None: ...
def pi_design(
    *,
    flows: float,
    rtt: float,
    capacity: float,
    lambda_: float | None = None,
    sampling_hz: float | None = None,
) -> PiDesign: ...
def read(folder: str | os.PathLike[str]) -> Results: ...
def red_by_hollot(*, slope: float, filter: float, flows: float, rtt: float, capacity: float) -> Criterion: ...
def red_filter(*, slope: float, flows: float, rtt: float, capacity: float) -> float: ...
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
) -> npt.NDArray[np.floating]: ...
def red_proposition(
    *, min_th: float, max_th: float, max_p: float, weight: float, flows: float, rtt: float, capacity: float
) -> Criterion: ...
def red_tail_delay_bound(max_th: float, capacity: float) -> float: ...
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
) -> Results: ...
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
) -> Crossing: ...
def signal(cause: Literal["early", "forced", "overflow"] = "early") -> Verdict: ...
def tasks(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    series: Literal["drawn", "all", "none"] = "drawn",
    missing: bool = False,
    cache: bool | str | os.PathLike[str] | None = None,
) -> list[Task]: ...
def tcp_describe(name: str) -> dict[str, Any]: ...
def tcp_list() -> list[dict[str, str]]: ...
def vrc_k_p_range(
    k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> tuple[float, float] | None: ...
def vrc_largest_k_i(k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5) -> float: ...
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
) -> npt.NDArray[np.floating]: ...
def vrc_theorem(
    k_p: float, k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> Criterion: ...
