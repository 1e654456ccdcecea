"""Algorithms written in Python, against those of the catalog and against the contract."""

from __future__ import annotations

import math
import threading
import traceback
from typing import Any

import numpy as np
import pytest
import quell
from conftest import make_scenario

# The catalog's RED signals no arrival while fewer packets wait.
MIN_BACKLOG = 2


class DropTail(quell.Aqm):
    """Nothing but the buffer."""

    def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict:
        return quell.PASS


class Red(quell.Aqm):
    """RED (Floyd and Jacobson 1993): gentle, uniform spacing, thresholds in packets."""

    def __init__(
        self, link: quell.Link, *, min_th: float, max_th: float, max_p: float, weight: float
    ) -> None:
        super().__init__(link)
        self.min_th, self.max_th, self.max_p, self.weight = min_th, max_th, max_p, weight
        self.avg = self.p_b = self.count = 0.0
        self.idle_since_ns: int | None = None

    def probability(self) -> float:
        if self.avg < self.min_th:
            return 0.0
        if self.avg < self.max_th:
            return (self.avg - self.min_th) * (self.max_p / (self.max_th - self.min_th))
        if self.avg < 2 * self.max_th:
            return min(self.max_p + (self.avg - self.max_th) * ((1 - self.max_p) / self.max_th), 1.0)
        return 1.0

    def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict:
        was_idle = self.idle_since_ns is not None
        if self.idle_since_ns is not None:
            assert cx.link_rate_bps is not None
            per_second = cx.link_rate_bps / 8 / self.link.mean_packet_bytes
            packets = (cx.now_ns - self.idle_since_ns) * 1e-9 * per_second
            self.avg *= math.exp(packets * math.log1p(-self.weight))
            self.idle_since_ns = None
        verdict = self.decide(cx)
        kept = verdict == quell.PASS or (verdict == quell.signal() and pkt.ecn_capable)
        if was_idle and not kept:
            self.idle_since_ns = cx.now_ns
        return verdict

    def decide(self, cx: quell.Context) -> quell.Verdict:
        self.avg += self.weight * (cx.queue_packets - self.avg)
        self.p_b = self.probability()
        if self.p_b <= 0 or cx.queue_packets < MIN_BACKLOG:
            self.count = 0.0
            return quell.PASS
        if self.p_b >= 1:
            self.count = 0.0
            return quell.drop("forced")
        cp = self.count * self.p_b
        self.count += 1
        p_a = min(self.p_b / (1 - cp), 1.0) if cp < 1 else 1.0
        if cx.random() >= p_a:
            return quell.PASS
        self.count = 0.0
        return quell.signal()

    def on_overflow(self, cx: quell.Context, pkt: quell.Packet) -> None:
        self.count = 0.0

    def on_idle(self, since_s: float) -> None:
        self.idle_since_ns = round(since_s * 1e9)

    def observe(self) -> dict[str, tuple[str, float]]:
        return {"avg": ("packets", self.avg), "p": ("1", self.p_b)}


class Pi(quell.Aqm):
    """The PI controller (Hollot et al. 2001b) with given gains."""

    update_interval: float | None = 1 / 160

    def __init__(self, link: quell.Link, *, a: float, b: float, q_ref: float) -> None:
        super().__init__(link)
        self.a, self.b, self.q_ref = a, b, q_ref
        self.p = self.q_old = 0.0

    def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict | None:
        # No number is drawn where nothing can happen: the catalog's PI does the same.
        return quell.signal() if self.p > 0 and cx.random() < self.p else None

    def on_update(self, cx: quell.Context) -> None:
        q = cx.queue_packets
        p = self.p + self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref)
        self.p, self.q_old = min(max(p, 0.0), 1.0), q


class PiByHand(Pi):
    """The same, with a timetable of its own."""

    update_interval = None

    def __init__(self, link: quell.Link, **gains: float) -> None:
        super().__init__(link, **gains)
        self.due = 1 / 160

    def next_update(self) -> float:
        return self.due

    def on_update(self, cx: quell.Context) -> None:
        assert cx.now_s == pytest.approx(self.due, abs=1e-9)
        super().on_update(cx)
        self.due += 1 / 160


RED = {"max_p": 0.1, "weight": 0.01}


