"""Scenarios of named links and loads."""

from __future__ import annotations

import pytest
import quell


def test_a_load_over_a_link_is_a_scenario_that_runs() -> None:
    scenario = quell.new("rrul", link="home", aqm=["fq-codel"], duration="1 s")
    assert scenario["title"] == "RRUL over home cable"
    assert scenario["dumbbell"]["rate"] == "100 Mbit/s"
    results = quell.run(scenario, seeds=1)
    assert set(results.digests) == {(0, "fq-codel", 1)}


def test_a_name_that_does_not_exist_is_told_what_was_meant() -> None:
    with pytest.raises(ValueError, match='did you mean "starlink"'):
        quell.new("rrul", link="starlnk")
    with pytest.raises(ValueError, match="duration"):
        quell.new("rrul", link="home", duration="soon")
