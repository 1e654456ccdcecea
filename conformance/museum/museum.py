"""The museum of the field's bugs: implementations that are wrong in one place each, as others were.

    quell conformance museum
    quell conformance run --vector codel -- python3 conformance/museum/museum.py codel-control-law

The right implementations are those of adaptor.py; an exhibit overrides one method. Where each was seen, and what it
does to results, is in crates/conformance/src/museum.rs and docs/conformance.md.
"""

import math
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "adaptors" / "python")]
sys.dont_write_bytecode = True

from adaptor import Ared, Blue, Codel, Fifo, Pi, Pie, Red, serve  # noqa: E402

EXHIBITS = {}


def exhibit(name):
    def register(cls):
        EXHIBITS[name] = cls
        return cls

    return register


@exhibit("codel-control-law")
class _(Codel):
    """(t + interval) / sqrt(count): the drops after the second are all overdue."""

    def control_law(self, t):
        return math.floor((t + self.interval) / math.sqrt(self.count) + 0.5)


@exhibit("codel-sends-the-dropped")
class _(Codel):
    """The packet to drop is sent, and the one behind it is dropped."""

    def dequeue(self, now):
        answer = super().dequeue(now)
        if answer.get("sent") is not None and answer["dropped"] and not answer["marked"]:
            swapped = [answer["sent"], *reversed(answer["dropped"])]
            answer["sent"] = swapped.pop()
            answer["dropped"] = sorted(swapped)
        return answer


@exhibit("codel-from-now")
class _(Codel):
    """The next drop is counted from now, and not from when this one was due: late packets stretch the schedule."""

    def after_signal(self, now):
        self.drop_next = self.control_law(now)


@exhibit("codel-count-restarts")
class _(Codel):
    """A drop state that returns at once begins from one, as if there had been none."""

    def first_count(self, now):
        return 1


@exhibit("codel-count-less-two")
class _(Codel):
    """An earlier rule, count - 2, which never forgets: RFC 8289 replaced it."""

    def first_count(self, now):
        recent = now - self.drop_next < 16 * self.interval
        return self.count - 2 if self.count > 2 and recent else 1


@exhibit("codel-last-packet")
class _(Codel):
    """No packets are spared: the last one waiting is dropped like others."""

    def backlog_is_small(self):
        return False


@exhibit("codel-linear")
class _(Codel):
    """interval / count instead of interval / sqrt(count)."""

    def control_law(self, t):
        return t + self.interval // self.count


@exhibit("codel-remembers-above")
class _(Codel):
    """One packet below the target does not end the interval."""

    def went_below(self):
        pass


@exhibit("ce-is-marked-again")
class _(Codel):
    """A packet that says CE already counts as marked here."""

    def is_new_mark(self, packet):
        return True


@exhibit("pie-bypass-in-packets")
class _(Pie):
    """Two packets are spared, whatever their size, where RFC 8033 spares two mean packets of bytes."""

    def bypasses(self):
        short = self.delay_old < 0.5 * self.target and self.p < 0.2
        return short or len(self.waiting) <= 2


@exhibit("pie-updates-at-arrivals")
class _(Pie):
    """The probability moves when a packet arrives after T_UPDATE, and not by a timer."""

    due = None

    def on_enqueue(self, now, packet):
        if self.due is None or now >= self.due:
            self.due = now + self.interval
            super().on_update(now)
        return super().on_enqueue(now, packet)

    def on_update(self, now):
        pass


@exhibit("pie-braces")
class _(Pie):
    """RFC 8033 Appendix B to the letter: without braces, a packet that is marked is not enqueued."""

    def enqueue(self, now, packet):
        answer = super().enqueue(now, packet)
        if answer["verdict"] == "marked":
            self.bytes -= self.waiting.pop()[1]["bytes"]
            return {"verdict": "dropped", "cause": "early"}
        return answer


@exhibit("pie-accumulates-on")
class _(Pie):
    """The accumulated probability is not reset by a signal: from the first on, every draw may signal."""

    def signaled(self):
        pass


