"""Studies on more than one machine, with Dask (``pip install "quell[scale]"``).

:func:`run` is :func:`quell.run` for a Dask cluster. What Dask does is little: a study is a list of
:class:`quell.Task`, :func:`quell.make` makes some of them, and only the cache records what was made. Ray,
joblib and ``concurrent.futures`` take the same two functions in as many lines: docs/scale.md has recipes.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import dask.distributed

import quell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from dask.distributed import Client

__all__ = ["batches", "pull", "push", "run"]

# Its functions have no types.
_DISTRIBUTED: Any = dask.distributed

# Batches for each core: enough that none waits long for the last one, and few for the scheduler.
_BATCHES_PER_CORE = 8


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    client: Client,
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    series: Literal["drawn", "all", "none"] = "drawn",
    cache: bool | str | os.PathLike[str] = True,
    store: str | None = None,
    retries: int = 3,
    progress: Callable[[int, int], object] | None = None,
) -> quell.Results:
    """Run a scenario on a Dask cluster.

    Cached replications are not run again, and what workers finish goes into the cache at once. If a worker
    dies, others redo what it was making. Ctrl-C cancels what has not started; the next call continues from
    there.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`quell.run`. Workers need not see the file.
    client : dask.distributed.Client
        The cluster.
    seeds : int or sequence of int, optional
        As for :func:`quell.run`.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.
    sweep : dict of str to sequence or str, optional
        As for :func:`quell.run`.
    series : {"drawn", "all", "none"}, default "drawn"
        As for :func:`quell.run`.
    cache : bool, str or os.PathLike, default True
        As for :func:`quell.run`. Without `store`, workers must see this folder under the same name.
    store : str, optional
        Where workers put replications if they share no folder with this machine: a URL that fsspec knows,
        such as ``s3://bucket/quell``. What is missing here is copied from there, before and after the run.
    retries : int, default 3
        How often to retry a batch after its worker died or failed.
    progress : callable, optional
        Called with the number of finished replications and of all, whenever some finish.

    Returns
    -------
    Results
        The metrics of every replication, as :func:`quell.run` returns them.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule.
    RunError
        If a replication failed; the message says which one and why.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from quell import scale
    >>> results = scale.run("study.toml", Client("tcp://scheduler:8786"))  # doctest: +SKIP
    """
    folder = quell.cache_dir(cache)
    all_tasks = quell.tasks(scenario, seeds=seeds, overrides=overrides, sweep=sweep, series=series)

    def lacking() -> list[quell.Task]:
        return quell.tasks(
            scenario, seeds=seeds, overrides=overrides, sweep=sweep, series=series, missing=True, cache=folder
        )

    missing = lacking()
    if store is not None and missing:
        pull(store, folder, (task.key for task in missing), replace=True)
        missing = lacking()
    done = len(all_tasks) - len(missing)
    if progress is not None:
        progress(done, len(all_tasks))
    if missing:
        cluster: Any = client
        cores = sum(cluster.nthreads().values()) or 1
        futures = cluster.map(
            _make,
            list(batches(missing, cores * _BATCHES_PER_CORE)),
            cache=None if store else str(folder),
            store=store,
            retries=retries,
            pure=False,
        )
        try:
            for future in _DISTRIBUTED.as_completed(futures):
                made = future.result()
                failed = [f"{key}: {what}" for key, what in made.items() if what.startswith("failed")]
                if failed:
                    raise quell.RunError(f"{len(failed)} replications could not be made: {failed[0]}")
                done += len(made)
                if progress is not None:
                    progress(done, len(all_tasks))
        finally:
            # What is not over when this is left is not wanted; what is over is in the cache.
            cluster.cancel(futures)
        if store is not None:
            pull(store, folder, (task.key for task in missing), replace=True)
    return quell.run(scenario, seeds=seeds, overrides=overrides, sweep=sweep, series=series, cache=folder)


def batches(tasks: Sequence[quell.Task], count: int) -> Iterable[list[quell.Task]]:
    """Deal tasks into batches of about equal work, the longest tasks first.

    Parameters
    ----------
    tasks : sequence of Task
        What :func:`quell.tasks` gave.
    count : int
        About how many batches.

    Yields
    ------
    list of Task
        A batch; none is empty.

    Examples
    --------
    >>> import quell
    >>> from quell import scale
    >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    >>> [len(batch) for batch in scale.batches(quell.tasks(net, seeds=4), 2)]
    [2, 2]
    """
    share = sum(task.cost_packets for task in tasks) / max(count, 1)
    batch: list[quell.Task] = []
    cost = 0.0
    for task in tasks:
        batch.append(task)
        cost += task.cost_packets
        if cost >= share:
            yield batch
            batch, cost = [], 0.0
    if batch:
        yield batch


def _make(tasks: list[quell.Task], *, cache: str | None, store: str | None) -> dict[str, str]:
    """Make a batch on a worker."""
    if store is None:
        return quell.make(tasks, cache=cache)
    with tempfile.TemporaryDirectory(prefix="quell-") as folder:
        made = quell.make(tasks, cache=folder)
        # Who asked lacks them, or their time series.
        push(folder, store, replace=True)
    return made


def _entry(key: str) -> str:
    """Give an entry's path within a cache."""
    return f"{key[:2]}/{key[2:]}.entry"


