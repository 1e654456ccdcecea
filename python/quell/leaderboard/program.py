"""Entries in any language: programs that answer as ``quell conformance run`` asks, in the simulator."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import quell

__all__ = ["Program", "ProgramError", "SkippedError"]

# How many random numbers an event carries, and for how many seconds an answer may take.
DRAWS = 4
PATIENCE_S = 30.0


class ProgramError(ValueError):
    """An answer that is not of the form, or that one queue in the order of arrival cannot follow."""


class SkippedError(Exception):
    """The program does not have what it was asked for, in its own words."""


class Program(quell.Aqm):
    """An algorithm that another program decides, by the protocol of docs/conformance.md.

    The events are those of the simulation, and what the program answers decides what comes next. Beside the
    protocol: packets leave in the order in which they came, those that wait are dropped at the head alone,
    and the program does not keep more than the buffer holds. Each event carries four random numbers.

    Parameters
    ----------
    link : quell.Link
        What is known about the link.
    command : sequence of str
        The program and its arguments; one process is started for each queue.
    algorithm : str
        What the header calls it.
    parameters : dict of str to value, optional
        The header's parameters, as they are: numbers are in SI units.
    update_interval : float, optional
        How often the program is asked for an update, in seconds; by default never.

    Examples
    --------
    >>> import functools
    >>> from quell.leaderboard import Entry, Program
    >>> mine = functools.partial(Program, command=["./my-aqm"], algorithm="codel")
    >>> entry = Entry("my-aqm", factory=mine)
    """

    def __init__(
        self,
        link: quell.Link,
        *,
        command: Sequence[str],
        algorithm: str,
        parameters: Mapping[str, Any] | None = None,
        update_interval: float | None = None,
    ) -> None:
        super().__init__(link)
        self.update_interval = update_interval
        self.command = list(command)
        if not self.command or shutil.which(self.command[0]) is None:
            message = f"program {' '.join(self.command)!r}: there is no such program"
            raise ProgramError(message)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe)
        self._end = weakref.finalize(self, _end, self.process)
        self.events = self.packets = 0
        # The packets that wait, and what is left of the last answer to dequeue: packets and verdicts.
        self.waiting: deque[int] = deque()
        self.plan: deque[tuple[int, quell.Verdict]] = deque()
        unit, size = (
            ("bytes", link.buffer_bytes) if link.buffer_counts_bytes else ("packets", link.buffer_packets)
        )
        header = {
            "conformance": 1,
            "vector": "leaderboard",
            "algorithm": algorithm,
            "source": "",
            "parameters": dict(parameters or {}),
            "config": {"algorithm": algorithm, **(parameters or {})},
            "link": {
                "rate_bps": link.rate_bps,
                "buffer": {unit: size},
                "mean_packet_bytes": link.mean_packet_bytes,
            },
            "ecn": True,
            "seed": 0,
            "events": 0,
            "signals": {},
        }
        greeting = self._ask(header)
        if "skip" in greeting:
            raise SkippedError(str(greeting["skip"]))
        if greeting.get("ready") is not True:
            raise self._wrong(greeting, 'answers the header with {"ready":true} or {"skip":"why"}')

    def on_enqueue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict:
        """Ask what becomes of an arrival.

        Parameters
        ----------
        cx : Context
            The time and random numbers.
        pkt : Packet
            The packet.

        Returns
        -------
        Verdict
            What was answered.
        """
        packet: dict[str, Any] = {
            "id": self.packets,
            "bytes": pkt.bytes,
            "flow": pkt.flow,
            "dscp": pkt.dscp,
            "syn": pkt.syn,
        }
        packet |= {} if pkt.ecn == "not-ect" else {"ecn": pkt.ecn}
        self.packets += 1
        answer = self._event("enqueue", cx, packet=packet)
        if answer.get("dropped"):
            raise self._wrong(
                answer, "drops packets that wait at the head alone, when it is asked to dequeue"
            )
        match answer.get("verdict"):
            case "dropped":
                return quell.drop()
            case "queued":
                verdict = quell.PASS
            case "marked" if pkt.ecn_capable:
                verdict = quell.signal()
            case _:
                raise self._wrong(
                    answer, 'answers with the verdict "queued", "dropped", or "marked" if it may be'
                )
        self.waiting.append(packet["id"])
        return verdict

    def on_overflow(self, cx: quell.Context, pkt: quell.Packet) -> None:
        """Refuse a program that keeps more than the buffer holds.

        Parameters
        ----------
        cx : Context
            The time.
        pkt : Packet
            The packet.
        """
        rule = f"drops what the buffer has no room for, such as packet {self.packets - 1} at {cx.now_s} s"
        raise self._wrong({"verdict": "queued"}, rule)

    def on_dequeue(self, cx: quell.Context, pkt: quell.Packet) -> quell.Verdict:
        """Ask what leaves, and follow the answer packet by packet.

        Parameters
        ----------
        cx : Context
            The time and random numbers.
        pkt : Packet
            The packet at the head.

        Returns
        -------
        Verdict
            What was answered for this packet.
        """
        head = self.waiting.popleft()
        if not self.plan:
            answer = self._event("dequeue", cx)
            self.plan.extend((packet, quell.drop()) for packet in answer.get("dropped", []))
            if "sent" in answer:
                self.plan.append((answer["sent"], quell.signal() if answer.get("marked") else quell.PASS))
        if not self.plan or self.plan[0][0] != head:
            left = [packet for packet, _ in self.plan]
            raise self._wrong(left, f"sends or drops packet {head} next, which came first of those that wait")
        return self.plan.popleft()[1]

    def on_idle(self, since_s: float) -> None:
        """Tell that the link is idle.

        Parameters
        ----------
        since_s : float
            Since when, in seconds.
        """
        self._ask({"event": self._next(), "t": round(since_s * 1e9), "do": "idle"})

    def on_update(self, cx: quell.Context) -> None:
        """Tell that an update is due.

        Parameters
        ----------
        cx : Context
            The time and random numbers.
        """
        self._event("update", cx)

    def _next(self) -> int:
        self.events += 1
        return self.events

    def _event(self, do: str, cx: quell.Context, **more: Any) -> dict[str, Any]:
        draws = [cx.random() for _ in range(DRAWS)]
        answer = self._ask({"event": self._next(), "t": cx.now_ns, "do": do, **more, "draws": draws})
        if answer.get("used", 0) > DRAWS:
            raise self._wrong(answer, f"uses at most {DRAWS} random numbers at an event")
        return answer

    def _ask(self, line: dict[str, Any]) -> dict[str, Any]:
        """Write a line and read one."""
        wanted = "answers each line with a JSON object in a line of its own"
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._wrong("", f"{wanted}; this one ended") from None
        # There is one answer to each line, so nothing is left in the reader's buffer here.
        if os.name == "posix" and not select.select([stdout], [], [], PATIENCE_S)[0]:
            raise self._wrong("", f"{wanted} within {PATIENCE_S:g} s")
        text = stdout.readline()
        try:
            answer = json.loads(text)
        except ValueError:
            raise self._wrong(text.decode(errors="replace"), wanted) from None
        if not isinstance(answer, dict):
            raise self._wrong(answer, wanted)
        return answer

    def _wrong(self, answer: Any, rule: str) -> ProgramError:
        name = " ".join(self.command)
        return ProgramError(
            f"program {name!r}, event {self.events}: came {json.dumps(answer)[:200]}; an entry {rule}"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program: its input ends, and if that is not enough it is killed."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
