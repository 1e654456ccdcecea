"""Several algorithms with the loops that their documents print, speaking Quell's conformance protocol.

    quell conformance run -- python3 conformance/adaptors/python/adaptor.py

One process answers one vector: a header on standard input, then events, one JSON object per line; one line of answer
to each. An algorithm that is not here is skipped. Times are integers in nanoseconds, as in the events.
"""

import json
import math
import sys
from collections import deque

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


class Unsupported(Exception):
    """This implementation does not have what the header asks for."""


class Draws:
    """The random numbers of the event at hand."""

    def __init__(self):
        self.given, self.used = [], 0

    def begin(self, given):
        self.given, self.used = given, 0

    def chance(self, p):
        """True with probability p: one number is used unless p is 0 or less."""
        if p <= 0.0:
            return False
        self.used += 1
        # One too many is a difference, which the runner finds by the number.
        u = self.given[self.used - 1] if self.used <= len(self.given) else 0.5
        return u < p


class Fifo:
    """A FIFO and drop-tail; algorithms override what they decide."""

    NAME = "drop-tail"

    def __init__(self, header):
        self.params = header["parameters"]
        self.link = header["link"]
        self.marks = header["ecn"]
        self.mean_packet = self.link["mean_packet_bytes"]
        self.waiting = deque()
        self.bytes = 0
        self.draws = Draws()

    # What algorithms override. A verdict is None, ("signal", cause) or ("drop", cause).
    def on_enqueue(self, now, packet):
        return None

    def on_dequeue(self, now, packet, arrived):
        return None

    def on_overflow(self, now):
        pass

    def on_idle(self, now):
        pass

    def on_update(self, now):
        pass

    def signals(self):
        return {}

    # What they share.
    def capable(self, packet):
        return self.marks and packet.get("ecn", "notect") != "notect"

    def has_room(self, packet):
        size = self.link["buffer"]
        if "packets" in size:
            return len(self.waiting) < int(size["packets"])
        return self.bytes + packet["bytes"] <= int(size["bytes"])

    def is_new_mark(self, packet):
        """A packet that says CE already is not marked again."""
        return packet.get("ecn") != "ce"

    def enqueue(self, now, packet):
        verdict = self.on_enqueue(now, packet)
        if verdict and (verdict[0] == "drop" or not self.capable(packet)):
            return {"verdict": "dropped", "cause": verdict[1]}
        if not self.has_room(packet):
            self.on_overflow(now)
            return {"verdict": "dropped", "cause": "overflow"}
        marked = bool(verdict) and self.is_new_mark(packet)
        if marked:
            packet = {**packet, "ecn": "ce"}
        self.waiting.append((now, packet))
        self.bytes += packet["bytes"]
        return {"verdict": "marked" if marked else "queued"}

    def dequeue(self, now):
        dropped = []
        while self.waiting:
            arrived, packet = self.waiting.popleft()
            self.bytes -= packet["bytes"]
            verdict = self.on_dequeue(now, packet, arrived)
            if verdict and (verdict[0] == "drop" or not self.capable(packet)):
                dropped.append(packet["id"])
                continue
            marked = bool(verdict) and self.is_new_mark(packet)
            return {"sent": packet["id"], "marked": marked, "dropped": dropped}
        self.on_idle(now)
        return {"dropped": dropped}

    def answer(self, event):
        now, what = event["t"], event["do"]
        self.draws.begin(event.get("draws", []))
        if what == "enqueue":
            answer = self.enqueue(now, event["packet"])
        elif what == "dequeue":
            answer = self.dequeue(now)
        elif what == "update":
            answer = {}
            self.on_update(now)
        else:
            answer = {}
            if not self.waiting:
                self.on_idle(now)
        return {**answer, "used": self.draws.used, "signals": self.signals()}

    def in_packets(self, size):
        """A size of the header, in packets of mean size."""
        return size["packets"] if "packets" in size else size["bytes"] / self.mean_packet

    def length(self, unit):
        """The queue in packets, measured in the unit of `unit`."""
        return float(len(self.waiting)) if "packets" in unit else self.bytes / self.mean_packet

    def capacity(self):
        """Packets of mean size per second."""
        return self.link["rate_bps"] / (8 * self.mean_packet)

    def factor(self, packet):
        return packet["bytes"] / self.mean_packet if self.params["signal"] == "by-size" else 1.0