def pair(python: dict[str, Any], builtin: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return make_scenario(
        {"algorithm": "mine", **python}, {**builtin, "label": "builtin"}, duration="30 s", **fields
    )


def assert_same_path(results: quell.Results) -> None:
    digests = results.digests
    for (point, algorithm, seed), digest in digests.items():
        assert digest == digests[point, "builtin", seed], (algorithm, seed)


def test_drop_tail_in_python_takes_the_same_path() -> None:
    results = quell.run(pair({}, {"algorithm": "drop-tail"}), aqms={"mine": DropTail})
    assert_same_path(results)
    overflow = results.table(["overflow_loss_rate"])["mean"]
    assert min(overflow) > 0


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("ecn", [False, True])
def test_red_in_python_takes_the_same_path(engine: Any, ecn: bool) -> None:
    scenario = pair(
        {"min_th": 5, "max_th": 20, **RED},
        {"algorithm": "red", "min_th": "5 packets", "max_th": "20 packets", **RED},
    )
    # Few flows that start late: the link is idle first and now and then.
    scenario["flows"][0] |= {"count": 3, "start": {"between": ["1 s", "3 s"]}, "tcp": {"ecn": ecn}}
    scenario["dumbbell"]["ecn"] = ecn
    results = quell.run(scenario, engine=engine, aqms={"mine": Red})
    assert_same_path(results)
    name = "mark_rate" if ecn else "early_loss_rate"
    assert min(results.table([name])["mean"]) > 0.001


def test_internals_of_both_are_the_same() -> None:
    scenario = pair(
        {"min_th": 5, "max_th": 20, **RED},
        {"algorithm": "red", "min_th": "5 packets", "max_th": "20 packets", **RED},
    )
    rows = quell.run(scenario, seeds=1, aqms={"mine": Red}).to_pandas("internals")
    mine, builtin = (rows[rows.algorithm == a].drop(columns="algorithm") for a in ("mine", "builtin"))
    assert list(mine.signal.unique()) == ["avg", "p"]
    assert list(mine.unit.unique()) == ["packets", "1"]
    np.testing.assert_allclose(mine.value, builtin.value, rtol=1e-9)


@pytest.mark.parametrize("python", [Pi, PiByHand])
def test_pi_in_python_takes_the_same_path(python: type[quell.Aqm]) -> None:
    gains = {"a": 2e-4, "b": 1.9e-4}
    scenario = pair(
        {**gains, "q_ref": 20},
        {
            "algorithm": "pi",
            **gains,
            "q_ref": "20 packets",
            "sampling_rate": 160.0,
        },
    )
    results = quell.run(scenario, aqms={"mine": python})
    assert_same_path(results)
    assert min(results.table(["early_loss_rate"])["mean"]) > 0.001


def test_deciding_at_the_head_bounds_the_delay() -> None:
    class Deadline(quell.Aqm):
        def on_dequeue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict:
            assert cx.now_ns >= pkt.enqueued_at_ns
            return quell.drop("forced") if cx.now_s - pkt.enqueued_at_s > 0.030 else quell.PASS

    scenario = make_scenario({"algorithm": "deadline"}, {"algorithm": "drop-tail"})
    results = quell.run(scenario, aqms={"deadline": Deadline})
    assert results.digests == quell.run(scenario, aqms={"deadline": Deadline}, engine="reference").digests
    deadline, drop_tail = results.table(["queue_delay_p99_s"])["mean"]
    assert deadline <= 0.0301 < drop_tail
    assert results.table(["forced_loss_rate"])["mean"][0] > 0.001


def test_what_an_algorithm_sees() -> None:
    seen: list[dict[str, Any]] = []

    class Curious(quell.Aqm):
        def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> None:
            assert 0 <= cx.random() < 1
            assert (cx.head_since_s is None) == (cx.queue_packets == 0)
            names = ("now_s", "now_ns", "queue_packets", "queue_bytes", "head_since_s", "link_rate_bps")
            packet = ("bytes", "enqueued_at_s", "enqueued_at_ns", "flow", "ecn", "ecn_capable", "syn")
            seen.append({n: getattr(cx, n) for n in names} | {n: getattr(pkt, n) for n in packet})
            self.cx = cx

    links: list[quell.Link] = []

    def build(link: quell.Link, **parameters: Any) -> quell.Aqm:
        assert parameters == {"number": 3, "list": [1.5, "x"], "table": {"yes": True}}
        links.append(link)
        return Curious(link)

    aqm = {"algorithm": "curious", "number": 3, "list": [1.5, "x"], "table": {"yes": True}}
    quell.run(make_scenario(aqm, duration="6 s"), seeds=1, aqms={"curious": build})
    link = links[0]
    assert (link.rate_bps, link.buffer_packets, link.buffer_counts_bytes) == (5_000_000, 60, False)
    assert link.capacity_packets_per_s == pytest.approx(5e6 / 8 / link.mean_packet_bytes)
    assert link.buffer_bytes == 60 * link.mean_packet_bytes
    assert max(s["queue_packets"] for s in seen) == 60
    # The first packet of every flow opens its connection.
    assert {s["flow"] for s in seen if s["syn"]} == {s["flow"] for s in seen}
    for s in seen:
        assert s["now_ns"] == s["enqueued_at_ns"] == round(1e9 * s["now_s"])
        assert (s["ecn"], s["ecn_capable"], s["link_rate_bps"]) == ("not-ect", False, 5_000_000)
        assert s["queue_bytes"] <= s["queue_packets"] * max(t["bytes"] for t in seen)


class Broken(quell.Aqm):
    """Raises in the method that its parameter names."""

    def __init__(self, link: quell.Link, *, method: str) -> None:
        super().__init__(link)
        self.method = method
        self.fail("__init__")

    def fail(self, method: str) -> None:
        if method == self.method:
            raise ZeroDivisionError(f"in {method}")

    def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> None:
        self.fail("on_enqueue")

    def on_dequeue(self, cx: quell.Context, pkt: quell.Packet) -> None:
        self.fail("on_dequeue")

    def on_overflow(self, cx: quell.Context, pkt: quell.Packet) -> None:
        self.fail("on_overflow")

    def on_idle(self, since_s: float) -> None:
        self.fail("on_idle")

    def on_update(self, cx: quell.Context) -> None:
        self.fail("on_update")

    def next_update(self) -> float | None:
        self.fail("next_update")
        return None

    def observe(self) -> dict[str, tuple[str, float]]:
        self.fail("observe")
        return {}


@pytest.mark.parametrize(
    "method", ["__init__", "on_enqueue", "on_dequeue", "on_overflow", "on_idle", "next_update", "observe"]
)
def test_an_exception_comes_out_as_it_was_raised(method: str) -> None:
    scenario = make_scenario({"algorithm": "broken", "method": method}, {"algorithm": "red"})
    scenario |= {"duration": "100000 s", "series_step": "1 s"}
    with pytest.raises(ZeroDivisionError, match=f"in {method}") as info:
        quell.run(scenario, aqms={"broken": Broken})
    frames = [frame.name for frame in traceback.extract_tb(info.value.__traceback__)]
    assert frames[-2:] == [method, "fail"]


def test_a_refused_parameter_comes_out_as_it_was_raised() -> None:
    scenario = make_scenario({"algorithm": "broken", "methods": "on_enqueue"})
    with pytest.raises(TypeError, match="methods"):
        quell.check(scenario, aqms={"broken": Broken})


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        ({"on_enqueue": lambda *_: 1}, "on_enqueue must return"),
        ({"observe": lambda _: 3}, "observe must return a dict"),
        ({"observe": lambda _: {"p": 0.5}}, "tuple"),
        ({"next_update": lambda _: "soon"}, "float|real number"),
        ({"update_interval": 1.0, "next_update": lambda _: 1.0}, "not both"),
    ],
)
def test_a_wrong_answer_is_a_type_error(attributes: dict[str, Any], match: str) -> None:
    wrong = type("Wrong", (quell.Aqm,), attributes)
    with pytest.raises(TypeError, match=match):
        quell.run(make_scenario({"algorithm": "wrong"}), aqms={"wrong": wrong})


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        ({"update_interval": 0}, "at least 1 us"),
        ({"update_interval": float("nan")}, "finite"),
        ({"next_update": lambda _: -1.0}, "negative"),
        ({"next_update": lambda _: 1.0}, "not after 1 s"),
    ],
)
def test_updates_that_would_never_end_are_refused(attributes: dict[str, Any], match: str) -> None:
    wrong = type("Wrong", (quell.Aqm,), attributes)
    with pytest.raises(ValueError, match=match):
        quell.run(make_scenario({"algorithm": "wrong"}), aqms={"wrong": wrong})


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["helper"], r"^Wrong defines none of on_enqueue, .*, so it would decide nothing$"),
        (["on_enque"], r"^Wrong\.on_enque: .*; did you mean on_enqueue\?"),
        (["on_dequeue", "on_updates"], r"^Wrong\.on_updates: .*; did you mean on_update\?"),
        (["helper", "enqueue"], r"^Wrong defines none of .*; enqueue: did you mean on_enqueue\?$"),
    ],
)
@pytest.mark.parametrize("base", [quell.Aqm, object])
def test_a_hook_that_nobody_calls_is_a_type_error(base: type, names: list[str], match: str) -> None:
    def hook(*_: Any) -> None:
        """Decides nothing."""

    wrong = type("Wrong", (base,), {"__init__": hook, **dict.fromkeys(names, hook)})
    with pytest.raises(TypeError, match=match):
        quell.check(make_scenario({"algorithm": "wrong"}), aqms={"wrong": wrong})


