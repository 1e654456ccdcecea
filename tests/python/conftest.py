"""What the tests share: a small scenario that drops, marks and fills its queue."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pytest
import quell

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps the command away from the user's cache."""
    monkeypatch.setenv("QUELL_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal: a job in the background ignores it, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def make_scenario(*aqm: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Ten long flows on a dumbbell."""
    return {
        "schema": 1,
        "title": "Python tests",
        "duration": "20 s",
        "warmup": "5 s",
        "seeds": 2,
        "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "60 packets"},
        "flows": [
            {
                "name": "ftp",
                "count": 10,
                "rtt": {"grid": ["40 ms", "120 ms"]},
                "start": {"between": ["0 s", "1 s"]},
            },
        ],
        "aqm": list(aqm) or [{"algorithm": "drop-tail"}, {"algorithm": "red"}, {"algorithm": "pi"}],
        **fields,
    }


@pytest.fixture
def scenario() -> dict[str, Any]:
    return make_scenario()


@pytest.fixture(scope="session")
def results() -> quell.Results:
    return quell.run(make_scenario())