class Red(Fifo):
    """Floyd and Jacobson 1993, gentle by Floyd 2000."""

    NAME = "red"

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        self.min_th, self.max_th = self.thresholds()
        self.unit = self.threshold_unit()
        self.max_p, self.gentle = p["max_p"], p["gentle"]
        weight = p["weight"]
        if isinstance(weight, (int, float)):
            self.w = float(weight)
        else:
            seconds = {"link-rate": 1.0, "link-rate-fast": 0.1}.get(weight) if isinstance(weight, str) else None
            seconds = weight["time_constant"] if seconds is None else seconds
            self.w = -math.expm1(-1.0 / (seconds * self.capacity()))
        self.spacing = p["spacing"]
        self.mark_limit = 1.0 if p["mark_limit"] is None else p["mark_limit"]
        self.min_backlog = p["min_backlog"]
        self.avg = self.p_b = self.count = 0.0
        self.idle_since = None

    def thresholds(self):
        return self.in_packets(self.params["min_th"]), self.in_packets(self.params["max_th"])

    def threshold_unit(self):
        return self.params["min_th"]

    def age(self, now):
        """Section 4: the small packets that could have passed while the link was idle."""
        missed = (now - self.idle_since) / SECOND * self.capacity()
        self.avg *= (1.0 - self.w) ** missed

    def sample(self, now):
        self.avg += self.w * (self.length(self.unit) - self.avg)

    def gentle_p(self):
        return self.max_p + (self.avg - self.max_th) * (1.0 - self.max_p) / self.max_th

    def probability(self):
        if self.avg < self.min_th:
            return 0.0
        if self.avg < self.max_th:
            return (self.avg - self.min_th) * self.max_p / (self.max_th - self.min_th)
        if self.gentle and self.avg < 2 * self.max_th:
            return min(self.gentle_p(), 1.0)
        return 1.0

    def spaced(self, p, size):
        """Section 7: uniform gaps, from the packets since the last signal."""
        before = self.count
        self.count += size
        if self.spacing == "geometric":
            return p
        count = before if self.spacing == "uniform" else self.count
        if self.spacing == "wait":
            if count * p < 1.0:
                return 0.0
            return min(p / (2.0 - count * p), 1.0) if count * p < 2.0 else 1.0
        return min(p / (1.0 - count * p), 1.0) if count * p < 1.0 else 1.0

    def below(self):
        self.count = 0.0

    def judge(self, packet):
        self.p_b = self.probability()
        if self.p_b <= 0.0 or len(self.waiting) < self.min_backlog:
            self.below()
            return None
        if self.p_b >= 1.0:
            self.count = 0.0
            return ("drop", "forced")
        size = self.factor(packet)
        if not self.draws.chance(self.spaced(self.p_b, size) * size):
            return None
        self.count = 0.0
        return ("signal" if self.p_b <= self.mark_limit else "drop", "early")

    def on_enqueue(self, now, packet):
        was_idle = self.idle_since is not None
        if was_idle:
            self.age(now)
            self.idle_since = None
        self.sample(now)
        verdict = self.judge(packet)
        if was_idle and verdict and (verdict[0] == "drop" or not self.capable(packet)):
            self.idle_since = now
        return verdict

    def on_overflow(self, now):
        self.count = 0.0

    def on_idle(self, now):
        if self.idle_since is None:
            self.idle_since = now

    def signals(self):
        return {"avg": self.avg, "p": self.p_b}


class Ared(Red):
    """Floyd et al. 2001."""

    NAME = "ared"

    def threshold_unit(self):
        given = self.params["min_th"]
        return self.link["buffer"] if given == "auto" else given

    def thresholds(self):
        p = self.params
        low = max(5.0, p["target_delay"] * self.capacity() / 2) if p["min_th"] == "auto" else self.in_packets(p["min_th"])
        return low, 3 * low if p["max_th"] == "auto" else self.in_packets(p["max_th"])

    def on_update(self, now):
        if self.idle_since is not None:
            self.age(now)
            self.idle_since = now
        p, gap = self.params, self.max_th - self.min_th
        if self.avg > self.min_th + 0.6 * gap:
            self.max_p = min(self.max_p + min(p["alpha"], self.max_p / 4), p["max_p_top"])
        elif self.avg < self.min_th + 0.4 * gap:
            self.max_p = max(self.max_p * p["beta"], p["max_p_bottom"])

    def signals(self):
        return {**super().signals(), "max_p": self.max_p}


