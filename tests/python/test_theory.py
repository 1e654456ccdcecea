"""Control theory in Python: known answers, arrays, other tools, and wrong input."""

from __future__ import annotations

import math
import os
import signal
import struct
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pytest
import quell
from conftest import make_scenario
from quell import TheoryError, theory

VRC = ([0.0003, 0.0024, 0.0045], [1, 0])
PI = ([0.0024, 0.0045], [1, 0])
EXAMPLE: dict[str, Any] = {"flows": 100, "rtt": 0.1, "capacity": 1250}
HOLLOT: dict[str, Any] = {"flows": 60, "rtt": 0.246, "capacity": 3750}


def net(*algorithms: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    return theory.dumbbell(
        **{"rate": "10 Mbit/s", "rtt": "100 ms", "flows": 60, "algorithms": algorithms, **fields}
    )


class TestKnownAnswers:
    def test_the_example_of_vrc(self) -> None:
        # Park et al. 2004, section 3.2: K_I < 0.659 with K_D = 0.001; 0 < K_P < 0.125 with K_I = 0.01.
        assert theory.vrc_largest_k_i(0.001, **EXAMPLE) == pytest.approx(0.659, rel=1e-3)
        assert theory.vrc_k_p_range(0.01, 0.001, **EXAMPLE) == pytest.approx((0, 0.125), rel=4e-3)
        assert theory.vrc_k_p_range(0.66, 0.001, **EXAMPLE) is None
        assert theory.vrc_theorem(0.1, 0.01, 0.001, **EXAMPLE)
        refused = theory.vrc_theorem(0.13, 0.01, 0.001, **EXAMPLE)
        assert not refused.holds
        assert refused.left < refused.right
        assert "eq. 17" in refused.statement

    def test_critical_delays(self) -> None:
        # Park et al. 2004, section 5.4.2 prints 0.361 and 0.286, by the lag.
        def at(controller: Any, **how: Any) -> float | None:
            return theory.critical_rtt(controller, flows=100, capacity=1250, **how)

        assert at(VRC, delay="first-order-lag") == pytest.approx(0.3630728044, rel=1e-8)
        assert at(PI, delay="first-order-lag") == pytest.approx(0.2871119872, rel=1e-8)
        assert at(VRC) == pytest.approx(0.27960781, rel=1e-7)
        assert at(PI) == pytest.approx(0.24221073, rel=1e-7)
        # A loop there is at its limit.
        for rtt, roots in [(0.2795, 0), (0.2797, 2)]:
            loop = theory.Loop(VRC, flows=100, rtt=rtt, capacity=1250)
            assert loop.unstable_roots == roots

    def test_avq(self) -> None:
        longest = theory.avq_longest_rtt(0.15, flows=100, capacity=1250)
        assert longest == pytest.approx(0.21579844, rel=1e-7)
        largest = theory.avq_largest_phi(flows=100, rtt=0.21579844, capacity=1250)
        assert largest == pytest.approx(0.15, rel=1e-6)

    def test_pi_of_hollot(self) -> None:
        pi = theory.pi_design(**HOLLOT, sampling_hz=160)
        assert pi.zero_rad_per_s == pytest.approx(0.529, rel=1e-3)
        assert (pi.a, pi.b) == pytest.approx((1.822e-5, 1.816e-5), rel=0.02)
        tuned = theory.pi_design(**HOLLOT, lambda_=0.5)
        loop = theory.Loop(([tuned.k_p, tuned.k_i], [1, 0]), **HOLLOT, a=2, plant="simplified")
        margins = loop.margins()
        assert margins.phase_deg == pytest.approx(tuned.phase_margin_deg, rel=1e-9)
        assert margins.crossovers_rad_per_s == pytest.approx([tuned.crossover_rad_per_s])
        with pytest.raises(TheoryError, match=r"below 0\.8603"):
            theory.pi_design(**HOLLOT, lambda_=0.87)

    def test_red(self) -> None:
        hollot = theory.red_by_hollot(slope=1.86e-4, filter=0.005, **HOLLOT)
        assert hollot
        assert (hollot.left, hollot.right) == pytest.approx((10.14, 10.62), rel=1e-3)
        largest = hollot.right * 120**2 / (0.246 * 3750) ** 3
        assert theory.red_filter(slope=largest, **HOLLOT) == pytest.approx(0.005)
        # The first experiment of Chen 2010, section 4.5 does not meet eq. 4.9 as printed.
        first = theory.red_proposition(
            min_th=50, max_th=150, max_p=0.05, weight=1e-4, flows=50, rtt=0.12, capacity=2500
        )
        assert not first
        assert (first.left, first.right) == pytest.approx((5e-8, 4.115e-8), rel=1e-3)
        assert "at least 54 flows" in first.reason

    def test_hred_and_auto_tuning_red(self) -> None:
        at = {"min_th": 100, "max_th": 200, "kappa": 2, "bandwidth_delay": 700}
        assert theory.hred_local(**at, queue=100).left == pytest.approx(1)
        assert not theory.hred_local(**at, queue=99)
        assert theory.hred_local(**at, queue=101)
        now = {"flows": 60, "rtt": 0.1, "capacity": 1000}
        assert theory.auto_tuning_setup(min_th=10.5, max_th=31.5, **now)
        assert not theory.auto_tuning_setup(min_th=10, max_th=30, **now)

    def test_averages(self) -> None:
        # Trinh and Molnár, eq. 3 and 4.
        assert theory.ewma_variance(0.002) == pytest.approx(0.002 / 1.998)
        assert theory.ewma_variance(0.25, 3) == pytest.approx(0.25**2 * (1 + 0.75**2))
        assert theory.ewma_expectation(0.25, 3) == pytest.approx(1 - 0.75**2)
        assert theory.ewma_autocorrelation(0.25, 3) == pytest.approx(0.75**3)
        # By definition: weights of samples 2 to t, and their covariance matrix.
        w, t, r = 0.1, 40, 0.8
        weights = w * (1 - w) ** np.arange(t - 2, -1, -1)
        lags = np.abs(np.subtract.outer(np.arange(t - 1), np.arange(t - 1)))
        by_definition = weights @ r**lags @ weights
        assert theory.ewma_variance(w, t, rho=r) == pytest.approx(by_definition)
        assert theory.ewma_variance(w, t, rho=r ** np.arange(t)) == pytest.approx(by_definition)
        assert theory.ewma_variance(w, rho=r) == pytest.approx(theory.ewma_variance(w, 2000, rho=r))

    def test_the_map_of_redtail(self) -> None:
        # Fig. 17 to 21: q_e = N W - d C, and by numpy for the chain.
        queue = theory.QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.5 * 0.602 / 3)
        assert queue.equilibrium == pytest.approx(820_000)
        assert queue.rising_interval_s == pytest.approx(0.200_666_667)
        assert queue.contracting_interval_s == pytest.approx(0.040_823_920_3)
        assert queue.sufficient_interval_s == pytest.approx(0.200_666_667)
        assert (queue.by_proposition_6_1, queue.by_proposition_6_2, queue.locally_stable) == (
            False,
            True,
            True,
        )
        assert queue.next([0.0, 820e3]) == pytest.approx([1_285_520.833_333, 820e3])
        assert queue.slope(820e3) == pytest.approx(0.5)
        assert queue.contraction(3e6) == pytest.approx(3.915_418_836_8)
        path = queue.trajectory(0, np.zeros(60), buffer=3e6)
        assert path[-1] == pytest.approx(820e3)
        mean, deviation = queue.gaussian(77_021)
        assert mean == pytest.approx(820e3)
        q, share = queue.stationary(3e6, 77_021, 8000)
        assert share.sum() == pytest.approx(1)
        assert q @ share == pytest.approx(821_329.631_027, rel=1e-9)
        assert math.sqrt((q - q @ share) ** 2 @ share) == pytest.approx(40_007.687_513, rel=1e-7)
        assert deviation == pytest.approx(40_007, rel=0.02)
        assert theory.red_tail_delay_bound(240e3, 6e6) == pytest.approx(0.04)