def test_an_empty_class_and_methods_of_ones_own_are_allowed() -> None:
    empty = type("Fifo", (quell.Aqm,), {})
    own = type("Own", (quell.Aqm,), {"on_enqueue": lambda *_: quell.PASS, "on_timeout": lambda _: None})
    scenario = make_scenario({"algorithm": "fifo"}, {"algorithm": "own"})
    quell.check(scenario, aqms={"fifo": empty, "own": own})


def test_a_class_need_not_have_the_base_class_and_may_only_observe() -> None:
    class Watches:
        def __init__(self, link: quell.Link) -> None:
            self.bytes = link.buffer_bytes

        def observe(self) -> dict[str, tuple[str, float]]:
            return {"buffer": ("byte", float(self.bytes))}

    results = quell.run(
        make_scenario({"algorithm": "watches"}, duration="6 s"), seeds=1, aqms={"watches": Watches}
    )
    assert set(results.internals["signal"]) == {"buffer"}


def test_a_context_is_over_after_its_call() -> None:
    kept: list[quell.Context] = []

    class Keeper(quell.Aqm):
        def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> None:
            kept.append(cx)

    quell.run(make_scenario({"algorithm": "keeper"}, duration="6 s"), seeds=1, aqms={"keeper": Keeper})
    with pytest.raises(RuntimeError, match="over"):
        kept[0].random()


