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

from adaptor import Ared, Blue, Cake, Cobalt, CobaltFifo, Codel, DualPi2, Fifo, FqCodel, Pi, Pie, Red, Tin, serve  # noqa: E402

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


@exhibit("codel-17-intervals")
class _(Codel):
    """A drop state is recent for 17 intervals, and not for 16."""

    def first_count(self, now):
        delta = self.count - self.lastcount
        return delta if delta > 1 and now - self.drop_next < 17 * self.interval else 1


@exhibit("codel-two-is-none")
class _(Codel):
    """A drop state does not go on from a count of two."""

    def first_count(self, now):
        count = super().first_count(now)
        return count if count > 2 else 1


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


# rattan's PIE lists sixteen differences from Linux's. Two are pie-bypass-in-packets and pie-updates-at-arrivals above;
# these are the others that decide anything, on its side or on Linux's. Its numbers are in the descriptions.
@exhibit("pie-gains-fixed")
class _(Pie):
    """3: alpha and beta are 1/8 and 1 1/4, whatever is configured."""

    def step(self, delay):
        self.params = {**self.params, "alpha": 0.125, "beta": 1.25}
        return super().step(delay)


@exhibit("pie-not-derandomized")
class _(Pie):
    """5: every arrival with p, where what was asked for sums it up first (RFC 8033 section 5.4)."""

    def derandomized(self):
        return self.p


@exhibit("pie-ignores-ecn")
class _(Pie):
    """6: nothing is ever marked."""

    def capable(self, packet):
        return False


@exhibit("pie-bytemode")
class _(Pie):
    """7: Linux's bytemode: the probability goes with the packet's size."""

    def on_enqueue(self, now, packet):
        p = self.p
        self.p = p * packet["bytes"] / self.mean_packet
        verdict = super().on_enqueue(now, packet)
        self.p = p
        return verdict


@exhibit("pie-boosts")
class _(Pie):
    """8: Linux's: two hundredths more at every update that finds a delay of more than 250 ms."""

    def step(self, delay):
        return super().step(delay) + (0.02 if delay > 0.25 else 0.0)


@exhibit("pie-decays-early")
class _(Pie):
    """9: the probability decays while the delay is below half of the target, and not only where it is 0."""

    def decays(self, delay):
        return self.below_half(delay)


@exhibit("pie-decays-by-a-64th")
class _(Pie):
    """9: Linux's factor, 63/64 instead of 0.98."""

    def on_update(self, now):
        decays = self.decays(self.delay())
        super().on_update(now)
        if decays:
            self.p *= 63 / 64 / 0.98


@exhibit("pie-burst-by-departures")
class _(Pie):
    """10: Linux's: the burst allowance falls with departures, and not with updates."""

    left = None

    def on_dequeue(self, now, packet, arrived):
        if self.left is not None:
            self.burst_allowance = max(0, self.burst_allowance - (now - self.left))
        self.left = now
        return super().on_dequeue(now, packet, arrived)

    def on_update(self, now):
        before = self.burst_allowance
        super().on_update(now)
        self.burst_allowance = before


@exhibit("pie-restores-at-updates")
class _(Pie):
    """10: the burst allowance is restored at an update, and not at an arrival."""

    def restore_burst(self):
        pass

    def on_update(self, now):
        super().on_update(now)
        if self.p == 0.0 and self.below_half(self.delay()):
            self.burst_allowance = self.max_burst


@exhibit("pie-resets-all")
class _(Pie):
    """11: Linux's: an update that finds no congestion forgets the sum of probabilities as well."""

    def on_update(self, now):
        calm = self.p == 0.0 and self.below_half(self.delay())
        super().on_update(now)
        if calm:
            self.accumulated, self.delay_old = 0.0, 0.0


@exhibit("pie-delay-by-rate")
class _(Pie):
    """12: the delay is what waits over the rate, although time stamps were asked for."""

    def delay(self):
        return self.bytes * 8 / self.link["rate_bps"]


@exhibit("pie-skips-updates")
class _(Pie):
    """13: Linux's guard: something waits and has no delay yet, so nothing is updated."""

    def on_update(self, now):
        if self.delay() == 0.0 and self.waiting:
            return
        super().on_update(now)


@exhibit("fq-codel-empty-new-leaves")
class _(FqCodel):
    """A new queue that is found empty is gone, and new again with its next packet: it can be served every other time."""

    def new_queue_is_empty(self, queue):
        pass


@exhibit("fq-codel-spares-each-queue")
class _(FqCodel):
    """Each CoDel spares the last packets of its own queue, and not those of all queues together."""

    def enqueue(self, now, packet):
        answer = super().enqueue(now, packet)
        for queue in self.flows.values():
            queue.backlog_is_small = lambda queue=queue: queue.bytes <= self.maxpacket
        return answer