class TestCongestion:
    def test_each_law_has_its_equilibrium_and_its_loop(self) -> None:
        names: tuple[Literal["reno", "cubic", "dctcp", "prague"], ...] = ("reno", "cubic", "dctcp", "prague")
        for name in names:
            loop = theory.Loop(([1e-5, 1e-6], [1, 0]), flows=5, rtt=0.14, capacity=2500, congestion=name)
            assert loop.stable
            assert loop.margins().gain is not None
            [link] = theory.analyze(net("pi", congestion=name))
            assert link.congestion == name
            analysis = link["pi"]
            assert analysis.equilibrium is not None
            if name in ("dctcp", "prague"):
                share = analysis.equilibrium.probability
                window = analysis.equilibrium.window_packets
                assert window * share * (1 - (1 - share) ** window) == pytest.approx(2)

    def test_the_fluid_follows_the_share_of_marks(self) -> None:
        run = theory.fluid(net("pi", flows=10, congestion="dctcp"), 5, sample=0.01)
        assert run.shares.shape == (1, len(run))
        assert run.shares[0, 0] == 1
        assert theory.fluid(net("pi", flows=10), 5, sample=0.01).shares.size == 0

    def test_what_has_no_law_is_refused(self) -> None:
        with pytest.raises(TheoryError, match="not a function of the signal probability"):
            net("pi", congestion="bbr3")
        with pytest.raises(TheoryError, match='must be "reno"'):
            theory.design("red", rate="10 Mbit/s", rtt="100 ms", flows=20, congestion="cubic")
        shaped = theory.design("pi", rate="10 Mbit/s", rtt="100 ms", flows=20, congestion="cubic")
        assert shaped.analysis.verdict == "stable"


