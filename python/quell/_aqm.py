"""The base class of algorithms written in Python."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from quell._quell import PASS, Context, Link, Packet, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


class Aqm:
    """An algorithm that decides, for one queue, when to signal congestion.

    Subclass it, define the methods that your algorithm needs (the others cost nothing), and pass the class
    to :func:`quell.run`: ``aqms={"mine": Mine}`` makes ``algorithm = "mine"`` known to the
    scenario. Parameters next to the name are passed as keyword arguments.

    The simulator promises: calls come in time order; every arrival comes to :meth:`on_enqueue`,
    whether or not the buffer has room; every update due at or before the time of a call has run, each
    at its own time. Decide from ``cx`` and ``pkt`` alone and draw random numbers with ``cx.random()``:
    then a seed gives the same results each time. Objects must not share state: replications run
    concurrently.

    Parameters
    ----------
    link : Link
        What is known about the link.

    Attributes
    ----------
    link : Link
        The same.
    update_interval : float or None
        Set it, in the class or in ``__init__``, to have :meth:`on_update` called at every multiple of
        that many seconds.

    Examples
    --------
    Signal arrivals that find more packets than a target, with probability 0.1:

    >>> import quell
    >>> class Threshold(quell.Aqm):
    ...     def __init__(self, link, *, target=20):
    ...         super().__init__(link)
    ...         self.target = target
    ...     def on_enqueue(self, cx, pkt):
    ...         if cx.queue_packets > self.target and cx.random() < 0.1:
    ...             return quell.signal()
    ...         return quell.PASS
    >>> scenario = {
    ...     "schema": 1, "duration": "10 s",
    ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
    ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
    ...     "aqm": [{"algorithm": "threshold", "target": 10}],
    ... }
    >>> quell.run(scenario, aqms={"threshold": Threshold}).algorithms
    ['threshold']
    """

    update_interval: float | None = None

    def __init__(self, link: Link) -> None:
        self.link = link

    def on_enqueue(self, cx: Context, pkt: Packet) -> Verdict | None:
        """Decide on an arriving packet.

        Parameters
        ----------
        cx : Context
            The time, the queue without the packet, and random numbers.
        pkt : Packet
            The packet.

        Returns
        -------
        Verdict or None
            ``quell.PASS`` (or None), :func:`quell.signal` or :func:`quell.drop`.

        Examples
        --------
        >>> import quell
        >>> class Threshold(quell.Aqm):
        ...     def on_enqueue(self, cx, pkt):
        ...         return quell.PASS if cx.queue_packets < 20 else quell.signal()
        """
        return PASS

    def on_dequeue(self, cx: Context, pkt: Packet) -> Verdict | None:
        """Decide on a packet that leaves the head; after a drop, the next packet is decided on.

        An algorithm that defines it pays an event per packet, so define it only to decide.

        Parameters
        ----------
        cx : Context
            The time, the queue without the packet, and random numbers.
        pkt : Packet
            The packet; ``cx.now_s - pkt.enqueued_at_s`` is how long it waited.

        Returns
        -------
        Verdict or None
            As for :meth:`on_enqueue`.

        Examples
        --------
        >>> import quell
        >>> class Sojourn(quell.Aqm):
        ...     def on_dequeue(self, cx, pkt):
        ...         waited = cx.now_s - pkt.enqueued_at_s
        ...         return quell.signal() if waited > 0.02 else quell.PASS
        """
        return PASS

    def on_overflow(self, cx: Context, pkt: Packet) -> None:
        """Note that the buffer is full, so the arrival that was just accepted is dropped.

        Parameters
        ----------
        cx : Context
            The time, the queue without the packet, and random numbers.
        pkt : Packet
            The packet.

        Examples
        --------
        >>> import quell
        >>> class Counts(quell.Aqm):
        ...     overflows = 0
        ...     def on_overflow(self, cx, pkt):
        ...         self.overflows += 1
        """

    def on_idle(self, since_s: float) -> None:
        """Note that the queue is empty and the link is idle; called once per idle period.

        Parameters
        ----------
        since_s : float
            When the idle period began, in seconds.

        Examples
        --------
        >>> import quell
        >>> class Forgets(quell.Aqm):
        ...     p = 0.1
        ...     def on_idle(self, since_s):
        ...         self.p = 0.0
        """

    def on_update(self, cx: Context) -> None:
        """Run one periodic update.

        Parameters
        ----------
        cx : Context
            The time at which the update was due, the queue then, and random numbers.

        Examples
        --------
        >>> import quell
        >>> class Integral(quell.Aqm):
        ...     update_interval = 0.01
        ...     p = 0.0
        ...     def on_update(self, cx):
        ...         self.p = min(max(self.p + 1e-4 * (cx.queue_packets - 50), 0.0), 1.0)
        """

    def next_update(self) -> float | None:
        """Say when the next update is due; use it instead of ``update_interval`` if the interval varies.

        It is called after every call of another method except :meth:`observe`.

        Returns
        -------
        float or None
            A time in seconds since the start, after the last update; None for never.

        Examples
        --------
        >>> import quell
        >>> class Sparse(quell.Aqm):
        ...     due = 0.1
        ...     def on_update(self, cx):
        ...         self.due = cx.now_s + (0.01 if cx.queue_packets else 0.1)
        ...     def next_update(self):
        ...         return self.due
        """
        return None

    def observe(self) -> Mapping[str, tuple[str, float]]:
        """Report internal signals, for ``Results.internals``; called at every step of the series.

        Returns
        -------
        dict of str to (str, float)
            For each signal its name in the paper, its unit ("packets", "1", "bit/s") and its value.

        Examples
        --------
        >>> import quell
        >>> class Shown(quell.Aqm):
        ...     p = 0.0
        ...     def observe(self):
        ...         return {"p": ("1", self.p)}
        """
        return {}


# What the simulator calls.
_HOOKS = ("on_enqueue", "on_dequeue", "on_overflow", "on_idle", "on_update", "next_update", "observe")


def check_hooks(algorithm: object) -> None:
    """Refuse an algorithm whose methods the simulator would never call; the extension asks for each queue.

    Without this, a misspelled method would make an algorithm that passes everything, and nobody would know.

    Parameters
    ----------
    algorithm : object
        An object of a subclass of :class:`Aqm`, or of any class with its methods.

    Raises
    ------
    TypeError
        If it has a method whose name is nearly one of them, or methods but none of them. A subclass of
        :class:`Aqm` without any is a buffer without management.
    """
    name = type(algorithm).__name__
    own = [
        word
        for word in dir(algorithm)
        if not word.startswith("_") and callable(getattr(algorithm, word, None))
    ]
    own = [word for word in own if not hasattr(Aqm, word)]
    for word in own:
        if word.startswith("on_") and (meant := _meant(word, 0.75)):
            raise TypeError(
                f"{name}.{word}: the simulator does not call it{meant} (it calls {', '.join(_HOOKS)})"
            )
    base = vars(Aqm)
    if any(_own(getattr(algorithm, hook, None), base[hook]) for hook in _HOOKS):
        return
    if own or not isinstance(algorithm, Aqm):
        meant = next((f"; {word}:{hint[1:]}" for word in own if (hint := _meant(word, 0.6))), "")
        message = f"{name} defines none of {', '.join(_HOOKS)}, so it would decide nothing{meant}"
        raise TypeError(message)


def _own(method: object, base: object) -> bool:
    return method is not None and getattr(method, "__func__", None) is not base


def _meant(word: str, likeness: float) -> str:
    """Name the hook that a word is nearest to, if it is as near to one."""
    near = difflib.get_close_matches(word.lower(), _HOOKS, n=1, cutoff=likeness)
    return f"; did you mean {near[0]}?" if near else ""