def push(cache: str | os.PathLike[str], store: str, *, replace: bool = False) -> int:
    """Copy the entries of a cache to a store.

    Parameters
    ----------
    cache : str or os.PathLike
        The cache's folder.
    store : str
        A URL that fsspec knows, such as ``s3://bucket/quell``.
    replace : bool, default False
        Also copy entries that the store already has, which may lack the time series.

    Returns
    -------
    int
        How many were copied.

    Examples
    --------
    >>> from quell import scale
    >>> scale.push("/home/me/.cache/quell", "s3://bucket/quell")  # doctest: +SKIP
    """
    files, root = _open(store)
    copied = 0
    for path in sorted(pathlib.Path(cache).glob("??/*.entry")):
        target = f"{root}/{path.parent.name}/{path.name}"
        if replace or not files.exists(target):
            files.makedirs(f"{root}/{path.parent.name}", exist_ok=True)
            _put(files, path, target)
            copied += 1
    return copied


def pull(
    store: str,
    cache: str | os.PathLike[str],
    keys: Iterable[str] | None = None,
    *,
    replace: bool = False,
) -> int:
    """Copy entries of a store to a cache.

    Parameters
    ----------
    store : str
        A URL that fsspec knows, such as ``s3://bucket/quell``.
    cache : str or os.PathLike
        The cache's folder.
    keys : iterable of str, optional
        Which entries; by default all that the store has.
    replace : bool, default False
        Also copy entries that the cache already has, which may be damaged or lack the time series.

    Returns
    -------
    int
        How many were copied.

    Examples
    --------
    >>> from quell import scale
    >>> scale.pull("s3://bucket/quell", "/home/me/.cache/quell")  # doctest: +SKIP
    """
    files, root = _open(store)
    if keys is None:
        names = [str(name) for name in files.glob(f"{root}/??/*.entry")]
    else:
        names = [f"{root}/{_entry(key)}" for key in keys]
    copied = 0
    for name in names:
        parts = pathlib.PurePosixPath(name).parts
        target = pathlib.Path(cache, *parts[-2:])
        if (target.exists() and not replace) or not files.exists(name):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place, then there in one step: a reader never sees a half of it.
        handle, beside = tempfile.mkstemp(prefix=".quell-", dir=target.parent)
        os.close(handle)
        try:
            files.get_file(name, beside)
            pathlib.Path(beside).replace(target)
        except BaseException:
            pathlib.Path(beside).unlink(missing_ok=True)
            raise
        copied += 1
    return copied


def _open(store: str) -> tuple[Any, str]:
    """Open the file system of a URL, and give the path of its folder there."""
    import fsspec  # noqa: PLC0415

    files, root = fsspec.core.url_to_fs(store)
    return files, root.rstrip("/")


def _put(files: Any, path: pathlib.Path, target: str) -> None:
    """Put a file in its place in one step: objects are, files by renaming."""
    protocol = files.protocol if isinstance(files.protocol, str) else files.protocol[0]
    if protocol != "file":
        files.put_file(str(path), target)
        return
    beside = f"{target}.{os.getpid()}.part"
    files.put_file(str(path), beside)
    files.mv(beside, target)