class TestLoop:
    def test_its_response_is_the_formula(self) -> None:
        # Chen 2010, eq. 4.2 with a PI, by hand.
        loop = theory.Loop(PI, **HOLLOT, a=2, plant="simplified")
        s = 1j * np.array([[0.1, 0.5], [2.0, 30.0]])
        n, r, c = HOLLOT["flows"], HOLLOT["rtt"], HOLLOT["capacity"]
        plant = (c**2 / (2 * n)) / ((s + 2 * n / (r * r * c)) * (s + 1 / r)) * np.exp(-s * r)
        assert loop.plant_response(s.imag) == pytest.approx(plant)
        assert loop.response(s.imag) == pytest.approx(plant * (0.0024 + 0.0045 / s))
        assert loop.at(s) == pytest.approx(loop.response(s.imag))
        assert loop.at(1.0 + 2.0j) == pytest.approx(complex(loop.at([1.0 + 2.0j])[0]))

    def test_its_figures(self) -> None:
        loop = theory.Loop(VRC, flows=100, rtt=0.2, capacity=1250)
        margins, mode = loop.margins(), loop.mode()
        assert loop.stable
        assert margins.gain is not None
        assert margins.delay_s is not None
        assert loop.with_gain(0.999 * margins.gain).stable
        assert not loop.with_gain(1.001 * margins.gain).stable
        assert loop.with_delay(0.999 * margins.delay_s).stable
        assert not loop.with_delay(1.001 * margins.delay_s).stable
        assert 1 + loop.at(mode.root) == pytest.approx(0, abs=1e-6)
        assert mode.root.real < 0
        assert np.abs(loop.response(margins.crossovers_rad_per_s)) == pytest.approx(1)
        omega, gain, phase = loop.bode()
        values = loop.response(omega)
        assert gain == pytest.approx(np.abs(values))
        assert np.exp(1j * np.radians(phase)) == pytest.approx(values / gain)
        assert np.abs(np.diff(phase)).max() < 60
        assert np.array_equal(loop.nyquist(), values)
        assert loop.frequencies(7).shape == (7,)
        for got, wanted in zip(loop.controller, VRC, strict=True):
            assert got == pytest.approx(wanted)

    def test_characteristic_equations(self) -> None:
        loop = theory.Loop(VRC, flows=100, rtt=0.2, capacity=1250)
        p, q, delay = loop.quasi_polynomial()
        root = loop.mode().root
        terms = np.polyval(p, root), np.polyval(q, root) * np.exp(-root * delay)
        assert abs(sum(terms)) < 1e-6 * abs(terms[0])
        # Park et al. 2004, eq. 16 is stable where the theorem says so.
        for rtt, stable in [(0.363, True), (0.3631, False)]:
            at = theory.Loop(VRC, flows=100, rtt=rtt, capacity=1250)
            assert (np.roots(at.first_order_lag()).real.max() < 0) == stable
            assert (
                theory.vrc_theorem(0.0024, 0.0045, 0.0003, flows=100, rtt=rtt, capacity=1250).holds == stable
            )

    def test_several_classes(self) -> None:
        one = theory.Loop(PI, flows=[30, 30], rtt=[0.2, 0.2], capacity=1250)
        same = theory.Loop(PI, flows=60, rtt=0.2, capacity=1250)
        omega = np.geomspace(0.01, 100)
        assert one.response(omega) == pytest.approx(same.response(omega))
        two = theory.Loop(PI, flows=[30, 30], rtt=[0.1, 0.3], capacity=1250)
        assert not np.allclose(two.response(omega), same.response(omega))
        with pytest.raises(TheoryError, match="one class") as caught:
            two.quasi_polynomial()
        assert caught.value.kind == "quantity"

    def test_wrong_input(self) -> None:
        def refused(message: str, error: type[Exception] = TheoryError, **given: Any) -> None:
            full = {"controller": PI, **EXAMPLE, **given}
            with pytest.raises(error, match=message):
                theory.Loop(full.pop("controller"), **full)

        refused("flows N = -1 flows: must be positive", flows=-1)
        refused("round-trip time R = NaN s", rtt=math.nan)
        refused("must exceed the queueing delay", queue=500)
        refused("window of", flows=1e6)
        refused("capacity C = inf packets/s", capacity=math.inf)
        refused("decrease constant a = 0", a=0)
        refused("must be at most", controller=([1, 0, 0, 0], [1, 0]))
        refused("finite coefficients", controller=([math.nan], [1, 0]))
        refused("1 classes and rtt has 2", ValueError, rtt=[0.1, 0.2])
        refused('plant = "pade": must be "exact" or "simplified"', ValueError, plant="pade")
        loop = theory.Loop(PI, **EXAMPLE)
        with pytest.raises(TheoryError, match=r"omega = 0 rad/s: must be positive"):
            loop.bode([0, 1])
        with pytest.raises(ValueError, match="omega must rise"):
            loop.bode([2, 1])

    def test_errors_have_parts(self) -> None:
        with pytest.raises(TheoryError) as caught:
            theory.Loop(PI, flows=10, rtt=-1, capacity=1250)
        error = caught.value
        assert isinstance(error, ValueError)
        assert (error.kind, error.quantity, error.value) == ("quantity", "round-trip time R", "-1 s")
        assert "queueing delay" in error.reason
        with pytest.raises(TheoryError) as caught:
            theory.design("drop-tail", rate="10 Mbit/s", rtt="100 ms", flows=10)
        assert "drop-tail" in str(caught.value)