class Pi(Fifo):
    """Hollot et al. 2001b."""

    NAME = "pi"

    def __init__(self, header):
        super().__init__(header)
        if self.params["design"] is not None:
            raise Unsupported("gains by design")
        self.p, self.q_old = self.params["initial_p"], 0.0
        self.unit = self.params["q_ref"]
        self.q_ref = self.in_packets(self.unit)

    def on_enqueue(self, now, packet):
        return ("signal", "early") if self.draws.chance(self.p * self.factor(packet)) else None

    def bounded(self, p):
        return min(max(p, 0.0), 1.0)

    def on_update(self, now):
        q = self.length(self.unit)
        a, b = self.params["a"], self.params["b"]
        self.p = self.bounded(self.p + a * (q - self.q_ref) - b * (self.q_old - self.q_ref))
        self.q_old = q

    def signals(self):
        return {"p": self.p}


class Blue(Fifo):
    """Feng et al. 1999b."""

    NAME = "blue"

    def __init__(self, header):
        super().__init__(header)
        self.p, self.last = 0.0, None
        self.freeze = round(self.params["freeze_time"] * SECOND)

    def frozen(self, now):
        return self.last is not None and now - self.last <= self.freeze

    def step(self, now, by):
        if not self.frozen(now):
            self.p = min(max(self.p + by, 0.0), 1.0)
            self.last = now

    def on_enqueue(self, now, packet):
        threshold = self.params["threshold"]
        if threshold is not None and self.length(threshold) > self.in_packets(threshold):
            self.step(now, self.params["d1"])
        return ("signal", "early") if self.draws.chance(self.p * self.factor(packet)) else None

    def on_overflow(self, now):
        self.step(now, self.params["d1"])

    def on_idle(self, now):
        self.step(now, -self.params["d2"])

    def signals(self):
        return {"p": self.p}


class Codel(Fifo):
    """RFC 8289, as its pseudo-code has it: the loop of section 5.5 over the queue of this class."""

    NAME = "codel"

    def __init__(self, header):
        super().__init__(header)
        self.target = round(self.params["target"] * SECOND)
        self.interval = round(self.params["interval"] * SECOND)
        mtu = self.params["mtu"]
        self.maxpacket = 0 if mtu is None else mtu["bytes"]
        self.adapts = mtu is None
        # Not 0, which is a time like others here.
        self.first_above_time = None
        self.dropping = False
        self.drop_next = 0
        self.count = self.lastcount = 0

    def enqueue(self, now, packet):
        if self.adapts:
            self.maxpacket = max(self.maxpacket, packet["bytes"])
        return super().enqueue(now, packet)

    def backlog_is_small(self):
        return self.bytes <= self.maxpacket

    def sojourn(self, now, packet, arrived):
        return now - arrived

    def dodequeue(self, now):
        """Section 5.6: the packet, and whether it is one to drop."""
        if not self.waiting:
            self.first_above_time = None
            return None, False
        arrived, packet = self.waiting.popleft()
        self.bytes -= packet["bytes"]
        if self.sojourn(now, packet, arrived) < self.target or self.backlog_is_small():
            self.went_below()
            return packet, False
        if self.first_above_time is None:
            self.first_above_time = now + self.interval
        return packet, now >= self.first_above_time

    def went_below(self):
        self.first_above_time = None

    def control_law(self, t):
        return t + round_down(self.interval / math.sqrt(self.count))

    def first_count(self, now):
        """Section 5.5: where the last drop state ended, if that was recent."""
        delta = self.count - self.lastcount
        recent = now - self.drop_next < 16 * self.interval
        return delta if delta > 1 and recent else 1

    def after_signal(self, now):
        self.drop_next = self.control_law(self.drop_next)

    def dequeue(self, now):
        dropped, marked = [], False
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                self.count += 1
                if self.capable(packet):
                    # A packet is marked at most once; the schedule goes on.
                    marked = self.is_new_mark(packet)
                    self.after_signal(now)
                    break
                dropped.append(packet["id"])
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.after_signal(now)
        elif ok_to_drop:
            mark = self.capable(packet)
            self.dropping = True
            self.count = self.first_count(now)
            self.lastcount = self.count
            self.drop_next = self.control_law(now)
            if mark:
                marked = self.is_new_mark(packet)
            else:
                dropped.append(packet["id"])
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
        answer = {"dropped": dropped}
        if packet is None:
            self.on_idle(now)
            return answer
        return {**answer, "sent": packet["id"], "marked": marked}

    def on_idle(self, now):
        self.first_above_time, self.dropping = None, False

    def signals(self):
        return {"dropping": float(self.dropping), "count": float(self.count)}


