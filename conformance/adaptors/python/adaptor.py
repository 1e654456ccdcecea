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

    def uniform(self):
        """The next number, in [0, 1)."""
        self.used += 1
        # One too many is a difference, which the runner finds by the number.
        return self.given[self.used - 1] if self.used <= len(self.given) else 0.5

    def chance(self, p):
        """True with probability p: one number is used unless p is 0 or less."""
        return p > 0.0 and self.uniform() < p


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

    @classmethod
    def of(cls, header):
        """What the header asks for: a dialect can be another class."""
        return cls(header)

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

    def ever_fits(self, packet):
        """An empty buffer would hold it."""
        return packet["bytes"] <= int(self.link["buffer"].get("bytes", packet["bytes"]))

    def is_new_mark(self, packet):
        """A packet that says CE already is not marked again."""
        return packet.get("ecn") != "ce"

    def enqueue(self, now, packet):
        verdict = self.on_enqueue(now, packet)
        if verdict and (verdict[0] == "drop" or not self.capable(packet)):
            return {"verdict": "dropped", "cause": verdict[1]}
        gone = []
        if self.params.get("drop") == "front" and self.ever_fits(packet):
            while self.waiting and not self.has_room(packet):
                _, head = self.waiting.popleft()
                self.bytes -= head["bytes"]
                gone.append(head["id"])
        if not self.has_room(packet):
            self.on_overflow(now)
            return {"verdict": "dropped", "cause": "overflow"}
        marked = bool(verdict) and self.is_new_mark(packet)
        if marked:
            packet = {**packet, "ecn": "ce"}
        self.waiting.append((now, packet))
        self.bytes += packet["bytes"]
        return {"verdict": "marked" if marked else "queued", "dropped": gone}

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
        self.avg = self.p_b = self.count = self.exceeds = 0.0
        self.idle_since = None
        self.rest()

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
        if self.spacing == "one-draw":
            # One number for each gap, which is known to exceed what it was held against.
            reached, exceeds = self.count * p, self.exceeds
            if reached <= exceeds or reached >= 1.0:
                return 0.0 if reached <= exceeds else 1.0
            self.exceeds = reached
            return (reached - exceeds) / (1.0 - exceeds)
        count = before if self.spacing == "uniform" else self.count
        if self.spacing == "wait":
            if count * p < 1.0:
                return 0.0
            return min(p / (2.0 - count * p), 1.0) if count * p < 2.0 else 1.0
        return min(p / (1.0 - count * p), 1.0) if count * p < 1.0 else 1.0

    def rest(self):
        """No signal is due, or every arrival deserves one."""
        self.count = -1.0 if self.spacing == "one-draw" else 0.0
        self.exceeds = 0.0

    def below(self):
        self.rest()

    def judge(self, packet):
        self.p_b = self.probability()
        if self.p_b <= 0.0 or len(self.waiting) < self.min_backlog:
            self.below()
            return None
        if self.p_b >= 1.0:
            self.rest()
            marks = self.params.get("forced") == "mark" and self.mark_limit >= 1.0
            return ("signal" if marks else "drop", "forced")
        size = self.factor(packet)
        if not self.draws.chance(self.spaced(self.p_b, size) * size):
            return None
        self.count = self.exceeds = 0.0
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
        if self.spacing != "one-draw":
            self.count = 0.0

    def on_idle(self, now):
        if self.idle_since is None and self.params.get("idle") != "keeps":
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
    ARITHMETIC = "exact"

    @classmethod
    def of(cls, header):
        return LinuxCodel(header) if cls is Codel and header["parameters"]["arithmetic"] == "linux" else cls(header)

    def __init__(self, header):
        super().__init__(header)
        self.target = round(self.params["target"] * SECOND)
        self.interval = round(self.params["interval"] * SECOND)
        if self.params["arithmetic"] != self.ARITHMETIC or self.params["ce_threshold"] is not None:
            raise Unsupported("a threshold for marks")
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
        if not self.waiting:
            self.on_idle(now)
            return {"dropped": []}
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
        if packet is None:
            return {"dropped": dropped}
        return {"dropped": dropped, "sent": packet["id"], "marked": marked}

    def on_idle(self, now):
        self.dropping = False
        # Kernels before March 2026 remember that it stood.
        if self.params["on_empty"] == "forgets":
            self.first_above_time = None

    def signals(self):
        return {"dropping": float(self.dropping), "count": float(self.count)}


def round_down(x):
    """To whole nanoseconds, to the nearest."""
    return math.floor(x + 0.5)


WORD = (1 << 64) - 1