class TestPythonControl:
    @pytest.mark.parametrize("plant", ["exact", "simplified"])
    def test_margins_agree(self, plant: Any) -> None:
        import control  # noqa: PLC0415

        loop = theory.Loop(VRC, flows=100, rtt=0.2, capacity=1250, plant=plant)
        gain, phase, _, _, crossover, _ = control.stability_margins(loop.to_frd(np.geomspace(0.05, 60, 4000)))
        margins = loop.margins()
        assert margins.gain == pytest.approx(gain, rel=1e-5)
        assert margins.phase_deg == pytest.approx(phase, rel=1e-4)
        assert margins.crossovers_rad_per_s[-1] == pytest.approx(crossover, rel=1e-5)

    def test_the_loop_without_its_delay(self) -> None:
        loop = theory.Loop(PI, **HOLLOT, a=2, plant="simplified").with_delay(0.01)
        transfer, delay = loop.to_control()
        assert delay == pytest.approx(0.256)
        s = 1j * np.geomspace(0.01, 100, 50)
        assert transfer(s) * np.exp(-s * delay) == pytest.approx(loop.response(s.imag))
        with pytest.raises(TheoryError, match="to_frd keeps it whole"):
            theory.Loop(PI, **HOLLOT).to_control()

    def test_it_is_asked_for_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "control", None)
        with pytest.raises(ModuleNotFoundError, match=r"quell\[control\]"):
            theory.Loop(PI, **HOLLOT).to_frd()


class TestAnalyze:
    def test_a_scenario(self) -> None:
        [link] = theory.analyze(net("pi", "red", "drop-tail"))
        assert list(link.analyses) == ["pi", "red", "drop-tail"]
        assert (link.link, link.signal, link.capacity_pps) == ("bottleneck", "mark", 1250)
        assert link.flows.tolist() == [60]
        assert link.propagation_s == pytest.approx([0.1], rel=0.02)
        pi = link["pi"]
        assert pi.loop is not None
        assert pi.equilibrium is not None
        assert pi.verdict == ("stable" if pi.loop.stable else "unstable")
        assert pi.unstable_roots == pi.loop.unstable_roots
        assert pi.equilibrium.rtt_s == pytest.approx(link.propagation_s[0] + pi.equilibrium.queue_delay_s)
        assert pi.equilibrium.window_packets == pytest.approx(1250 * pi.equilibrium.rtt_s / 60)
        assert pi.equilibrium.window_packets**2 * pi.equilibrium.probability == pytest.approx(1.5)
        assert pi.reasons
        assert [r.quantity for r in pi.reach] == ["flows", "capacity", "rtt"]
        assert pi.margins is not None
        assert pi.margins.gain == pi.loop.margins().gain
        assert pi.mode is not None
        assert pi.mode.root == pi.loop.mode().root
        assert any("Park et al. 2004, eq. 17" in c.statement for c in pi.criteria)
        none = link["drop-tail"]
        assert (none.verdict, none.loop, none.equilibrium, none.margins) == ("no model", None, None, None)
        with pytest.raises(KeyError, match="there are pi, red, drop-tail"):
            link["sfq"]

    def test_the_reach_is_the_border(self) -> None:
        [link] = theory.analyze(net("pi"))
        pi = link["pi"]
        [flows, capacity, _] = pi.reach
        assert (flows.now, capacity.now) == (60, 1250)
        stable = pi.verdict == "stable"
        edge, beyond = (flows.low, flows.beyond_low) if stable else (flows.high, flows.beyond_high)
        assert edge is not None
        assert beyond == ("unstable" if stable else "stable")
        sides = theory.map(net("pi"), ("flows", [0.999 * edge, 1.001 * edge]), ("rate", [10e6]))
        assert np.sign(sides.values[0]).tolist() == [1, -1]

    def test_a_sweep_and_a_choice(self) -> None:
        scenario = make_scenario(
            {"algorithm": "pi"}, {"algorithm": "red"}, sweep={"dumbbell.rate": ["5 Mbit/s", "10 Mbit/s"]}
        )
        points = theory.analyze(scenario, algorithms=["red"], at="10 s")
        assert [p.capacity_pps for p in points] == [2 * 312.5, 2 * 625]
        assert points[0].settings == {"dumbbell.rate": "5 Mbit/s"}
        assert all(list(p.analyses) == ["red"] and p["red"].reach == [] for p in points)
        assert points[0].flows.sum() == 10

    def test_wrong_input(self) -> None:
        with pytest.raises(ValueError, match='labeled "blue"'):
            theory.analyze(net("pi"), algorithms=["blue"])
        with pytest.raises(quell.ScenarioError, match="no link is called"):
            theory.analyze(net("pi"), link="elsewhere")
        with pytest.raises(quell.ScenarioError, match="no long-lived TCP flow"):
            theory.analyze(make_scenario(), at=0)
        with pytest.raises(FileNotFoundError):
            theory.analyze("missing.toml")
        with pytest.raises(TheoryError, match="at = soon"):
            theory.analyze(net("pi"), at="soon")

    def test_a_loop_with_figures_of_its_own(self) -> None:
        [link] = theory.analyze(net("pi"))
        pi = link["pi"]
        assert pi.loop is not None
        assert pi.equilibrium is not None
        equilibrium = pi.equilibrium
        own = theory.Loop(
            pi.loop.controller,
            flows=link.flows,
            rtt=link.propagation_s + equilibrium.queue_delay_s,
            capacity=link.capacity_pps,
            queue=equilibrium.queue_packets,
        )
        omega = np.geomspace(0.1, 50)
        assert own.response(omega) == pytest.approx(pi.loop.response(omega))