@exhibit("fq-codel-fattest-by-packets")
class _(FqCodel):
    """The queue with the most packets pays for a full buffer, and not the one with the most bytes."""

    def weight(self, queue):
        return len(queue.waiting)


@exhibit("fq-codel-drops-one")
class _(FqCodel):
    """A full buffer costs one packet, and not half of the fattest queue: the search for it is made for every packet."""

    def batch(self):
        return super().batch()[:1]


@exhibit("fq-codel-charges-drops")
class _(FqCodel):
    """Packets that CoDel drops take from the credits of their queue like those that are sent."""

    def charge(self, queue, answer):
        queue.credits -= answer["bytes"] + sum(answer["dropped"])


@exhibit("fq-codel-keeps-credits")
class _(FqCodel):
    """A queue that comes back has the credits with which it left, and not a quantum."""

    def activate(self, queue):
        if queue not in self.new and queue not in self.old:
            queue.credits = queue.credits or self.quantum
            self.new.append(queue)


@exhibit("fq-codel-one-list")
class _(FqCodel):
    """There is no list of new queues: a sparse flow waits for its turn among the others."""

    def activate(self, queue):
        if queue not in self.old:
            queue.credits = self.quantum
            self.old.append(queue)


@exhibit("dualpi2-leaves-out-the-wait")
class _(DualPi2):
    """The delay of the L queue leaves out the time that the packet has waited: what remains, over the rate."""

    def sojourn(self, now, arrived, lane):
        behind = sum(packet["bytes"] for _, packet in self.queues[lane])
        return behind * 8 / self.link["rate_bps"]


@exhibit("dualpi2-unsquared")
class _(DualPi2):
    """The Classic queue is signaled with p', and not with its square."""

    def p_c(self):
        return self.p


@exhibit("dualpi2-uncoupled")
class _(DualPi2):
    """The L queue is marked by its own AQM alone."""

    def p_cl(self):
        return 0.0


@exhibit("dualpi2-adds-the-two")
class _(DualPi2):
    """The two probabilities of the L queue are added, where line 6 of Fig. 7 takes the larger."""

    def native(self, now, arrived):
        return super().native(now, arrived) + self.p_cl()


@exhibit("dualpi2-no-overload")
class _(DualPi2):
    """Saturated marking drops nothing of the L queue (Fig. 4 without the edge cases of Fig. 7)."""

    def saturated(self):
        return False


@exhibit("dualpi2-classic-delay-only")
class _(DualPi2):
    """The controller sees the Classic queue's delay alone (Fig. 6, and not line 2a of Fig. 8)."""

    def current(self, now):
        return self.waited(now, self.queues[self.C])


@exhibit("dualpi2-beyond-the-step")
class _(DualPi2):
    """All is marked beyond the end of the ramp, and not at it: at a step a packet less."""

    def laqm(self, delay):
        low, width = self.params["min_th"], self.params["range"]
        if delay > low + width:
            return 1.0
        return (delay - low) / width if delay > low else 0.0


@exhibit("dualpi2-signals-at-one")
class _(DualPi2):
    """A sum of likelihoods that is 1 signals, and not only one above it (Fig. 4)."""

    def recur(self, lane, likelihood):
        self.counts[lane] += likelihood
        if self.counts[lane] >= 1:
            self.counts[lane] -= 1
            return True
        return False


@exhibit("dualpi2-marks-one-packet")
class _(DualPi2):
    """Th_len is forgotten: a packet that takes long at the link's rate is marked although nothing waits behind it."""

    def native(self, now, arrived):
        return self.laqm(self.sojourn(now, arrived, self.L))


@exhibit("dualpi2-strict-priority")
class _(DualPi2):
    """The L queue goes first whenever something waits there: C may starve."""

    def scheduler(self, now):
        super().scheduler(now)
        return self.L if self.queues[self.L] else self.C


@exhibit("dualpi2-ect0-is-l4s")
class _(DualPi2):
    """Packets of ECT(0) wait in the L queue: a Classic sender's queue delays those that keep none."""

    def in_l(self, packet):
        return self.marks and packet.get("ecn", "notect") != "notect"


@exhibit("dualpi2-winds-up")
class _(DualPi2):
    """p' is not kept in [0, 1]."""

    def on_update(self, now):
        curq = self.current(now)
        self.p += self.alpha * (curq - self.target) + self.beta * (curq - self.prevq)
        self.prevq = curq


@exhibit("cake-overhead-twice")
class _(Cake):
    """The link's overhead is added to sizes that have it already: the shaper is too slow."""

    def on_wire(self, size):
        return super().on_wire(size + int(self.params["overhead"]["bytes"]))


@exhibit("cake-no-framing")
class _(Cake):
    """The shaper counts bytes of packets, and not the cells that they take on the wire: the queue is in the modem."""

    def on_wire(self, size):
        p = self.params
        return max(size + int(p["overhead"]["bytes"]), int(p["mpu"]["bytes"]))


