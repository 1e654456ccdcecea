"""Runs that decide themselves how much to run, and several scenarios as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import make_scenario

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


def short(**fields: Any) -> dict[str, Any]:
    return make_scenario(duration="8 s", warmup="2 s", **fields)


def test_seeds_are_added_until_the_intervals_are_narrow() -> None:
    results = quell.run(short(), seeds="auto", precision={"queue_packets": "5%"}, max_seeds=60)
    (decided,) = results.info["sequential"]
    assert decided["looks"] is None
    table = results.table(["queue_packets"])
    for stop, mean, half, n in zip(
        decided["stops"], table["mean"], table["half_width"], table["n"], strict=True
    ):
        assert stop["seeds"] == n
        assert (stop["reason"] == "reached") == (half <= 0.05 * mean)


def test_differences_are_decided() -> None:
    results = quell.run(
        short(), seeds="auto", baseline="drop-tail", precision={"queue_packets": None, "utilization": 0.5}
    )
    (decided,) = results.info["sequential"]
    baseline, *others = decided["stops"]
    assert baseline["reason"] == "baseline"
    assert baseline["seeds"] == max(stop["seeds"] for stop in others)
    assert "reached" in [stop["reason"] for stop in others]
    significant = results.compare("drop-tail", ["queue_packets"])["significant"]
    assert significant == [stop["reason"] == "reached" for stop in others]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": "auto"}, "name a metric"),
        ({"seeds": "auto", "precision": {"queue_packets": None}}, "needs a width"),
        ({"seeds": "auto", "precision": {"queue": "1%"}}, "queue_packets"),
        ({"seeds": "auto", "precision": {"queue_packets": "-1%"}}, "above 0"),
        ({"seeds": "auto", "precision": {"queue_packets": "1%"}, "baseline": "blue"}, "blue"),
        ({"seeds": "auto", "precision": {"queue_packets": "1%"}, "max_seeds": 1}, "at least 2"),
        ({"precision": {"queue_packets": "1%"}}, "seeds = "),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quell.run(short(), **arguments)


def test_several_scenarios_make_one_result() -> None:
    fields = {"duration": "5 s", "warmup": "1 s"}
    results = quell.run([DUMBBELL, short()], seeds=1, overrides=fields)
    names = [point["settings"]["scenario"] for point in results.points]
    assert names == ["dumbbell", "scenario 2"]
    alone = quell.run(DUMBBELL, seeds=1, overrides=fields)
    assert all(results.digests[key] == digest for key, digest in alone.digests.items())


VOICE = {
    "schema": 1,
    "duration": "10 s",
    "warmup": "2 s",
    "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    "flows": [{"name": "voice", "kind": "udp", "rate": "1 Mbit/s", "packet": "500 B"}],
    "aqm": [{"algorithm": "drop-tail"}],
}


def test_a_search_finds_a_crossing_that_is_known() -> None:
    found = quell.search(VOICE, "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "utilization", 0.5)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 1 <= found.high
    assert found.high - found.low <= 0.06
    assert (found.ending, found.rises, found.algorithm) == ("found", True, "drop-tail")
    assert found.probes["at"][:2] == [0.2, 1.8]
    assert found.probes["side"][:2] == ["below", "above"]
    assert repr(found) == f"Crossing(found, {found.low:g} to {found.high:g})"


def test_a_search_without_a_crossing_says_so() -> None:
    found = quell.search(VOICE, "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "utilization", "99%")
    assert (found.ending, found.low, found.rises) == ("same-side", None, None)
    with pytest.raises(ValueError, match="must have the form"):
        quell.search(VOICE, "rate", "utilization", 0.5)
    with pytest.raises(ValueError, match="not a value of utilization"):
        quell.search(VOICE, "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "utilization", "1 ms")
    with pytest.raises(quell.ScenarioError, match="nothing"):
        quell.search(VOICE, "flows.web.count=1..2", "utilization", 0.5)


def test_search_refuses_a_plug_in_that_nothing_names() -> None:
    scenario = quell.theory.dumbbell(rate="2 Mbit/s", rtt="50 ms", flows=4, algorithms=["red"])
    rule = r'aqms\["redd"\]: no \[\[aqm\]\] of the scenario has this algorithm.*red'
    with pytest.raises(ValueError, match=rule):
        quell.search(
            scenario, over="flows.tcp.count=2..8", metric="loss_rate", crosses="2%", aqms={"redd": object}
        )