class TestDesign:
    @pytest.mark.parametrize("aqm", theory.DESIGNED)
    def test_every_rule(self, aqm: str) -> None:
        design = theory.design(aqm, rate=10e6, rtt=0.1, flows=50, packet="1000 B")
        assert design.aqm["algorithm"] == aqm
        assert design.assumptions
        assert design.analysis.algorithm == aqm
        # It is a scenario, and the same analysis comes of it.
        [link] = theory.analyze(design.scenario)
        assert link[aqm].verdict == design.analysis.verdict
        quell.check(design.scenario)

    def test_what_was_asked_for(self) -> None:
        design = theory.design(
            "pi", rate="10 Mbit/s", rtt="200 ms", flows=50, queue="60 packets", signal="drop"
        )
        assert design.analysis.equilibrium is not None
        assert design.analysis.equilibrium.queue_packets == pytest.approx(60)
        assert design.scenario["dumbbell"]["ecn"] is False
        assert design.analysis.verdict == "stable"

    def test_wrong_input(self) -> None:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"rate": "10 Mbits"}, 'rate = 10 Mbits: "10 Mbits" is not a'),
            ({"rate": -1}, "rate = -1 bit/s"),
            ({"rtt": math.nan}, "rtt = NaN s"),
            ({"flows": 100_000}, "fewer flows"),
            ({"aqm": "nonsense"}, "nonsense"),
        ]
        for given, message in wrong:
            full: dict[str, Any] = {"aqm": "pi", "rate": "10 Mbit/s", "rtt": "100 ms", "flows": 50, **given}
            with pytest.raises(TheoryError, match=message):
                theory.design(full.pop("aqm"), **full)