@exhibit("cake-tos-for-dscp")
class _(Cake):
    """The whole byte of the header is taken for the DSCP, which is its upper six bits: tins are wrong."""

    def tin_of(self, dscp):
        return super().tin_of(dscp << 2 & 63)


class WrongTin(Cake):
    """CAKE whose tins have a mistake."""

    TIN = Tin

    def __init__(self, header):
        super().__init__(header)
        for tin in self.tins:
            tin.__class__ = self.TIN


@exhibit("cake-one-side")
class _(WrongTin):
    """Triple isolation looks at the source alone: downloads from one server to many hosts share one host's turns."""

    class TIN(Tin):
        def share(self, queue, isolation, draws):
            return super().share(queue, "dual-srchost" if isolation == "triple-isolate" else isolation, draws)


@exhibit("cake-counts-new-queues")
class _(WrongTin):
    """A host pays for every queue that it has, and not only for those that have used up a turn."""

    class TIN(Tin):
        def activate(self, queue, credits):
            self.count(queue, True)
            super().activate(queue, credits)


@exhibit("cake-counts-for-good")
class _(WrongTin):
    """A queue that is found empty goes on counting for its host: the shares of hosts shrink with all that they ever sent."""

    class TIN(Tin):
        def count(self, queue, bulk):
            if bulk:
                super().count(queue, bulk)
            else:
                queue.bulk = False


@exhibit("cake-shaper-saves-up")
class _(Cake):
    """The shaper's clock stays behind while the buffer is empty: what was not sent is sent at once afterwards."""

    def enqueue(self, now, packet):
        before = self.clock
        answer = super().enqueue(now, packet)
        self.clock = before
        return answer


class Unsparing(Cobalt):
    """The last packet of a queue is one as any other."""

    def decide(self, now, waited, over, last, capable, draws):
        return super().decide(now, waited, over, False, capable, draws)


@exhibit("cake-drops-the-last-packet")
class _(WrongTin):
    """The only packet of a flow's queue is dropped as any other: of many flows on a slow link most time out."""

    class TIN(Tin):
        def queue(self, place):
            queue = super().queue(place)
            queue.cobalt.__class__ = Unsparing
            return queue


class WrongCobalt(CobaltFifo):
    """COBALT with a mistake."""

    COBALT = Cobalt

    def __init__(self, header):
        super().__init__(header)
        self.cobalt.__class__ = self.COBALT


@exhibit("cobalt-drops-the-last-packet")
class _(WrongCobalt):
    """The only packet of a queue is dropped as any other: a flow with a window of one or two hardly gets through."""

    COBALT = Unsparing


@exhibit("cobalt-spares-the-last-mark")
class _(WrongCobalt):
    """The last packet of a queue is not marked either."""

    class COBALT(Cobalt):
        def decide(self, now, waited, over, last, capable, draws):
            verdict = super().decide(now, waited, over, last, capable, draws)
            return None if last else verdict


@exhibit("cobalt-makes-up-for-signals")
class _(WrongCobalt):
    """Signals that were missed are made up for: the schedule stays behind, as RFC 8289 has it."""

    class COBALT(Cobalt):
        def let_go(self, now):
            pass


@exhibit("cobalt-at-four-packets")
class _(WrongCobalt):
    """A wait of just the target, or of just four packets, is too long already."""

    class COBALT(Cobalt):
        def decide(self, now, waited, over, *rest):
            return super().decide(now, waited, over - 1, *rest)


@exhibit("cobalt-winds-up")
class _(WrongCobalt):
    """BLUE's probability rises beyond 1."""

    class COBALT(Cobalt):
        def full(self, now):
            p, may = self.p, self.may_step(now)
            super().full(now)
            self.p = p + self.p_inc if may else p


@exhibit("cobalt-winds-down")
class _(WrongCobalt):
    """BLUE's probability falls below 0."""

    class COBALT(Cobalt):
        def empty(self, now):
            p, may = self.p, self.may_step(now)
            super().empty(now)
            self.p = p - self.p_dec if p > 0.0 and may else p


@exhibit("cobalt-steps-at-the-target")
class _(WrongCobalt):
    """BLUE steps again after just the target, and not only after more."""

    class COBALT(Cobalt):
        def may_step(self, now):
            return self.stepped is None or now - self.stepped >= self.target


@exhibit("cobalt-waits-for-its-first-signal")
class _(CobaltFifo):
    """A fresh queue begins with a reciprocal root of 1 and not of 0: its first signal comes an interval later."""

    def __init__(self, header):
        super().__init__(header)
        self.cobalt.root = (1 << 32) - 1


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


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in EXHIBITS:
        sys.exit(f"museum.py EXHIBIT, one of: {', '.join(EXHIBITS)}")
    chosen = EXHIBITS[sys.argv[1]]
    serve({chosen.NAME: chosen})