@exhibit("pie-unscaled")
class _(Pie):
    """The gains are the same at any probability."""

    def scale(self):
        return 1.0


@exhibit("pie-forgets-the-trend")
class _(Pie):
    """The old delay is overwritten before it is used: the term of beta is always 0."""

    def on_update(self, now):
        self.delay_old = self.delay()
        super().on_update(now)


@exhibit("pie-burst-forever")
class _(Pie):
    """The burst allowance is restored whenever the delay is short, although the probability is not 0."""

    def restore_burst(self):
        if self.below_half(self.delay()):
            self.burst_allowance = self.max_burst


@exhibit("pie-stale-delay")
class _(Pie):
    """An idle link keeps the delay of its last packet, so the probability goes on rising while nothing waits."""

    def on_idle(self, now):
        pass


@exhibit("red-count-goes-on")
class _(Red):
    """The count is not reset while the average is below min_th: the first arrival above is signaled too soon."""

    def below(self):
        pass


@exhibit("red-count-survives-overflow")
class _(Red):
    """A packet lost to a full buffer does not restart the count."""

    def on_overflow(self, now):
        pass


@exhibit("red-idle-keeps-average")
class _(Red):
    """An idle link does not age the average."""

    def age(self, now):
        pass


@exhibit("red-counts-the-arrival")
class _(Red):
    """The queue is measured with the arrival in it."""

    def length(self, unit):
        return super().length(unit) + 1.0


@exhibit("red-geometric")
class _(Red):
    """Every arrival with p_b: gaps are geometric, where section 7 makes them uniform."""

    def spaced(self, p, size):
        super().spaced(p, size)
        return p


@exhibit("red-no-hard-limit")
class _(Red):
    """Where the probability is 1, an arrival is marked like others, and not dropped."""

    def judge(self, packet):
        verdict = super().judge(packet)
        return ("signal", "early") if verdict == ("drop", "forced") else verdict


@exhibit("ared-gentle-slope-stays")
class _(Ared):
    """The slope above max_th keeps the first max_p, so that the probability jumps there."""

    first = None

    def gentle_p(self):
        self.first = self.params["max_p"] if self.first is None else self.first
        return self.first + (self.avg - self.max_th) * (1.0 - self.first) / self.max_th


@exhibit("ared-step-unbounded")
class _(Ared):
    """The step up is alpha, also where max_p / 4 is less."""

    def on_update(self, now):
        before = self.max_p
        super().on_update(now)
        if self.max_p > before:
            self.max_p = min(before + self.params["alpha"], self.params["max_p_top"])


@exhibit("pi-winds-up")
class _(Pi):
    """The probability falls below 0 while the queue is short, and must come back before it acts."""

    def bounded(self, p):
        return min(p, 1.0)


@exhibit("pi-forgets-the-trend")
class _(Pi):
    """The old queue is overwritten before it is used: the controller integrates only."""

    def on_update(self, now):
        self.q_old = self.length(self.unit)
        super().on_update(now)


@exhibit("blue-unfrozen")
class _(Blue):
    """Every loss raises the probability, without freeze_time between them."""

    def frozen(self, now):
        return False


@exhibit("blue-only-rises")
class _(Blue):
    """An idle link does not lower the probability."""

    def on_idle(self, now):
        pass


@exhibit("buffer-holds-one-more")
class _(Fifo):
    """The buffer is full when more wait than it may hold, and not when as many do."""

    def has_room(self, packet):
        size = self.link["buffer"]
        if "packets" in size:
            return len(self.waiting) <= int(size["packets"])
        return self.bytes <= int(size["bytes"])


@exhibit("draws-for-nothing")
class _(Pie):
    """A number is drawn before it is known whether anything can be signaled: every later one is another."""

    def on_enqueue(self, now, packet):
        self.draws.used += 1
        return super().on_enqueue(now, packet)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in EXHIBITS:
        sys.exit(f"museum.py EXHIBIT, one of: {', '.join(EXHIBITS)}")
    chosen = EXHIBITS[sys.argv[1]]
    serve({chosen.NAME: chosen})