class TestMaps:
    def test_a_point_is_an_analysis(self) -> None:
        flows, rtt = np.array([30.0, 60.0, 120.0]), np.array([0.05, 0.15])
        found = theory.map(net("pi"), ("flows", flows), ("rtt", rtt))
        assert found.values.shape == (2, 3)
        assert (found.x_name, found.y_name, found.show) == ("flows", "rtt", "growth")
        assert np.array_equal(found.x, flows)
        margin = theory.map(net("pi"), ("flows", flows), ("rtt", [150], "ms"), show="phase-margin")
        [link] = theory.analyze(net("pi"), reach=False)
        for i, n in enumerate(flows):
            pi = link["pi"]
            assert pi.loop is not None
            assert pi.equilibrium is not None
            loop = theory.Loop(
                pi.loop.controller,
                flows=n,
                rtt=0.15 + pi.equilibrium.queue_delay_s,
                capacity=link.capacity_pps,
                queue=pi.equilibrium.queue_packets,
            )
            assert found.values[1, i] == pytest.approx(loop.mode().root.real, rel=1e-6)
            assert margin.values[0, i] == pytest.approx(loop.margins().phase_deg, rel=1e-6)

    def test_parameters_and_gaps(self) -> None:
        found = theory.map(
            net("pi"), ("q_ref", [10, 50], "packets"), ("flows", [60, 1e5]), show="queue", plant="simplified"
        )
        assert found.values[0].tolist() == [10, 50]
        assert np.isnan(found.values[1]).all()
        [(reason, count)] = found.missing
        assert count == 2
        assert "fewer flows" in reason

    def test_closed_forms(self) -> None:
        k_i, rtt = np.linspace(0.001, 0.02, 40), np.linspace(0.1, 0.5, 30)
        figures = theory.vrc_map(("k_i", k_i), ("rtt", rtt), flows=100, capacity=1250, k_p=0.0024, k_d=0.0003)
        assert figures.shape == (30, 40)
        assert figures.dtype == np.float32
        double = theory.vrc_map(
            ("k_i", k_i), ("rtt", rtt), flows=100, capacity=1250, k_p=0.0024, k_d=0.0003, double=True
        )
        assert figures == pytest.approx(double, abs=1e-5)
        for i, j in [(0, 0), (39, 0), (0, 29), (20, 15), (39, 29)]:
            theorem = theory.vrc_theorem(0.0024, k_i[i], 0.0003, flows=100, rtt=rtt[j], capacity=1250)
            wanted = (theorem.left - theorem.right) / (abs(theorem.left) + theorem.right)
            assert double[j, i] == pytest.approx(wanted, rel=1e-9)
        gain = theory.red_map(("slope", [1.86e-4]), ("filter", [0.005]), **HOLLOT, double=True)
        assert gain[0, 0] == pytest.approx(10.14 / 10.62, rel=1e-3)

    def test_a_million_points_need_no_loop_in_python(self) -> None:
        axes = ("flows", np.linspace(20, 200, 1000)), ("rtt", np.linspace(0.02, 0.5, 1000))
        best = math.inf
        for _ in range(5):
            begun = time.perf_counter()
            gain = theory.red_map(*axes, capacity=1250, slope=0.001, filter=0.5)
            best = min(best, time.perf_counter() - begun)
        assert gain.shape == (1000, 1000)
        # Some milliseconds; a loop in Python would take a second.
        assert best < 0.3
        gain[0, 0] = 1  # It is the caller's own.

    def test_wrong_input(self) -> None:
        with pytest.raises(TheoryError, match="axis = max_p: must be flows, rate, rtt, or one of"):
            theory.map(net("pi"), ("max_p", [0.1]), ("flows", [10]))
        with pytest.raises(ValueError, match="choose one of pi, red"):
            theory.map(net("pi", "red"), ("flows", [10]), ("rtt", [0.1]))
        with pytest.raises(ValueError, match='show = "beauty"'):
            theory.map(net("pi"), ("flows", [10]), ("rtt", [0.1]), show="beauty")
        with pytest.raises(TheoryError, match="no model"):
            theory.map(net("drop-tail"), ("flows", [10]), ("rtt", [0.1]))
        with pytest.raises(ValueError, match="k_p is missing"):
            theory.vrc_map(("k_i", [0.1]), ("rtt", [0.1]), flows=100, capacity=1250)
        with pytest.raises(TheoryError, match="must differ"):
            theory.vrc_map(("rtt", [0.1]), ("rtt", [0.1]), flows=1, capacity=1, k_p=1, k_i=1)
        with pytest.raises(TheoryError, match="must be positive"):
            theory.red_map(("rtt", [-0.1]), ("flows", [1]), capacity=1, slope=1, filter=1)


