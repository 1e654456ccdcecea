"""Searches for the best values of fields, and the objective that other optimizers take."""

from __future__ import annotations

from typing import Any

import pytest
import quell

# Twice as many bits as the link carries: the buffer is always full, and the delay is its size over the rate.
FULL = {
    "schema": 1,
    "duration": "10 s",
    "warmup": "5 s",
    "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    "flows": [{"name": "voice", "kind": "udp", "rate": "4 Mbit/s", "packet": "500 B"}],
    "aqm": [{"algorithm": "drop-tail"}],
}
BUFFER = {"dumbbell.buffer": "10..100 packets:step:10"}
RED = {
    **FULL,
    "flows": [{"name": "ftp", "count": 3, "rtt": "50 ms"}],
    "aqm": [{"algorithm": "red"}],
}
THRESHOLDS = {"aqm.red.min_th": "5..30 packets", "aqm.red.max_th": "5..30 packets"}


def test_the_best_buffer_is_the_smallest_and_its_scenario_gives_the_figures() -> None:
    found = quell.tune(FULL, BUFFER, "queue_delay_mean_s", check_seeds=3, cache=False)
    best = found["checks"][-1]
    assert best["settings"] == [{"field": "dumbbell.buffer", "value": "10 packets"}]
    assert best["values"][0]["mean"] == pytest.approx(10 * 4000 / 2e6, abs=0.0025)
    table = quell.run(best["scenario"], cache=False).table(["queue_delay_mean_s"])
    assert table["mean"] == [best["values"][0]["mean"]]
    # All ten values, each once.
    assert sorted(trial["at"][0] for trial in found["trials"]) == list(range(10, 101, 10))


def test_an_adversary_finds_the_rate_at_which_a_policer_drops_most() -> None:
    scenario = {**FULL, "aqm": [{"algorithm": "policer", "rate": "1 Mbit/s"}, {"algorithm": "drop-tail"}]}
    found = quell.adversary(
        scenario,
        "policer",
        "drop-tail",
        "goodput_bps",
        {"flows.voice.rate": "0.2..1.8 Mbit/s"},
        trials=10,
        check_seeds=2,
        cache=False,
    )
    worst, swapped = found["cases"]
    assert worst["settings"][0]["value"] == "1.8 Mbit/s"
    assert worst["loss"]["mean"] == pytest.approx(0.8 / 1.8, abs=0.02)
    assert (worst["verdict"], swapped["verdict"]) == ("loses", "does-not")


@pytest.mark.parametrize(
    ("vary", "metrics", "message"),
    [
        ({}, ["goodput"], "no field varies"),
        ({"aqm.red.max_p": "0.5..0.1"}, ["goodput"], "smaller than the second"),
        ({"aqm.red.max_p": "0..0.1:log"}, ["goodput"], "begin above 0"),
        ({"aqm.red.max_pp": "0.1..0.2"}, ["goodput"], "max_p"),
        ({"aqm.red.max_p": "0.1..0.2"}, ["godput"], "goodput"),
        ({"aqm.red.max_p": "0.1..0.2"}, ["mark_rate"], "mark_rate:min"),
        ({"aqm.red.max_p": "0.1..0.2"}, ["goodput", "goodput_bps"], "named twice"),
        ({"aqm.red.max_p": "2..3"}, ["goodput"], "refuses all 50 trials"),
    ],
)
def test_what_cannot_be_asked_is_refused(vary: dict[str, str], metrics: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quell.tune(RED, vary, *metrics, cache=False)


class Fixed:
    """A trial of whoever chooses the values."""

    def __init__(self, **values: float) -> None:
        self.values, self.asked = values, dict[str, Any]()

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        self.asked[name] = (low, high, log)
        return self.values[name.rpartition(".")[2]]

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        self.asked[name] = (low, high, log)
        return int(self.values[name.rpartition(".")[2]])

    def suggest_categorical(self, name: str, choices: Any) -> float:
        self.asked[name] = choices
        return self.values[name.rpartition(".")[2]]


def test_an_objective_is_the_mean_over_the_seeds() -> None:
    objective = quell.objective(FULL, BUFFER, "queue_delay_mean_s", seeds=2, cache=False)
    trial = Fixed(buffer=20)
    assert objective(trial) == pytest.approx(20 * 4000 / 2e6, abs=0.0025)
    assert trial.asked == {"dumbbell.buffer": list(range(10, 101, 10))}
    assert objective.directions == ["minimize"]
    # Only whole numbers of flows are flows.
    objective = quell.objective(
        RED, {"flows.ftp.count": "1..9:log"}, ["goodput", "loss_rate:max"], cache=False
    )
    trial = Fixed(count=2)
    values = objective(trial)
    assert isinstance(values, tuple)
    assert trial.asked == {"flows.ftp.count": (1, 9, True)}
    results = quell.run(RED, seeds=3, overrides={"flows.ftp.count": 2}, cache=False)
    assert list(values) == results.table(["goodput_bps", "loss_rate"])["mean"]
    assert objective.directions == ["maximize", "maximize"]


def test_an_objective_refuses_names_that_are_wrong_before_it_is_called() -> None:
    with pytest.raises(quell.ScenarioError, match="max_th"):
        quell.objective(RED, {"aqm.red.max_ht": "5..30 packets"}, "goodput")
    with pytest.raises(ValueError, match="which algorithm is meant"):
        quell.objective({**RED, "aqm": "all"}, {"flows.ftp.count": "1..9"}, "goodput")


def test_optuna_takes_the_objective_with_any_sampler() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    objective = quell.objective(FULL, BUFFER, "queue_delay_mean_s", seeds=1, cache=False)
    for sampler in (optuna.samplers.TPESampler(seed=1), optuna.samplers.RandomSampler(seed=1)):
        study = optuna.create_study(directions=objective.directions, sampler=sampler)
        study.optimize(objective, n_trials=25)
        assert study.best_params["dumbbell.buffer"] == min(t.params["dumbbell.buffer"] for t in study.trials)
    # Settings that the scenario refuses are pruned, and those of the front are not.
    objective = quell.objective(RED, THRESHOLDS, ["P99 delay", "goodput"], seeds=1, cache=False)
    study = optuna.create_study(
        directions=objective.directions, sampler=optuna.samplers.NSGAIISampler(seed=1)
    )
    study.optimize(objective, n_trials=20)
    states = {trial.params["aqm.red.max_th"] >= trial.params["aqm.red.min_th"] for trial in study.best_trials}
    assert states == {True}
    pruned = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
    assert pruned
    assert all(trial.params["aqm.red.max_th"] < trial.params["aqm.red.min_th"] for trial in pruned)