class LinuxCodel(Codel):
    """The same in the integers of Linux: a clock of 1024 ns, and 16 bits of the reciprocal root of the count."""

    ARITHMETIC = "linux"

    def __init__(self, header):
        super().__init__(header)
        self.target, self.interval, self.root = self.target >> 10, self.interval >> 10, 0

    def dodequeue(self, now):
        if not self.waiting:
            self.first_above_time = None
            return None, False
        arrived, packet = self.waiting.popleft()
        self.bytes -= packet["bytes"]
        if now - (arrived >> 10) < self.target or self.backlog_is_small():
            self.first_above_time = None
        elif self.first_above_time is None:
            self.first_above_time = now + self.interval
        else:
            return packet, now > self.first_above_time
        return packet, False

    def control_law(self, t):
        return t + (self.interval * self.root >> 16)

    def newton_step(self):
        """From the root of the last count toward that of this one."""
        x = self.root << 16
        rest = ((3 << 32) - self.count * (x * x >> 32) & WORD) >> 2
        self.root = (rest * x & WORD) >> 47 & 0xFFFF

    def dequeue(self, now):
        now, dropped, marked = now >> 10, [], False
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            self.dropping = ok_to_drop
            while self.dropping and now >= self.drop_next:
                self.count += 1
                self.newton_step()
                if self.capable(packet):
                    marked = self.is_new_mark(packet)
                    self.after_signal(now)
                    break
                dropped.append(packet["id"])
                packet, self.dropping = self.dodequeue(now)
                if self.dropping:
                    self.after_signal(now)
        elif ok_to_drop:
            self.dropping = True
            self.count = self.first_count(now)
            self.lastcount = self.count
            if self.count > 1:
                self.newton_step()
            else:
                self.root = 0xFFFF
            self.drop_next = self.control_law(now)
            if self.capable(packet):
                marked = self.is_new_mark(packet)
            else:
                dropped.append(packet["id"])
                packet, self.dropping = self.dodequeue(now)
        if packet is None:
            self.on_idle(now)
            return {"dropped": dropped}
        return {"dropped": dropped, "sent": packet["id"], "marked": marked}


class Pie(Fifo):
    """RFC 8033: the basic scheme, with the options that the header names."""

    NAME = "pie"

    @classmethod
    def of(cls, header):
        return LinuxPie(header) if cls is Pie and header["parameters"]["scheme"] == "linux" else cls(header)

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        if p["delay_from"] == "dequeue-rate" or p["activate_at"] != 0 or p["scheme"] == "linux":
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