class TestFluid:
    def test_it_stays_at_rest_and_obeys_its_equations(self) -> None:
        [link] = theory.analyze(net("pi"), reach=False)
        equilibrium = link["pi"].equilibrium
        assert equilibrium is not None
        # Steps at equilibrium are as long as the method allows, so it moves by as much as it is allowed
        # to: the tolerance is that of a step, and some steps add up.
        for tolerance in (1e-6, 1e-9):
            still = theory.fluid(net("pi"), "20 s", start="equilibrium", tolerance=tolerance)
            assert still.queue_packets == pytest.approx(equilibrium.queue_packets, rel=10 * tolerance)
            assert still.probability == pytest.approx(equilibrium.probability, rel=10 * tolerance)
        path = theory.fluid(net("pi"), 30, sample="1 ms", tolerance=1e-9, overflow="ignored")
        t, q = path.time_s, path.queue_packets
        assert path.windows_packets.shape == path.rtt_s.shape == (1, len(t))
        assert len(path) == 30_001
        # Park et al. 2004, eq. 8, and eq. 7 by differences where the queue is neither empty nor full.
        assert path.rtt_s[0] == pytest.approx(link.propagation_s[0] + q / 1250)
        assert path.arrivals_pps == pytest.approx(60 * path.windows_packets[0] / path.rtt_s[0])
        inside = (
            (q[:-2] > 1)
            & (q[2:] > 1)
            & (q[2:] < link.buffer_packets - 1)
            & (q[:-2] < link.buffer_packets - 1)
        )
        growth = (q[2:] - q[:-2]) / (t[2:] - t[:-2])
        assert inside.sum() > 10_000
        assert np.abs(growth - (path.arrivals_pps[1:-1] - 1250))[inside].max() < 1

    def test_near_its_rest_it_moves_as_the_loop_says(self) -> None:
        [link] = theory.analyze(net("pi"), reach=False)
        pi = link["pi"]
        assert pi.mode is not None
        assert pi.equilibrium is not None
        path = theory.fluid(net("pi"), 200, start="equilibrium", nudge=0.01, tolerance=1e-10)
        away = np.abs(path.queue_packets - pi.equilibrium.queue_packets)
        t = path.time_s
        first, last = (away[(t >= a) & (t < a + 10)].max() for a in (20, 40))
        assert np.log(last / first) / 20 == pytest.approx(pi.mode.root.real, rel=0.05)

    def test_changes(self) -> None:
        # The equilibrium of the changed network; the algorithm's parameters do not follow the link.
        [after] = theory.analyze(net("pi", rate="12 Mbit/s", rtt="80 ms", flows=80), reach=False)
        equilibrium, rtt = after["pi"].equilibrium, after.propagation_s[0]
        assert equilibrium is not None
        flows, link = {"flows": 80}, {"rate": "12 Mbit/s", "rtt": rtt}
        changes: list[tuple[Any, dict[str, Any]]] = [(50, flows), ("100 s", link)]
        path = theory.fluid(net("pi"), 3000, start="equilibrium", sample="1 s", changes=changes)
        before = path.probability[path.time_s < 50]
        assert np.ptp(before) < 1e-6
        assert abs(before.mean() - equilibrium.probability) > 0.1
        # Its slowest mode dies out by e every 380 s.
        assert path.probability[-1] == pytest.approx(equilibrium.probability, rel=1e-3)
        assert path.rtt_s[0, -1] == pytest.approx(equilibrium.rtt_s, rel=1e-3)

    def test_its_verdict_is_that_of_the_loop(self) -> None:
        axes = ("flows", np.array([20.0, 60.0, 120.0])), ("rtt", np.array([0.05, 0.15, 0.4]))
        growth = theory.map(net("pi"), *axes).values
        found = theory.fluid_map(net("pi"), *axes, 300, start="equilibrium", nudge=1, from_s=100)
        assert found.show == "settles"
        assert np.array_equal(found.values == 1, growth < 0)
        one = theory.fluid(net("pi"), 300, start="equilibrium", nudge=1).summary(100)
        [[mean]] = theory.fluid_map(
            net("pi"),
            ("flows", [60]),
            ("rate", [10e6]),
            300,
            start="equilibrium",
            nudge=1,
            from_s=100,
            show="mean",
        ).values
        assert mean == pytest.approx(one.mean, rel=1e-6)
        assert one.settles == (one.amplitude < 0.5 or one.amplitude < 0.9 * one.amplitude_before)
        assert one.least <= one.mean <= one.most

    def test_wrong_input(self) -> None:
        with pytest.raises(TheoryError, match="no model"):
            theory.fluid(net("drop-tail"), 10)
        with pytest.raises(TheoryError, match="relative tolerance"):
            theory.fluid(net("pi"), 10, tolerance=1e-30)
        with pytest.raises(TheoryError, match="time of a change"):
            theory.fluid(net("pi"), 10, changes=[(5, {"flows": 10}), (5, {"flows": 20})])
        with pytest.raises(ValueError, match='"load" must be'):
            theory.fluid(net("pi"), 10, changes=[(5, {"load": 10})])
        with pytest.raises(ValueError, match='needs start="equilibrium"'):
            theory.fluid(net("pi"), 10, nudge=1)
        with pytest.raises(TheoryError, match="duration"):
            theory.fluid(net("pi"), 0)
        with pytest.raises(ValueError, match="choose one of pi, red"):
            theory.fluid(net("pi", "red"), 10)
        with pytest.raises(TheoryError, match="at least 8"):
            theory.fluid(net("pi"), 10).summary(9.99)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_map() -> None:
    axes = ("flows", np.linspace(20, 200, 3000)), ("rtt", np.linspace(0.02, 0.5, 3000))
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        theory.map(net("pi"), *axes)
    assert time.monotonic() - begun < 10