def test_replications_with_python_run_on_several_threads() -> None:
    threads: set[int] = set()

    class Where(quell.Aqm):
        def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> None:
            threads.add(threading.get_ident())

    scenario = make_scenario({"algorithm": "where"})
    one = quell.run(scenario, threads=1, aqms={"where": Where})
    threads.clear()
    two = quell.run(scenario, threads=2, aqms={"where": Where})
    assert one.digests == two.digests
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("cause", ["early", "forced", "overflow"])
def test_verdicts_compare_and_print(cause: Any) -> None:
    assert quell.drop(cause) == quell.drop(cause) != quell.signal(cause) != quell.PASS
    assert repr(quell.drop(cause)) == f'quell.drop("{cause}")'
    assert len({quell.PASS, quell.drop(cause), quell.drop(cause), quell.signal(cause)}) == 3
    with pytest.raises(ValueError, match="early"):
        quell.drop("late")  # type: ignore[arg-type]


def test_an_algorithm_that_no_scenario_names_is_refused() -> None:
    scenario = make_scenario({"algorithm": "mine"}, {"algorithm": "red"}, duration="6 s")
    for call in (quell.run, quell.check):
        with pytest.raises(
            ValueError, match=r'aqms\["mien"\]: .* did you mean "mine"\? There are mine, red$'
        ):
            call(scenario, aqms={"mine": DropTail, "mien": DropTail})
    # A sweep may name it, and one of several scenarios.
    quell.check(
        scenario, aqms={"mine": DropTail, "other": DropTail}, sweep={"aqm[0].algorithm": ["mine", "other"]}
    )


def test_a_misspelled_name_comes_with_the_nearest() -> None:
    with pytest.raises(
        ValueError, match='no algorithm is called "codle"; did you mean "codel"\\? There are drop-tail'
    ):
        quell.aqm_describe("codle")


def test_nothing_is_nested_deeper_than_it_may_be() -> None:
    itself: list[Any] = []
    itself.append(itself)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    scenario = make_scenario({"algorithm": "red"}, duration="6 s")
    for value in (itself, deep):
        with pytest.raises(ValueError, match="is nested more than 32 deep"):
            quell.check(scenario, overrides={"aqm[0].max_p": value})
        with pytest.raises(ValueError, match="is nested more than 32 deep"):
            quell.check({**scenario, "title": value})
    with pytest.raises(quell.ScenarioError, match="it has 20000 parts"):
        quell.check(scenario, overrides={".".join(["a"] * 20_000): 1})