class LinuxPie(Fifo):
    """PIE in the integers of Linux: 56 bits of a probability, ticks of 64 ns, gains in sixteenths."""

    ONE = (1 << 56) - 1
    TICKS = 1_000_000_000 >> 6

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        self.gains = [round(p[gain] * 16) * (self.ONE // self.TICKS) >> 4 for gain in ("alpha", "beta")]
        self.target, self.max_burst = round(p["target"] * SECOND) >> 6, round(p["max_burst"] * SECOND) >> 6
        self.limit = round(p["mark_ecnth"] * self.ONE)
        self.p = self.accumulated = self.waited = self.delay_old = 0
        self.burst, self.left = self.max_burst, None

    def signals_now(self):
        if self.burst > 0 or (self.waited < self.target // 2 and self.p < self.ONE // 5) or self.bytes < 2 * 1514:
            return False
        if self.params["derandomize"]:
            self.accumulated = self.accumulated + self.p if self.p > 0 else 0
            if self.accumulated < self.ONE // 100 * 85:
                return False
            if self.accumulated >= self.ONE // 2 * 17:
                return self.draws.chance(1.0)
        if not self.draws.chance(self.p / (self.ONE + 1)):
            return False
        self.accumulated = 0
        return True

    def on_enqueue(self, now, packet):
        if not self.signals_now():
            return None
        marks = self.p <= self.limit and self.capable(packet)
        if not marks:
            self.accumulated = 0
        return ("signal" if marks else "drop", "early")

    def on_overflow(self, now):
        self.accumulated = 0

    def on_dequeue(self, now, packet, arrived):
        self.waited = (now >> 6) - (arrived >> 6) if self.waiting else 0
        if self.left is not None:
            self.burst = max(self.burst - ((now >> 6) - self.left), 0)
        self.left = now >> 6
        return None

    def on_idle(self, now):
        self.waited = 0

    def on_update(self, now):
        (alpha, beta), delay, old, one = self.gains, self.waited, self.delay_old, self.ONE
        if self.p < one // 10:
            alpha, beta, power = alpha >> 1, beta >> 1, 100
            while self.p < one // power and power <= 1_000_000:
                alpha, beta, power = alpha >> 2, beta >> 2, power * 10
        step = alpha * (delay - self.target) + beta * (delay - old)
        if step > one // 50 and self.p >= one // 10:
            step = one // 50
        if delay > self.TICKS // 4:
            step += one // 50
        self.p = min(max(self.p + step, 0), one)
        if delay == 0 and old == 0 and not self.waiting:
            self.p -= self.p // 64
        if self.p == 0 and delay < self.target // 2 and old < self.target // 2:
            self.burst, self.accumulated, self.left = self.max_burst, 0, None
        self.delay_old = delay

    def signals(self):
        return {
            "p": self.p / self.ONE,
            "delay": self.delay_old / self.TICKS,
            "burst_allowance": self.burst / self.TICKS,
            "accumulated": self.accumulated / self.ONE,
        }


class Several(Fifo):
    """Several queues before one link."""

    def packets(self):
        raise NotImplementedError

    def answer(self, event):
        if event["do"] == "idle":
            self.draws.begin(event.get("draws", []))
            self.on_idle(event["t"])
            return {"used": self.draws.used, "signals": self.signals()}
        return super().answer(event)

    def full(self, bytes_more):
        """Whether so many bytes more, in one packet, find no room."""
        size = self.link["buffer"]
        if "packets" in size:
            return self.packets() + 1 > int(size["packets"])
        return self.bytes + bytes_more > int(size["bytes"])


class FlowCodel(Codel):
    """The CoDel of one flow's queue: what remains is what waits in all of them (RFC 8289 section 4.4)."""

    def __init__(self, header, shared):
        super().__init__(header)
        self.shared = shared
        self.credits, self.place = 0, None

    def backlog_is_small(self):
        return self.shared.waiting_bytes() <= self.shared.maxpacket


def mixed(x):
    """32 bits: the finalizer of SplitMix64, its upper half."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & (1 << 64) - 1
    return (x ^ (x >> 31)) >> 32


class FqCodel(Several):
    """RFC 8290 section 4."""

    NAME = "fq-codel"

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        if p["rules"] != "rfc" or p["arithmetic"] != "exact" or p["ce_threshold"] is not None:
            raise Unsupported("Linux's rules, and a threshold for marks")
        self.header = header
        self.quantum = p["quantum"]["bytes"]
        self.adapts = p["mtu"] is None
        self.maxpacket = 0 if self.adapts else p["mtu"]["bytes"]
        self.flows, self.new, self.old, self.batches = {}, [], [], 0
        self.number = None

    def packets(self):
        return sum(len(queue.waiting) for queue in self.flows.values())

    def waiting_bytes(self):
        return sum(queue.bytes for queue in self.flows.values())

    def activate(self, queue):
        if queue not in self.new and queue not in self.old:
            queue.credits = self.quantum
            self.new.append(queue)

    def weight(self, queue):
        """By what the fattest queue is the fattest."""
        return queue.bytes

    def over(self):
        """Section 4.1: whether more waits than may."""
        size, p = self.link["buffer"], self.params
        packets, total = self.packets(), self.waiting_bytes()
        beyond = packets > int(size["packets"]) if "packets" in size else total > int(size["bytes"])
        return beyond or packets > p["limit"] or total > p["memory_limit"]["bytes"]

    def batch(self):
        """Half of the packets of the fattest queue, and so many at most."""
        # Of several, the one with the lowest number.
        fat = max((self.flows[number] for number in sorted(self.flows)), key=self.weight)
        return [fat] * min(max(len(fat.waiting) // 2, 1), self.params["drop_batch"])

    def answer(self, event):
        # The queue that the reference's hash gives the packet. Without it, flows do not meet.
        self.number = event.get("queue")
        return super().answer(event)

    def enqueue(self, now, packet):
        if self.adapts:
            self.maxpacket = max(self.maxpacket, packet["bytes"])
        number = packet.get("flow", 0) if self.number is None else self.number
        queue = self.flows.setdefault(number, FlowCodel(self.header, self))
        queue.waiting.append((now, packet))
        queue.bytes += packet["bytes"]
        self.activate(queue)
        gone = []
        while self.over():
            self.batches += 1
            for fat in self.batch():
                _, head = fat.waiting.popleft()
                fat.bytes -= head["bytes"]
                gone.append(head["id"])
        if packet["id"] in gone:
            gone.remove(packet["id"])
            return {"verdict": "dropped", "cause": "overflow", "dropped": gone}
        return {"verdict": "queued", "dropped": gone}

    def new_queue_is_empty(self, queue):
        """Section 4.2: it goes to the end of the old ones, so that it is not new again at once."""
        self.old.append(queue)

    def charge(self, queue, answer):
        queue.credits -= answer["bytes"]

    def dequeue(self, now):
        dropped = []
        while self.new or self.old:
            active = self.new or self.old
            queue = active[0]
            if queue.credits <= 0:
                queue.credits += self.quantum
                active.pop(0)
                self.old.append(queue)
                continue
            sizes = {packet["id"]: packet["bytes"] for _, packet in queue.waiting}
            answer = queue.dequeue(now)
            dropped += answer["dropped"]
            if "sent" in answer:
                self.charge(queue, {"bytes": sizes[answer["sent"]], "dropped": [sizes[i] for i in answer["dropped"]]})
                return {**answer, "dropped": dropped}
            was_new = active is self.new
            active.pop(0)
            if was_new:
                self.new_queue_is_empty(queue)
        return {"dropped": dropped}

    def on_idle(self, now):
        """Every queue is found empty."""
        if self.packets() == 0:
            self.dequeue(now)

    def signals(self):
        return {"batches": float(self.batches)}


class DualPi2(Several):
    """RFC 9332 Appendix A, Figures 2 to 5, 7 and 8."""

    NAME = "dualpi2"
    C, L = 0, 1

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        usual = {"classifier": "ect1", "dscp": None, "scheduler": "wrr", "signal_at": "dequeue", "signals": "recur"}
        usual |= {"overload": "drop", "delay_from": "sojourn", "th_len_at": "dequeue"}
        if any(p[name] != value for name, value in usual.items()):
            raise Unsupported("options of Linux, and other classifiers and schedulers")
        self.k, self.target = p["k"], p["target"]
        interval = p["update_interval"] or min(self.target, p["rtt_max"] / 3)
        self.alpha = p["alpha"] or 0.1 * interval / p["rtt_max"] ** 2
        self.beta = p["beta"] or 0.3 / p["rtt_max"]
        self.limit = max(p["limit"] * self.link["rate_bps"] / 8, 2 * 1500)
        self.queues = [deque(), deque()]
        self.counts = [0.0, 0.0]
        self.p = self.prevq = 0.0
        self.credit = self.fresh_credit()

    def packets(self):
        return sum(len(queue) for queue in self.queues)

    def in_l(self, packet):
        """Fig. 3, line 6. In a queue that does not mark, all packets are Not-ECT."""
        return self.marks and packet.get("ecn") in ("ect1", "ce")

    def enqueue(self, now, packet):
        if self.bytes + 1500 > self.limit:
            return {"verdict": "dropped", "cause": "forced"}
        if self.full(packet["bytes"]):
            return {"verdict": "dropped", "cause": "overflow"}
        self.queues[self.L if self.in_l(packet) else self.C].append((now, packet))
        self.bytes += packet["bytes"]
        return {"verdict": "queued"}

    def waited(self, now, queue):
        return (now - queue[0][0]) / SECOND if queue else 0.0

    def fresh_credit(self):
        return (2 * self.params["c_weight"] - 1) * self.mean_packet

    def scheduler(self, now):
        """Section 4.2.2: weighted round robin, a credit in bytes that says what C is owed."""
        c, l = self.queues
        if all(not queue or queue[0][0] == now for queue in self.queues):
            self.credit = self.fresh_credit()
        if not c or not l:
            return self.L if l else self.C
        return self.C if self.credit > 0 else self.L

    def recur(self, lane, likelihood):
        self.counts[lane] += likelihood
        if self.counts[lane] > 1:
            self.counts[lane] -= 1
            return True
        return False

    def sojourn(self, now, arrived, lane):
        return (now - arrived) / SECOND

    def laqm(self, delay):
        low, width = self.params["min_th"], self.params["range"]
        if delay >= low + width:
            return 1.0
        return (delay - low) / width if delay > low else 0.0

    def native(self, now, arrived):
        """Lines 5a to 5d: what is left behind says whether there is a queue."""
        if len(self.queues[self.L]) > self.params["th_len"]:
            return self.laqm(self.sojourn(now, arrived, self.L))
        return 0.0

    def p_c(self):
        return self.p * self.p

    def p_cl(self):
        return min(self.k * self.p, 1.0)

    def p_cmax(self):
        return min(1 / self.k**2, 1.0)

    def saturated(self):
        return self.p_cl() >= 1.0

    def judge(self, now, lane, packet, arrived):
        """None, "mark" or "drop"."""
        if lane == self.L:
            if not self.saturated():
                return "mark" if self.recur(lane, max(self.native(now, arrived), self.p_cl())) else None
            if self.recur(lane, self.p_c()):
                return "drop"
            return "mark" if self.recur(lane, self.p_cl()) else None
        if not self.recur(lane, self.p_c()):
            return None
        return "mark" if self.capable(packet) and self.p_c() < self.p_cmax() else "drop"

    def dequeue(self, now):
        dropped = []
        while self.packets() > 0:
            lane = self.scheduler(now)
            arrived, packet = self.queues[lane].popleft()
            self.bytes -= packet["bytes"]
            verdict = self.judge(now, lane, packet, arrived)
            if verdict == "drop":
                dropped.append(packet["id"])
                continue
            if self.queues[1 - lane]:
                weight = self.params["c_weight"]
                self.credit += (weight if lane == self.L else weight - 1) * packet["bytes"]
            marked = verdict == "mark" and self.is_new_mark(packet)
            return {"sent": packet["id"], "marked": marked, "dropped": dropped}
        return {"dropped": dropped}

    def current(self, now):
        """Fig. 8, line 2a."""
        return max(self.waited(now, queue) for queue in self.queues)

    def on_update(self, now):
        curq = self.current(now)
        p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq)
        self.p = min(max(p, 0.0), 1.0)
        self.prevq = curq

    def signals(self):
        return {"credit": self.credit, "delay": self.prevq, "p": self.p, "p_c": self.p_c(), "p_cl": self.p_cl()}


class Cobalt:
    """What COBALT remembers of one queue (docs/algorithms/cobalt.md)."""

    def __init__(self, target, interval, p_inc=1 / 256, p_dec=1 / 4096):
        self.target, self.interval, self.p_inc, self.p_dec = target, interval, p_inc, p_dec
        # A fresh queue has no reciprocal root yet: its first signal comes with the next departure.
        self.drop_next = self.count = self.root = 0
        self.dropping, self.p, self.stepped = False, 0.0, None

    def due(self, now):
        return self.count > 0 and now >= self.drop_next

    def spaced(self, t):
        return t + (self.interval * self.root >> 32)

    def move_count(self, count):
        """The reciprocal root has 32 bits: from 16 on one Newton step from the last one."""
        self.count = count
        if count < 16:
            self.root = min((1 << 32) - 1, round((1 << 32) / math.sqrt(max(count, 1))))
        else:
            square = self.root * self.root >> 32
            self.root = ((3 << 32) - count * square >> 2) * self.root >> 31
        self.drop_next = self.spaced(self.drop_next)

    def may_step(self, now):
        return self.stepped is None or now - self.stepped > self.target

    def decide(self, now, waited, over, last, capable, draws):
        """None, "signal" or "drop" for a packet at the head; the last one is not dropped."""
        due, late = self.due(now), now > self.drop_next
        if waited > over:
            if not self.dropping:
                self.dropping = True
                self.drop_next = self.spaced(now)
            self.count = max(self.count, 1)
        else:
            self.dropping = False
        verdict = None
        if due:
            if self.dropping:
                verdict = "signal"
                self.move_count(self.count + 1)
            else:
                while self.due(now):
                    self.move_count(self.count - 1)
            late = now > self.drop_next
        drops = verdict is not None and not capable
        blue = not drops and draws.chance(self.p)
        if self.count == 0:
            self.drop_next = now + self.interval
        elif late and not drops and not blue:
            self.let_go(now)
        if last:
            return None if drops else verdict
        return "drop" if blue else verdict

    def let_go(self, now):
        """Signals that were missed are not made up for."""
        self.drop_next = now

    def full(self, now):
        if self.may_step(now):
            self.p, self.stepped = min(self.p + self.p_inc, 1.0), now
        self.dropping, self.drop_next, self.count = True, now, max(self.count, 1)

    def empty(self, now):
        if self.p > 0.0 and self.may_step(now):
            self.p, self.stepped = max(self.p - self.p_dec, 0.0), now
        self.dropping = False
        if self.due(now):
            self.move_count(self.count - 1)

    def at_rest(self, now):
        """An empty queue has nothing left to remember."""
        return self.p <= 0.0 and self.count == 0 and now >= self.drop_next


class CobaltFifo(Fifo):
    """One queue under COBALT."""

    NAME = "cobalt"

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        target, interval = round(p["target"] * SECOND), round(p["interval"] * SECOND)
        self.cobalt = Cobalt(target, interval, p["p_inc"], p["p_dec"])
        self.over = max(target, 4 * wire_time(int(p["mtu"]["bytes"]), self.link["rate_bps"]))

    def on_dequeue(self, now, packet, arrived):
        last = not self.waiting
        verdict = self.cobalt.decide(now, now - arrived, self.over, last, self.capable(packet), self.draws)
        return verdict and (verdict, "early")

    def on_overflow(self, now):
        self.cobalt.full(now)

    def on_idle(self, now):
        self.cobalt.empty(now)

    def signals(self):
        c = self.cobalt
        return {"p": c.p, "dropping": float(c.dropping), "count": float(c.count)}


def wire_time(size, rate):
    """Nanoseconds that bytes take at a rate, to the nearest."""
    return (size * 8 * SECOND + rate // 2) // rate


class Sets:
    """Places in sets of eight: a hash finds the one that it had, or one of its set that nobody uses."""

    def __init__(self, places):
        self.tags = [0] * places

    def find(self, tag, in_use):
        own = tag * len(self.tags) >> 32
        first = own - own % 8
        around = [*range(own, first + 8), *range(first, own)]
        for place in around:
            if self.tags[place] == tag:
                return place
        for place in around:
            if not in_use(place):
                self.tags[place] = tag
                return place
        return own


class CakeQueue:
    """One flow's queue, or what has one."""

    def __init__(self, number, target, interval):
        self.number, self.cobalt = number, Cobalt(target, interval)
        self.waiting, self.bytes = deque(), 0
        self.credits, self.bulk, self.list = 0, False, None
        self.source = self.destination = 0


def is_after(a, b):
    """Whether a number of TCP comes after another; they wrap."""
    return 0 < (a - b) % (1 << 32) < 1 << 31


def blocks(ack):
    return [(start, end) for start, end in ack.get("blocks", []) if start != end]


def covered(ack, later):
    """Whether the later acknowledgment says all that a pure one says, and more."""
    pure = not ack.get("data", 0) and not ack.get("flags", 0) & ~0xC0
    stamps = zip(ack.get("stamps", []), later.get("stamps", [0, 0]))
    number = ack["number"]
    if not pure or is_after(number, later["number"]) or any(is_after(a, b) for a, b in stamps):
        return False
    own, others = blocks(ack), blocks(later)
    for start, end in own:
        within = any(not is_after(a, start) and not is_after(end, b) for a, b in others)
        if is_after(number, start) or not within:
            return False
    sizes = [sum((end - start) % (1 << 32) for start, end in some) for some in (own, others)]
    return sizes[1] > sizes[0] or later["number"] != number


class Tin:
    """Packets of one priority: their queues, their hosts, and the lists of whose turn it is."""

    def __init__(self, base, rate, shift, params):
        """Without a rate nothing is shaped."""
        self.base, self.weight = base, 1024 >> shift
        self.threshold = rate and max(rate >> shift, 1)
        self.frame = frame = wire_time(1514, self.threshold) if rate else 0
        rtt = round(params["rtt"] * SECOND)
        usual = rtt // 20
        self.target = max(usual, frame * 3 // 2)
        self.interval = max(rtt + self.target - usual, 2 * self.target)
        self.over = max(self.target, 4 * frame)
        self.quantum = min(max(self.threshold // 8 // 4096, 300), 1514) if rate else 1514
        self.table, self.queues = Sets(params["flows"]), {}
        self.sides = [(Sets(1024), [0] * 1024) for _ in range(2)]
        # The third list has empty queues whose COBALT has not come to rest.
        self.new, self.old, self.aging = [], [], []
        self.packets = self.clock = self.deficit = self.bulk = 0

    def queue(self, place):
        if place not in self.queues:
            self.queues[place] = CakeQueue(self.base + place, self.target, self.interval)
        return self.queues[place]

    def share(self, queue, isolation, draws):
        """A quantum over the queues in their turn of the packet's host, rounded at random."""
        of_source = self.sides[0][1][queue.source]
        of_destination = self.sides[1][1][queue.destination]
        load = {
            "triple-isolate": max(of_source, of_destination),
            "dual-srchost": of_source,
            "dual-dsthost": of_destination,
        }.get(isolation, 1)
        return self.quantum if load <= 1 else int(self.quantum / load + draws.uniform())

    def count(self, queue, bulk):
        """Only queues that have used up a turn, or wait for another, count for their hosts."""
        if queue.bulk != bulk:
            queue.bulk = bulk
            self.bulk += 1 if bulk else -1
            for (_, counts), host in zip(self.sides, (queue.source, queue.destination)):
                counts[host] += 1 if bulk else -1

    def activate(self, queue, credits):
        if queue.list is self.aging:
            self.aging.remove(queue)
        queue.credits, queue.list = credits, self.new
        self.new.append(queue)

    def put_by(self, queue, now):
        """An empty queue that has just been asked waits for its COBALT to come to rest."""
        queue.cobalt.empty(now)
        if queue.list is self.aging:
            self.aging.remove(queue)
        queue.list = None if queue.cobalt.at_rest(now) else self.aging
        if queue.list is not None:
            self.aging.append(queue)

    def take_head(self):
        queue = (self.new or self.old).pop(0)
        queue.list = None
        return queue


class Cake(Several):
    """Høiland-Jørgensen et al. 2018, with the rules of docs/algorithms/cake.md."""

    NAME = "cake"
    SHIFTS = {"besteffort": [0], "diffserv3": [0, 4, 2], "diffserv4": [0, 4, 1, 2]}
    BULK = {1, 8}
    VIDEO = {4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38}
    VOICE = {"diffserv3": {4, 44, 46, 48, 56}, "diffserv4": {32, 40, 44, 46, 48, 56}}

    def __init__(self, header):
        super().__init__(header)
        p = self.params
        if p["memory_limit"] is not None:
            raise Unsupported("a memory limit")
        if p["autorate_ingress"]:
            raise Unsupported("an estimate of the rate")
        if p["queues"] > 1:
            raise Unsupported("several queues of a card")
        # Without a key the reference draws one: which queues and hosts meet is then not known, and here few do.
        self.key = p["hash_key"] or 0
        self.shaped = p["bandwidth"] is not None
        self.rate = p["bandwidth"]
        shifts = self.SHIFTS[p["diffserv"]]
        self.tins = [Tin(t * p["flows"], self.rate, shift, p) for t, shift in enumerate(shifts)]
        self.clock = self.failsafe = self.turn = self.overflows = 0

    def held(self):
        """The time before which the shaper sends nothing."""
        return min(self.clock, self.failsafe) if self.params["ingress"] else self.clock

    def advance(self, now, tin, wire, sent):
        """A packet moves the clocks: one that is sent, and of arrivals that are shaped one that is dropped."""
        if self.shaped:
            time = wire_time(wire, tin.threshold)
            tin.clock = tin.clock + time if tin.clock < now else max(tin.clock, now + time)
            time = wire_time(wire, self.rate)
            self.clock += time
            self.failsafe += time + time // 2 if sent else 0

    def packets(self):
        return sum(tin.packets for tin in self.tins)

    def on_wire(self, size):
        p = self.params
        overhead = int(p["overhead"]["bytes"])
        if overhead and p.get("layer") == "ethernet":
            size -= 14  # The overhead is counted from the IP packet.
        size = max(size + overhead, int(p["mpu"]["bytes"]))
        if p["framing"] == "atm":
            return -(-size // 48) * 53
        return size + -(-size // 64) if p["framing"] == "ptm" else size

    def tin_of(self, dscp):
        kind = self.params["diffserv"]
        if kind == "besteffort":
            return 0
        if dscp in self.BULK:
            return 1
        if dscp in self.VOICE[kind]:
            return len(self.tins) - 1
        return 2 if kind == "diffserv4" and dscp in self.VIDEO else 0

    def hosts(self, packet):
        """Hashes of both sides. A host that nobody knows is one for each flow."""
        hosts = packet.get("hosts", {})
        flow = packet.get("flow", 0)

        def hashed(number, side):
            return mixed(self.key ^ side << 32 ^ number) if number else mixed(self.key ^ side << 33 ^ flow)

        return hashed(hosts.get("source", 0), 1), hashed(hosts.get("destination", 0), 3)

    def hash_of(self, packet):
        """Of what has a queue."""
        source, destination = self.hosts(packet)
        turned = (destination << 16 | destination >> 16) & (1 << 32) - 1
        return {
            "hosts": source ^ turned,
            "srchost": source,
            "dsthost": destination,
            "flowblind": 0,
        }.get(self.params["isolation"], mixed(packet.get("flow", 0) ^ self.key))

    def classify(self, packet):
        tin = self.tins[self.tin_of(packet.get("dscp", 0))]
        place = tin.table.find(self.hash_of(packet), lambda i: i in tin.queues and tin.queues[i].list is not None)
        queue = tin.queue(place)
        if queue.list is None or queue.list is tin.aging:
            found = [
                table.find(host, lambda i, counts=counts: counts[i] > 0)
                for (table, counts), host in zip(tin.sides, self.hosts(packet))
            ]
            queue.source, queue.destination = found
        return tin, queue

    def remove(self, tin, queue):
        arrived, packet = queue.waiting.popleft()
        queue.bytes -= packet["bytes"]
        self.bytes -= packet["bytes"]
        tin.packets -= 1
        return arrived, packet

    def filtered(self, now, tin, queue, arrival):
        """Drops an acknowledgment that the arrival makes superfluous."""
        kind, ack = self.params["ack_filter"], arrival.get("ack")
        if kind == "off" or ack is None:
            return []
        first = place = None
        for place, (_, one) in enumerate(queue.waiting):
            if "ack" not in one or one.get("flow", 0) != arrival.get("flow", 0):
                continue
            flags = one["ack"].get("flags", 0) & 0xC0
            if first is not None and first[1] != flags:
                first = None
            if covered(one["ack"], ack):
                if first is not None:
                    break
                first = place, flags
        else:
            # A single one: it has to be the last that waits, and the arrival the next to say what its flags do.
            if kind != "aggressive" or first != (place, ack.get("flags", 0) & 0xC0):
                return []
        if first is None:
            return []
        gone = queue.waiting[first[0]][1]
        del queue.waiting[first[0]]
        queue.bytes -= gone["bytes"]
        self.bytes -= gone["bytes"]
        tin.packets -= 1
        if self.params["ingress"]:
            self.advance(now, tin, self.on_wire(gone["bytes"]), sent=False)
        return [gone["id"]]

    def make_room(self, now, mine, packet):
        """Drops from the fattest queues until an arrival fits; None if it is the arrival that has to go."""
        gone = []
        while self.full(packet["bytes"]):
            active = [(tin, queue) for tin in self.tins for queue in tin.new + tin.old]
            sizes = [queue.bytes + (packet["bytes"] if queue is mine else 0) for _, queue in active]
            most = max(sizes)
            tin, fat = min(
                (both for both, size in zip(active, sizes) if size == most), key=lambda both: both[1].number
            )
            self.overflows += 1
            fat.cobalt.full(now)
            if self.params["ingress"]:
                victim = fat.waiting[0][1] if fat.waiting else packet
                self.advance(now, tin, self.on_wire(victim["bytes"]), sent=False)
            if not fat.waiting:
                return gone, False
            gone.append(self.remove(tin, fat)[1]["id"])
        return gone, True

    def full(self, bytes_more):
        # The arrival counts for its tin already.
        size = self.link["buffer"]
        if "packets" in size:
            return self.packets() > int(size["packets"])
        return self.bytes + bytes_more > int(size["bytes"])

    def enqueue(self, now, packet):
        tin, queue = self.classify(packet)
        if self.packets() == 0 and self.clock < now:
            self.clock = self.failsafe = now
        if tin.packets == 0:
            tin.clock = max(tin.clock, now)
        tin.packets += 1
        if queue.list is None or queue.list is tin.aging:
            tin.activate(queue, tin.share(queue, self.params["isolation"], self.draws))
        elif queue.list is tin.old and not queue.waiting:
            tin.count(queue, True)
        filtered = self.filtered(now, tin, queue, packet)
        dropped, fits = self.make_room(now, queue, packet)
        dropped = filtered + dropped
        if not fits:
            tin.packets -= 1
            return {"verdict": "dropped", "cause": "overflow", "dropped": dropped}
        queue.waiting.append((now, packet))
        queue.bytes += packet["bytes"]
        self.bytes += packet["bytes"]
        return {"verdict": "queued", "dropped": dropped}

    def pick(self, now):
        """The tin that is served, of those with queues on their lists."""
        if len(self.tins) == 1:
            return self.tins[0]
        if self.shaped:
            # Of those whose time has come the highest number, or whose time comes first.
            listed = [tin for tin in self.tins if tin.new or tin.old]
            return min(listed, key=lambda tin: (max(tin.clock, now), -self.tins.index(tin)))
        while True:
            tin = self.tins[self.turn]
            if tin.deficit >= 0 and (tin.new or tin.old):
                return tin
            if tin.deficit <= 0:
                tin.deficit += tin.weight
            self.turn = (self.turn + 1) % len(self.tins)

    def next_queue(self, now, ages, stays=None):
        """A queue of the third list of the first tin `ages`. Then DRR++: new queues before old ones; who has used up its
        turn waits. After a drop that has moved the clocks the tin `stays`, until a queue of it is empty."""
        while True:
            tin = stays or self.pick(now)
            first, ages = ages, False
            if first and tin.aging:
                tin.put_by(tin.aging[0], now)
                continue
            queue = (tin.new or tin.old)[0]
            if queue.credits <= 0:
                if queue.waiting:
                    tin.count(queue, True)
                queue.credits += tin.share(queue, self.params["isolation"], self.draws)
                tin.take_head()
                queue.list = tin.old
                tin.old.append(queue)
            elif queue.waiting:
                return tin, queue
            else:
                tin.count(queue, False)
                tin.take_head()
                tin.put_by(queue, now)
                if stays and self.shaped and self.held() > now:
                    return None
                stays = None

    def dequeue(self, now):
        dropped, stays, ingress = [], None, self.params["ingress"]
        while self.packets() > 0:
            held = self.shaped and not stays and self.held() > now
            found = None if held else self.next_queue(now, not dropped, stays)
            if found is None:
                return {"not_before": self.held(), "dropped": dropped}
            tin, queue = found
            arrived, packet = self.remove(tin, queue)
            last, capable = not queue.waiting, self.capable(packet)
            over = max(tin.over, 2 * tin.bulk * tin.frame) if ingress else tin.over
            verdict = queue.cobalt.decide(now, now - arrived, over, last, capable, self.draws)
            drops = verdict == "drop" or (verdict and not capable)
            if drops:
                dropped.append(packet["id"])
                if not ingress:
                    continue
                stays = tin
            wire = self.on_wire(packet["bytes"])
            queue.credits -= wire
            tin.deficit -= wire
            self.advance(now, tin, wire, not drops)
            if drops:
                continue
            return {"sent": packet["id"], "marked": bool(verdict) and self.is_new_mark(packet), "dropped": dropped}
        return {"dropped": dropped}

    def signals(self):
        active = [queue for tin in self.tins for queue in tin.new + tin.old + tin.aging]
        return {
            "new_queues": float(sum(len(tin.new) for tin in self.tins)),
            "old_queues": float(sum(len(tin.old) for tin in self.tins)),
            "p": max((queue.cobalt.p for queue in active), default=0.0),
            "overflows": float(self.overflows),
        }


ALGORITHMS = {c.NAME: c for c in (Fifo, Red, Ared, Pi, Blue, Codel, Pie, FqCodel, DualPi2, CobaltFifo, Cake)}


def serve(algorithms):
    """Answers one vector."""

    def say(answer):
        print(json.dumps(answer), flush=True)

    header = json.loads(sys.stdin.readline())
    if header["algorithm"] not in algorithms:
        return say({"skip": f"{header['algorithm']} is not implemented"})
    try:
        queue = algorithms[header["algorithm"]].of(header)
    except Unsupported as why:
        return say({"skip": f"{why}: not implemented"})
    say({"ready": True})
    for line in sys.stdin:
        say(queue.answer(json.loads(line)))
    return None


if __name__ == "__main__":
    serve(ALGORITHMS)