class TestMeasure:
    def capture(self, path: Path) -> Path:
        """Hold a handshake of 50 ms, and ten segments of 1000 bytes, 8 ms apart."""

        def tcp(up: bool, flags: int, seq: int, data: int = 0) -> bytes:
            client, server = (b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 80)
            (src, sport), (dst, dport) = (client, server) if up else (server, client)
            header = struct.pack("!HHIIBBHHH", sport, dport, seq, 1, 0x50, flags, 1000, 0, 0)
            ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + data, 0, 0, 64, 6, 0) + src + dst
            return b"\0" * 12 + b"\x08\0" + ip + header + b"\0" * data

        packets = [(0.0, tcp(True, 0x02, 0)), (0.03, tcp(False, 0x12, 0)), (0.05, tcp(True, 0x10, 1))]
        packets += [(0.1 + 0.008 * i, tcp(False, 0x10, 1 + 1000 * i, 1000)) for i in range(100)]
        body = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        for t, packet in packets:
            body += struct.pack("<IIII", 1000, round(t * 1e6), len(packet), len(packet)) + packet
        path.write_bytes(body)
        return path

    def test_a_capture(self, tmp_path: Path) -> None:
        report = theory.measure(self.capture(tmp_path / "trace.pcap"), interval="100 ms", inside=["10.0.0.1"])
        assert report["packets"] == 103
        assert report["round_trips"]["quantiles_s"][2] == pytest.approx(0.05, rel=2e-3)
        up, down = report["directions"]
        assert (up["packets"], down["packets"]) == (2, 101)
        assert down["flows"]["active"] == 1
        capacity = down["capacity"]
        assert (capacity["verdict"], capacity["acknowledged"]) == ("full", None)
        assert capacity["capacity_bps"] == pytest.approx(1040 * 8 / 0.008, rel=1e-3)
        frames = theory.measure(tmp_path / "trace.pcap", inside=["10.0.0.1"], layer="capture")["directions"][
            1
        ]
        assert frames["capacity"]["capacity_bps"] == pytest.approx(1054 * 8 / 0.008, rel=1e-3)
        assert frames["capacity_ip_bps"] == pytest.approx(1040 * 8 / 0.008, rel=1e-3)
        assert capacity["senders_share"] == pytest.approx(0.6)
        assert up["capacity"]["capacity_bps"] is None
        intervals = report["intervals"]
        assert intervals["down_packets"].sum() == 101
        assert intervals["start_s"][:3] == pytest.approx([0, 0.1, 0.2])
        assert np.isnan(intervals["rtt_mean_s"][1:]).all()

    def test_wrong_input(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("no capture, but long enough to be one\n")
        with pytest.raises(TheoryError, match="text: not a packet capture") as caught:
            theory.measure(tmp_path / "text")
        assert caught.value.kind == "capture"
        with pytest.raises(FileNotFoundError):
            theory.measure(tmp_path / "missing")
        with pytest.raises(IsADirectoryError):
            theory.measure(tmp_path)
        path = self.capture(tmp_path / "trace.pcap")
        with pytest.raises(TheoryError, match="interval"):
            theory.measure(path, interval=0)
        with pytest.raises(TheoryError, match="must be an address"):
            theory.measure(path, inside=["home"])
        with pytest.raises(TheoryError, match="layer = adsl: must be ip, capture, ptm"):
            theory.measure(path, layer="adsl")


class TestOscillation:
    def test_packets_are_compared_with_the_verdict(self) -> None:
        design = theory.design("pi", rate="10 Mbit/s", rtt="200 ms", flows=50)
        overrides = {"seeds": 1, "duration": "60 s", "warmup": "20 s", "series_step": "20 ms"}
        results = quell.run(design.scenario, overrides=overrides)
        series = results.series
        t = np.array(series["time_s"], dtype=float)
        queue = np.array(series["queue_mean_packets"], dtype=float)[t > 20]
        found = theory.oscillation(queue, t[1] - t[0])
        assert found is not None
        assert found.mean == pytest.approx(queue.mean())
        assert found.motion == "settled"

    def test_what_does_not_move_does_not_oscillate(self) -> None:
        assert theory.oscillation(np.full(1000, 5.0), 0.1) is None
        assert theory.oscillation([1.0, 2.0], "100 ms") is None
        with pytest.raises(ValueError, match="2 dimensions"):
            theory.oscillation(np.zeros((10, 10)), 0.1)
        with pytest.raises(TheoryError, match="step"):
            theory.oscillation(np.zeros(100), 0)


def test_other_threads_go_on() -> None:
    stop, turns = threading.Event(), [0]

    def count() -> None:
        while not stop.wait(0.002):
            turns[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    theory.map(net("pi"), ("flows", np.linspace(20, 200, 60)), ("rtt", np.linspace(0.02, 0.5, 60)))
    stop.set()
    thread.join()
    assert turns[0] > 5


def test_numpy_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "quell.theory")
    monkeypatch.delattr(quell, "theory")
    with pytest.raises(ModuleNotFoundError, match=r"quell\[theory\]"):
        quell.theory  # noqa: B018


def test_diagrams() -> None:
    [link] = theory.analyze(net("pi", "red"))
    loops = {label: a.loop for label, a in link.analyses.items() if a.loop is not None}
    gain, phase = quell.plot.bode(loops)
    legend = gain.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == len(loops)
    assert phase.get_xlabel() == "frequency (rad/s)"
    ax = quell.plot.nyquist(loops["pi"])
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match="2 axes"):
        quell.plot.bode(loops, axes=[ax])
    plt.close("all")


def test_a_dumbbell_has_a_buffer_that_its_algorithm_needs() -> None:
    fast = partial(theory.dumbbell, rate="1 Gbit/s", rtt="1 ms", flows=10)
    roomy = fast(algorithms=["pie"])
    assert roomy["dumbbell"]["buffer"] == "25000 packets"
    assert theory.analyze(roomy)
    assert fast(algorithms=["drop-tail"])["dumbbell"]["buffer"] == "250 packets"
    assert fast(algorithms=["pie"], buffer="90 packets")["dumbbell"]["buffer"] == "90 packets"
