"""Objectives for optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from quell._quell import ScenarioError, check, direction, ranges, run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence


class Trial(Protocol):
    """What an objective needs of a trial; that of Optuna has it."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Choose a number."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Choose a whole number."""

    def suggest_categorical(self, name: str, choices: Sequence[float]) -> float:
        """Choose a value of a list."""


class Objective:
    """A metric of a scenario as a function of a trial, from :func:`objective`.

    Attributes
    ----------
    directions : list of str
        "minimize" or "maximize" for each metric, as ``optuna.create_study`` takes them.

    Examples
    --------
    >>> import quell
    >>> objective = quell.objective("scenarios/main.toml", {"aqm.red.max_p": "0.01..0.5:log"}, "P99 delay")
    >>> objective.directions
    ['minimize']
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Mapping[str, Any],
        vary: Mapping[str, str],
        metrics: Sequence[str],
        *,
        aqm: str | None,
        link: str | None,
        options: Mapping[str, Any],
    ) -> None:
        """Check the fields and the metrics."""
        self._scenario, self._link, self._options = scenario, link, dict(options)
        goals = [direction(metric) for metric in metrics]
        self._metrics = [name for name, _ in goals]
        self.directions = [way for _, way in goals]
        self._ranges = ranges(vary)
        labels = [each.get("label", each["algorithm"]) for each in self._check({})[0]["aqm"]]
        self._aqm = aqm if aqm is not None else _named(labels, [axis["name"] for axis in self._ranges])
        if self._aqm not in labels:
            message = f"which algorithm is meant, aqm = {self._aqm!r}? The scenario has {', '.join(labels)}"
            raise ValueError(message)
        self._whole = {axis["name"] for axis in self._ranges if self._is_whole(axis)}

    def __call__(self, trial: Trial) -> float | tuple[float, ...]:
        """Run the scenario with the values that the trial chooses, and return the mean of each metric.

        If the scenario refuses the values, or a metric has none, Optuna prunes the trial.
        """
        settings = {axis["name"]: self._suggest(trial, axis) for axis in self._ranges}
        try:
            results = run(
                self._scenario, series="none", **{**self._options, "overrides": self._with(settings)}
            )
        except ScenarioError as error:
            raise _pruned(error) from error
        values = []
        for metric in self._metrics:
            table = results.table([metric], link=self._link)
            means = dict(zip(table["algorithm"], table["mean"], strict=True))
            if means.get(self._aqm) is None:
                raise _pruned(ValueError(f"{metric} has no value with {settings}"))
            values.append(means[self._aqm])
        return values[0] if len(values) == 1 else tuple(values)

    def _suggest(self, trial: Trial, axis: Mapping[str, Any]) -> float | str:
        name, low, high = axis["name"], axis["low"], axis["high"]
        value: float
        if axis["values"]:
            value = trial.suggest_categorical(name, axis["values"])
        elif name in self._whole:
            value = trial.suggest_int(name, int(low), int(high), log=axis["log"])
        else:
            value = trial.suggest_float(name, low, high, log=axis["log"])
            if parts := axis["whole_per_unit"]:
                # Of kB and the like, the nearest whole byte.
                value = min(max(round(value * parts) / parts, low), high)
        return _text(value, axis["unit"])

    def _with(self, settings: Mapping[str, float | str]) -> dict[str, Any]:
        return {**(self._options["overrides"] or {}), **settings}

    def _check(self, settings: Mapping[str, float | str]) -> list[dict[str, Any]]:
        return check(self._scenario, aqms=self._options["aqms"], overrides=self._with(settings))

    def _is_whole(self, axis: Mapping[str, Any]) -> bool:
        """Say whether the field takes whole numbers only, or packets or bytes; wrong names raise."""

        def error(value: float) -> ScenarioError | None:
            try:
                self._check({axis["name"]: _text(value, axis["unit"])})
            except ScenarioError as why:
                return why
            return None

        low, high = axis["low"], axis["high"]
        of_low, of_high = error(low), error(high)
        if of_low and of_high and of_low.nearest is not None:
            raise of_low
        if axis["whole_per_unit"] == 1:
            return True
        may_be = not axis["values"] and low % 1 == 0 and high % 1 == 0
        return may_be and error(low + 0.5) is not None and not (of_low and of_high)


def objective(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    vary: Mapping[str, str],
    metric: str | Sequence[str],
    *,
    seeds: int = 3,
    aqm: str | None = None,
    link: str | None = None,
    threads: int | None = None,
    aqms: Mapping[str, Callable[..., Any]] | None = None,
    overrides: Mapping[str, Any] | None = None,
    cache: bool | str | os.PathLike[str] | None = None,
) -> Objective:
    """Make an objective that Optuna's ``study.optimize`` takes, whatever its sampler.

    Every trial runs the same seeds, and the cache has what was run before. Check the best trial on fresh
    seeds. :func:`quell.tune` does so itself, and needs no other package.

    Parameters
    ----------
    scenario : str, os.PathLike or dict
        As for :func:`quell.run`; a single point, not a sweep.
    vary : dict of str to str
        The fields that vary and their ranges, as for :func:`quell.tune`.
    metric : str or sequence of str
        One metric, or several for a front, as for :func:`quell.tune`.
    seeds : int, default 3
        The seeds of each trial: 1, 2, ... up to this.
    aqm : str, optional
        The algorithm, by its label; by default the one that the fields name, or the scenario's only one.
    link : str, optional
        Which observed link; by default the first.
    threads : int, optional
        As for :func:`quell.run`.
    aqms : dict of str to callable, optional
        As for :func:`quell.run`.
    overrides : dict of str to value, optional
        As for :func:`quell.run`.
    cache : bool, str or os.PathLike, optional
        As for :func:`quell.run`.

    Returns
    -------
    Objective
        A function of a trial.

    Raises
    ------
    ScenarioError
        If the scenario breaks a rule, or a field is not one of its own.
    ValueError
        If a range or a metric cannot be read, or if it is not clear which algorithm is meant.

    Examples
    --------
    >>> import quell
    >>> objective = quell.objective(
    ...     "scenarios/main.toml", {"aqm.red.max_p": "0.01..0.5:log"}, ["P99 delay", "goodput"]
    ... )
    >>> import optuna  # doctest: +SKIP
    >>> study = optuna.create_study(directions=objective.directions)  # doctest: +SKIP
    >>> study.optimize(objective, n_trials=50)  # doctest: +SKIP
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    options = {"seeds": seeds, "threads": threads, "aqms": aqms, "overrides": overrides, "cache": cache}
    return Objective(scenario, vary, metrics, aqm=aqm, link=link, options=options)


def _named(labels: list[str], fields: list[str]) -> str | None:
    """Find the algorithm that fields name, or the only one."""
    parts = (field.split(".") for field in fields)
    named = {part[1] for part in parts if part[0] == "aqm" and len(part) > 1 and part[1] in labels}
    if len(named) == 1:
        return named.pop()
    return labels[0] if len(labels) == 1 and not named else None


def _text(value: float, unit: str) -> float | str:
    """Write a value with its unit; a whole number as such, because some fields take no other."""
    value = int(value) if value % 1 == 0 else value
    return f"{value} {unit}" if unit else value


def _pruned(error: Exception) -> Exception:
    """Make what tells Optuna that a trial has no value; without Optuna, the error itself."""
    try:
        from optuna import TrialPruned  # noqa: PLC0415
    except ModuleNotFoundError:
        return error
    pruned: Exception = TrialPruned(str(error))
    return pruned