def round_down(x):
    """To whole nanoseconds, to the nearest."""
    return math.floor(x + 0.5)


class Pie(Fifo):
    """RFC 8033: the basic scheme, with the options that the header names."""

    NAME = "pie"

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        if p["delay_from"] == "dequeue-rate" or p["activate_at"] != 0:
            raise Unsupported("the dequeue rate, and PIE that is not always active")
        self.target, self.interval = p["target"], round(p["update_interval"] * SECOND)
        self.max_burst = round(p["max_burst"] * SECOND)
        self.burst_allowance = self.max_burst
        self.p = self.accumulated = self.delay_old = 0.0
        self.waited = 0

    def delay(self):
        if self.params["delay_from"] == "link-rate":
            return math.floor(self.bytes * 8 * SECOND / self.link["rate_bps"] + 0.5) / SECOND
        return self.waited / SECOND

    def below_half(self, delay):
        return delay < 0.5 * self.target and self.delay_old < 0.5 * self.target

    def bypasses(self):
        """Section 4.1."""
        short = self.delay_old < 0.5 * self.target and self.p < 0.2
        return short or self.bytes <= 2 * self.mean_packet

    def derandomized(self):
        """Section 5.4."""
        if self.accumulated < 0.85:
            return 0.0
        return 1.0 if self.accumulated >= 8.5 else self.p

    def signals_now(self):
        if self.bypasses():
            return False
        if not self.params["derandomize"]:
            return self.draws.chance(self.p)
        self.accumulated = self.accumulated + self.p if self.p > 0.0 else 0.0
        return self.draws.chance(self.derandomized())

    def signaled(self):
        self.accumulated = 0.0

    def restore_burst(self):
        """Section 4.4."""
        if self.p == 0.0 and self.below_half(self.delay()):
            self.burst_allowance = self.max_burst

    def on_enqueue(self, now, packet):
        self.restore_burst()
        if self.burst_allowance > 0 or not self.signals_now():
            return None
        self.signaled()
        return ("signal" if self.p < self.params["mark_ecnth"] else "drop", "early")

    def on_overflow(self, now):
        self.accumulated = 0.0

    def on_dequeue(self, now, packet, arrived):
        self.waited = now - arrived
        return None

    def on_idle(self, now):
        self.waited = 0

    def scale(self):
        """Section 4.2: the gains are smaller where the probability is."""
        steps = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))
        return next((1 / by for below, by in steps if self.p < below), 1.0)

    def step(self, delay):
        p = self.params
        step = self.scale() * (p["alpha"] * (delay - self.target) + p["beta"] * (delay - self.delay_old))
        return min(step, 0.02) if p["cap"] and self.p >= 0.1 else step

    def decays(self, delay):
        if self.params["decay"] == "below-half":
            return self.below_half(delay)
        return delay == 0.0 and self.delay_old == 0.0

    def on_update(self, now):
        delay = self.delay()
        self.burst_allowance = max(0, self.burst_allowance - self.interval)
        p = self.p + self.step(delay)
        if self.decays(delay):
            p *= 0.98
        self.p = min(max(p, 0.0), 1.0)
        self.delay_old = delay

    def signals(self):
        return {
            "p": self.p,
            "delay": self.delay_old,
            "burst_allowance": self.burst_allowance / SECOND,
            "accumulated": self.accumulated,
        }


ALGORITHMS = {c.NAME: c for c in (Fifo, Red, Ared, Pi, Blue, Codel, Pie)}


def serve(algorithms):
    """Answers one vector."""

    def say(answer):
        print(json.dumps(answer), flush=True)

    header = json.loads(sys.stdin.readline())
    if header["algorithm"] not in algorithms:
        return say({"skip": f"{header['algorithm']} is not implemented"})
    try:
        queue = algorithms[header["algorithm"]](header)
    except Unsupported as why:
        return say({"skip": f"{why}: not implemented"})
    say({"ready": True})
    for line in sys.stdin:
        say(queue.answer(json.loads(line)))
    return None


if __name__ == "__main__":
    serve(ALGORITHMS)
