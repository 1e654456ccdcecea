# What the extension module offers. A test compares this file with the module (mypy.stubtest); the
# documentation is in the module.

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
from typing_extensions import CapsuleType

from quell.plot import Plots

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

__version__: Final[str]

_Cause = Literal["early", "forced", "overflow"]
_Scenario = str | os.PathLike[str] | Mapping[str, Any]
_Aqms = Mapping[str, Callable[..., Any]]
_Cache = bool | str | os.PathLike[str]
_Series = Literal["drawn", "all", "none"]

@final
class Context:
    @property
    def now_s(self) -> float: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def queue_packets(self) -> int: ...
    @property
    def queue_bytes(self) -> int: ...
    @property
    def head_since_s(self) -> float | None: ...
    @property
    def link_rate_bps(self) -> int | None: ...
    def random(self) -> float: ...

@final
class Packet:
    @property
    def bytes(self) -> int: ...
    @property
    def enqueued_at_s(self) -> float: ...
    @property
    def enqueued_at_ns(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def ecn(self) -> Literal["not-ect", "ect0", "ect1", "ce"]: ...
    @property
    def syn(self) -> bool: ...
    @property
    def ecn_capable(self) -> bool: ...
    @property
    def dscp(self) -> int: ...
    @property
    def precedence(self) -> int: ...

@final
class Link:
    @property
    def rate_bps(self) -> int: ...
    @property
    def buffer_packets(self) -> float: ...
    @property
    def buffer_bytes(self) -> float: ...
    @property
    def buffer_counts_bytes(self) -> bool: ...
    @property
    def mean_packet_bytes(self) -> int: ...
    @property
    def capacity_packets_per_s(self) -> float: ...

@final
class Verdict:
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

PASS: Final[Verdict]

def signal(cause: _Cause = "early") -> Verdict: ...
def drop(cause: _Cause = "early") -> Verdict: ...
def aqm_list() -> list[dict[str, str]]: ...
def aqm_describe(name: str) -> dict[str, Any]: ...
def metric_list() -> list[dict[str, str]]: ...
def tcp_list() -> list[dict[str, str]]: ...
def tcp_describe(name: str) -> dict[str, Any]: ...

class ScenarioError(ValueError):
    file: str
    line: int | None
    field: str
    value: str | None
    rule: str
    nearest: str | None

class RunError(RuntimeError): ...

class TheoryError(ValueError):
    kind: str
    quantity: str | None
    value: str | None
    reason: str

class Interrupted(KeyboardInterrupt):
    results: Results

@final
class Progress:
    @property
    def done(self) -> float: ...
    @property
    def finished(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def left_s(self) -> float | None: ...

@final
class Columns:
    @property
    def column_names(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def __len__(self, /) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def to_pandas(self) -> pd.DataFrame: ...
    def to_polars(self) -> pl.DataFrame: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...

@final
class Results:
    @property
    def metrics(self) -> Columns: ...
    @property
    def series(self) -> Columns: ...
    @property
    def internals(self) -> Columns: ...
    @property
    def throughput(self) -> Columns: ...
    @property
    def flows(self) -> Columns: ...
    @property
    def transfers(self) -> Columns: ...
    @property
    def delays(self) -> Columns: ...
    @property
    def internal_means(self) -> Columns: ...
    @property
    def replications(self) -> Columns: ...
    @property
    def title(self) -> str: ...
    @property
    def algorithms(self) -> list[str]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def digest(self) -> str: ...
    @property
    def digests(self) -> dict[tuple[int, str, int], str]: ...
    @property
    def scenario(self) -> dict[str, Any]: ...
    @property
    def points(self) -> list[dict[str, Any]]: ...
    @property
    def holes(self) -> list[dict[str, Any]]: ...
    @property
    def info(self) -> dict[str, Any]: ...
    def table(
        self,
        metrics: Sequence[str] | None = None,
        *,
        point: int | None = None,
        link: str | None = None,
        segment: int | None = None,
        scope: str = "all",
    ) -> Columns: ...
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
    def to_pandas(self, name: str = "metrics") -> pd.DataFrame: ...
    def to_polars(self, name: str = "metrics") -> pl.DataFrame: ...
    def report(self, path: str | os.PathLike[str]) -> None: ...
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    @property
    def plot(self) -> Plots: ...
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

def read(folder: str | os.PathLike[str]) -> Results: ...
def run(
    scenario: _Scenario | list[_Scenario],
    *,
    seeds: int | Sequence[int] | Literal["auto"] | None = None,
    precision: Mapping[str, str | float | None] | None = None,
    baseline: str | None = None,
    max_seeds: int = 50,
    threads: int | None = None,
    aqms: _Aqms | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], object] | None = None,
    engine: Literal["fast", "reference"] = "fast",
    cache: _Cache | None = None,
    fresh: bool = False,
    finished: bool = False,
    verify: float = 0.0,
    series: _Series = "drawn",
) -> Results: ...

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
    def key(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def settings(self) -> dict[str, str]: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def series(self) -> bool: ...
    @property
    def cost_packets(self) -> float: ...

def tasks(
    scenario: _Scenario,
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    series: _Series = "drawn",
    missing: bool = False,
    cache: _Cache | None = None,
) -> list[Task]: ...
def make(tasks: Sequence[Task], *, cache: _Cache | None = None, threads: int = 1) -> dict[str, str]: ...
def index(*, cache: _Cache | None = None) -> tuple[pathlib.Path, bool]: ...
def cache_dir(cache: _Cache | None = None) -> pathlib.Path: ...

@final
class Crossing:
    @property
    def ending(self) -> Literal["found", "undecided", "same-side", "end-undecided"]: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def rises(self) -> bool | None: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def link(self) -> str: ...
    @property
    def probes(self) -> Columns: ...

def search(
    scenario: _Scenario,
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
    aqms: _Aqms | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Crossing: ...
def check(
    scenario: _Scenario,
    *,
    seeds: int | Sequence[int] | None = None,
    aqms: _Aqms | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]: ...
def cli(args: Sequence[str]) -> int: ...

DESIGNED: Final[tuple[str, ...]]

_Floats = npt.NDArray[np.float64]
_Complexes = npt.NDArray[np.complex128]
_Numbers = npt.ArrayLike
_Transfer = tuple[_Numbers, _Numbers]
_Plant = Literal["exact", "simplified"]
_Signal = Literal["mark", "drop"]
_Congestion = Literal["reno", "cubic", "dctcp", "prague"]
_Input = Literal["queue", "rate"]
_Axis = tuple[str, _Numbers] | tuple[str, _Numbers, str]

@final
class Margins:
    @property
    def gain(self) -> float | None: ...
    @property
    def phase_deg(self) -> float | None: ...
    @property
    def delay_s(self) -> float | None: ...
    @property
    def crossovers_rad_per_s(self) -> _Floats: ...
    @property
    def phase_crossovers_rad_per_s(self) -> _Floats: ...

@final
class Mode:
    @property
    def root(self) -> complex: ...
    @property
    def damping(self) -> float: ...
    @property
    def period_s(self) -> float | None: ...
    @property
    def settling_s(self) -> float | None: ...

@final
class Loop:
    def __new__(
        cls,
        controller: _Transfer,
        *,
        flows: _Numbers,
        rtt: _Numbers,
        capacity: float,
        queue: float = 0.0,
        input: _Input = "queue",
        signal: _Signal = "mark",
        congestion: _Congestion = "reno",
        a: float = 1.5,
        increase: float = 1.0,
        plant: _Plant = "exact",
    ) -> Loop: ...
    @property
    def controller(self) -> tuple[_Floats, _Floats]: ...
    @property
    def stable(self) -> bool: ...
    @property
    def unstable_roots(self) -> int: ...
    def margins(self) -> Margins: ...
    def mode(self) -> Mode: ...
    def response(self, omega: _Numbers) -> _Complexes: ...
    def plant_response(self, omega: _Numbers) -> _Complexes: ...
    def at(self, s: _Numbers) -> _Complexes: ...
    def frequencies(self, count: int = 500) -> _Floats: ...
    def nyquist(self, omega: _Numbers | None = None) -> _Complexes: ...
    def bode(self, omega: _Numbers | None = None) -> tuple[_Floats, _Floats, _Floats]: ...
    def with_gain(self, factor: float) -> Loop: ...
    def with_delay(self, seconds: float) -> Loop: ...
    def rational(self) -> tuple[_Floats, _Floats, float]: ...
    def quasi_polynomial(self) -> tuple[_Floats, _Floats, float]: ...
    def first_order_lag(self) -> _Floats: ...
    def to_control(self) -> tuple[Any, float]: ...
    def to_frd(self, omega: _Numbers | None = None) -> Any: ...

@final
class Criterion:
    @property
    def statement(self) -> str: ...
    @property
    def left(self) -> float: ...
    @property
    def right(self) -> float: ...
    @property
    def holds(self) -> bool: ...
    @property
    def necessary(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    def __bool__(self, /) -> bool: ...

@final
class Equilibrium:
    @property
    def queue_packets(self) -> float: ...
    @property
    def queue_delay_s(self) -> float: ...
    @property
    def probability(self) -> float: ...
    @property
    def window_packets(self) -> float: ...
    @property
    def rtt_s(self) -> float: ...
    @property
    def state(self) -> dict[str, float]: ...

@final
class Reach:
    @property
    def quantity(self) -> Literal["flows", "capacity", "rtt"]: ...
    @property
    def now(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def beyond_low(self) -> str | None: ...
    @property
    def beyond_high(self) -> str | None: ...

@final
class Analysis:
    @property
    def label(self) -> str: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def verdict(self) -> Literal["stable", "unstable", "no equilibrium", "no model"]: ...
    @property
    def reasons(self) -> list[str]: ...
    @property
    def equilibrium(self) -> Equilibrium | None: ...
    @property
    def margins(self) -> Margins | None: ...
    @property
    def mode(self) -> Mode | None: ...
    @property
    def unstable_roots(self) -> int | None: ...
    @property
    def criteria(self) -> list[Criterion]: ...
    @property
    def reach(self) -> list[Reach]: ...
    @property
    def loop(self) -> Loop | None: ...

@final
class Bottleneck:
    @property
    def settings(self) -> dict[str, str]: ...
    @property
    def link(self) -> str: ...
    @property
    def flows(self) -> _Floats: ...
    @property
    def propagation_s(self) -> _Floats: ...
    @property
    def capacity_pps(self) -> float: ...
    @property
    def buffer_packets(self) -> float: ...
    @property
    def signal(self) -> _Signal: ...
    @property
    def congestion(self) -> _Congestion: ...
    @property
    def left_out(self) -> list[str]: ...
    @property
    def analyses(self) -> dict[str, Analysis]: ...
    def __getitem__(self, label: str, /) -> Analysis: ...

@final
class Design:
    @property
    def aqm(self) -> dict[str, Any]: ...
    @property
    def assumptions(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def analysis(self) -> Analysis: ...
    @property
    def scenario(self) -> dict[str, Any]: ...

@final
class PiDesign:
    @property
    def zero_rad_per_s(self) -> float: ...
    @property
    def crossover_rad_per_s(self) -> float: ...
    @property
    def k_p(self) -> float: ...
    @property
    def k_i(self) -> float: ...
    @property
    def phase_margin_deg(self) -> float: ...
    @property
    def a(self) -> float | None: ...
    @property
    def b(self) -> float | None: ...

@final
class Map:
    @property
    def show(self) -> str: ...
    @property
    def x_name(self) -> str: ...
    @property
    def y_name(self) -> str: ...
    @property
    def x(self) -> _Floats: ...
    @property
    def y(self) -> _Floats: ...
    @property
    def values(self) -> _Floats: ...
    @property
    def missing(self) -> list[tuple[str, int]]: ...

@final
class Oscillation:
    @property
    def motion(self) -> Literal["settled", "oscillating", "irregular"]: ...
    @property
    def period_s(self) -> float: ...
    @property
    def share(self) -> float: ...
    @property
    def amplitude(self) -> float: ...
    @property
    def swing(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def deviation(self) -> float: ...

@final
class QueueMap:
    def __new__(cls, *, capacity: float, window: float, delays: _Numbers, interval: float) -> QueueMap: ...
    @property
    def equilibrium(self) -> float: ...
    @property
    def contracting_interval_s(self) -> float: ...
    @property
    def rising_interval_s(self) -> float: ...
    @property
    def sufficient_interval_s(self) -> float: ...
    @property
    def by_proposition_6_1(self) -> bool: ...
    @property
    def by_proposition_6_2(self) -> bool: ...
    @property
    def locally_stable(self) -> bool: ...
    def next(self, queue: _Numbers) -> _Floats: ...
    def slope(self, queue: _Numbers) -> _Floats: ...
    def contraction(self, largest: float) -> float: ...
    def trajectory(self, start: float, noise: _Numbers, *, buffer: float | None = None) -> _Floats: ...
    def gaussian(self, sigma: float) -> tuple[float, float]: ...
    def stationary(self, buffer: float, sigma: float, cell: float) -> tuple[_Floats, _Floats]: ...

@final
class Summary:
    @property
    def mean(self) -> float: ...
    @property
    def deviation(self) -> float: ...
    @property
    def least(self) -> float: ...
    @property
    def most(self) -> float: ...
    @property
    def amplitude(self) -> float: ...
    @property
    def amplitude_before(self) -> float: ...
    @property
    def period_s(self) -> float | None: ...
    @property
    def settles(self) -> bool: ...

@final
class Trajectory:
    @property
    def time_s(self) -> _Floats: ...
    @property
    def queue_packets(self) -> _Floats: ...
    @property
    def windows_packets(self) -> _Floats: ...
    @property
    def rtt_s(self) -> _Floats: ...
    @property
    def probability(self) -> _Floats: ...
    @property
    def arrivals_pps(self) -> _Floats: ...
    @property
    def lost(self) -> _Floats: ...
    @property
    def shares(self) -> _Floats: ...
    @property
    def state(self) -> dict[str, _Floats]: ...
    @property
    def steps(self) -> int: ...
    def summary(self, from_s: float = 0.0) -> Summary: ...
    def __len__(self, /) -> int: ...

def analyze(
    scenario: _Scenario,
    *,
    algorithms: Sequence[str] | None = None,
    link: str | None = None,
    at: str | float | None = None,
    plant: _Plant = "exact",
    reach: bool | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Bottleneck]: ...
def dumbbell(
    *,
    rate: str | float,
    rtt: str | float,
    flows: int,
    algorithms: Sequence[str | Mapping[str, Any]],
    packet: str | float | None = None,
    buffer: str | float | None = None,
    signal: _Signal = "mark",
    congestion: _Congestion = "reno",
) -> dict[str, Any]: ...
def design(
    aqm: str,
    *,
    rate: str | float,
    rtt: str | float,
    flows: int,
    packet: str | float | None = None,
    buffer: str | float | None = None,
    queue: str | float | None = None,
    signal: _Signal = "mark",
    congestion: _Congestion = "reno",
) -> Design: ...
def critical_rtt(
    controller: _Transfer,
    *,
    flows: float,
    capacity: float,
    input: _Input = "queue",
    a: float = 1.5,
    increase: float = 1.0,
    plant: _Plant = "exact",
    delay: Literal["exact", "first-order-lag"] = "exact",
) -> float | None: ...
def vrc_theorem(
    k_p: float, k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> Criterion: ...
def vrc_largest_k_i(k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5) -> float: ...
def vrc_k_p_range(
    k_i: float, k_d: float, *, flows: float, rtt: float, capacity: float, a: float = 1.5
) -> tuple[float, float] | None: ...
def red_proposition(
    *,
    min_th: float,
    max_th: float,
    max_p: float,
    weight: float,
    flows: float,
    rtt: float,
    capacity: float,
) -> Criterion: ...
def red_by_hollot(*, slope: float, filter: float, flows: float, rtt: float, capacity: float) -> Criterion: ...
def red_filter(*, slope: float, flows: float, rtt: float, capacity: float) -> float: ...
def pi_design(
    *,
    flows: float,
    rtt: float,
    capacity: float,
    lambda_: float | None = None,
    sampling_hz: float | None = None,
) -> PiDesign: ...
def avq_longest_rtt(
    phi: float, *, flows: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None: ...
def avq_largest_phi(
    *, flows: float, rtt: float, capacity: float, tau: float = 1.0, a: float = 1.5
) -> float | None: ...
def hred_local(
    *, min_th: float, max_th: float, kappa: float, queue: float, bandwidth_delay: float
) -> Criterion: ...
def auto_tuning_setup(
    *, min_th: float, max_th: float, flows: float, rtt: float, capacity: float
) -> Criterion: ...
def map(
    scenario: _Scenario,
    x: _Axis,
    y: _Axis,
    *,
    show: str = "growth",
    algorithm: str | None = None,
    link: str | None = None,
    at: str | float | None = None,
    plant: _Plant = "exact",
    overrides: Mapping[str, Any] | None = None,
) -> Map: ...
def red_map(
    x: tuple[str, _Numbers],
    y: tuple[str, _Numbers],
    *,
    flows: float | None = None,
    rtt: float | None = None,
    capacity: float | None = None,
    slope: float | None = None,
    filter: float | None = None,
    double: bool = False,
) -> npt.NDArray[np.floating]: ...
def vrc_map(
    x: tuple[str, _Numbers],
    y: tuple[str, _Numbers],
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
def measure(
    path: str | os.PathLike[str],
    *,
    interval: str | float | None = None,
    window: str | float | None = None,
    inside: Sequence[str] | None = None,
) -> dict[str, Any]: ...
def ewma_variance(weight: float, t: int | None = None, *, rho: _Numbers | None = None) -> float: ...
def ewma_expectation(weight: float, t: int) -> float: ...
def ewma_autocorrelation(weight: float, lag: int, *, rho: float = 0.0) -> float: ...
def oscillation(samples: _Numbers, step: str | float) -> Oscillation | None: ...
def red_tail_delay_bound(max_th: float, capacity: float) -> float: ...

_Start = Literal["empty", "equilibrium"]
_Overflow = Literal["signals", "ignored"]

def fluid(
    scenario: _Scenario,
    duration: str | float,
    *,
    algorithm: str | None = None,
    start: _Start = "empty",
    nudge: float = 0.0,
    changes: Sequence[tuple[str | float, dict[str, str | float]]] | None = None,
    overflow: _Overflow = "signals",
    sample: str | float | None = None,
    tolerance: float | None = None,
    link: str | None = None,
    at: str | float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Trajectory: ...
def fluid_map(
    scenario: _Scenario,
    x: _Axis,
    y: _Axis,
    duration: str | float,
    *,
    from_s: float | None = None,
    show: str = "settles",
    algorithm: str | None = None,
    start: _Start = "empty",
    nudge: float = 0.0,
    overflow: _Overflow = "signals",
    sample: str | float | None = None,
    tolerance: float | None = None,
    link: str | None = None,
    at: str | float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Map: ...
