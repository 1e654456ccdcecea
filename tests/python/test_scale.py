"""Studies in pieces, over processes that may die."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import signal
import threading
import time
from typing import Any

import pytest
import quell
from conftest import make_scenario
from quell import scale

dask = pytest.importorskip("dask.distributed")

pytestmark = pytest.mark.filterwarnings("default")


def test_tasks_are_pickled_and_made_elsewhere(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    tasks = quell.tasks(scenario)
    assert len(tasks) == len({task.key for task in tasks}) == 6
    copies: list[quell.Task] = pickle.loads(pickle.dumps(tasks))
    for task, copy in zip(tasks, copies, strict=True):
        assert (task.key, task.scenario, task.seed) == (copy.key, copy.scenario, copy.seed)
        assert (task.algorithm, task.settings, task.series) == (copy.algorithm, copy.settings, copy.series)
        assert task.cost_packets == copy.cost_packets > 0
    assert len(pickle.dumps(tasks)) < 2 * len(pickle.dumps([t for t in tasks if t.seed == 1]))
    cache = tmp_path / "cache"
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        made = [pool.submit(quell.make, [task], cache=cache) for task in tasks]
        assert all(list(one.result().values()) == ["made"] for one in made)
    assert set(quell.make(tasks, cache=cache).values()) == {"found"}
    assert quell.tasks(scenario, missing=True, cache=cache) == []
    results = quell.run(scenario, cache=cache)
    assert results.info["reused"] == 6
    assert results.digest == quell.run(scenario, cache=False).digest


def test_batches_are_about_equal(scenario: dict[str, Any]) -> None:
    tasks = quell.tasks(scenario, seeds=20)
    dealt = list(scale.batches(tasks, 7))
    assert [task for batch in dealt for task in batch] == tasks
    assert 6 <= len(dealt) <= 8
    assert list(scale.batches([], 7)) == []
    assert list(scale.batches(tasks[:2], 100)) == [[tasks[0]], [tasks[1]]]


def test_a_store_carries_a_cache(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    quell.run(scenario, cache=here)
    for store in [f"file://{tmp_path}/store", "memory://bucket/quell"]:
        assert scale.push(here, store) == 6
        assert scale.push(here, store) == 0
        other = there / store[:4]
        assert scale.pull(store, other, [quell.tasks(scenario)[0].key]) == 1
        assert scale.pull(store, other) == 5
        assert quell.run(scenario, cache=other).info["reused"] == 6
    names = [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert all(name.endswith(".entry") for name in names)


def test_a_worker_that_is_killed_loses_nothing(tmp_path: pathlib.Path) -> None:
    scenario = make_scenario(duration="10 s", seeds=40)
    whole = quell.run(scenario, cache=False)
    cache = tmp_path / "cache"
    with (
        dask.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        seen: list[tuple[int, int]] = []
        killed = threading.Event()

        def progress(done: int, total: int) -> None:
            seen.append((done, total))
            if done > total / 4 and not killed.is_set():
                killed.set()
                victim = next(iter(client.run(os.getpid).values()))
                os.kill(victim, signal.SIGKILL)

        results = scale.run(scenario, client, cache=cache, progress=progress)
        assert killed.is_set()
        assert results.digest == whole.digest
        assert not results.partial
        assert results.info["reused"] == 120
        assert seen[0] == (0, 120)
        assert seen[-1] == (120, 120), "nothing is counted twice"
        assert [done for done, _ in seen] == sorted({done for done, _ in seen})
        # What is there is not made again; nothing is there twice.
        began = time.perf_counter()
        assert scale.run(scenario, client, cache=cache).digest == whole.digest
        assert time.perf_counter() - began < 60
    assert len(list(cache.glob("??/*.entry"))) == 120
    # Who is killed may leave the file behind that it was writing, under its temporary name.
    assert len(list(cache.rglob(".quell-*"))) <= 1


def test_a_store_between_machines(scenario: dict[str, Any], tmp_path: pathlib.Path) -> None:
    with (
        dask.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        store = f"file://{tmp_path}/store"
        results = scale.run(scenario, client, cache=tmp_path / "mine", store=store)
        assert results.digest == quell.run(scenario, cache=False).digest
        # Somebody else takes all of it from the store.
        again = scale.run(scenario, client, cache=tmp_path / "another", store=store)
        assert (again.info["reused"], again.digest) == (6, results.digest)
