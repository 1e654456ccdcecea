// PI (Hollot et al. 2001b), PIE with its delay from the link's rate (RFC 8033 section 6), COBALT and drop-tail in Go,
// speaking Quell's conformance protocol.
//
//	go build -o adaptor adaptor.go && quell conformance run -- ./adaptor
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"os"
)

type size struct {
	Packets *float64 `json:"packets"`
	Bytes   *float64 `json:"bytes"`
}

type header struct {
	Algorithm  string                     `json:"algorithm"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Link       struct {
		RateBps    float64 `json:"rate_bps"`
		Buffer     size    `json:"buffer"`
		MeanPacket float64 `json:"mean_packet_bytes"`
	} `json:"link"`
	Ecn bool `json:"ecn"`
}

type packet struct {
	ID    uint32  `json:"id"`
	Bytes float64 `json:"bytes"`
	Ecn   string  `json:"ecn"`
	came  int64
}

type event struct {
	T      int64     `json:"t"`
	Do     string    `json:"do"`
	Packet packet    `json:"packet"`
	Draws  []float64 `json:"draws"`
}

type answer struct {
	Verdict string             `json:"verdict,omitempty"`
	Cause   string             `json:"cause,omitempty"`
	Sent    *uint32            `json:"sent,omitempty"`
	Marked  bool               `json:"marked,omitempty"`
	Dropped []uint32           `json:"dropped,omitempty"`
	Used    int                `json:"used"`
	Signals map[string]float64 `json:"signals,omitempty"`
}

// A decision about a packet.
type decision int

const (
	pass decision = iota
	signal
	drop
)

// What decides for a queue.
type algorithm interface {
	arrive(q *queue, p packet) decision
	overflow(now int64)
	update(q *queue)
	signals() map[string]float64
}

// What decides about packets that leave as well.
type departures interface {
	depart(q *queue, now int64, p packet) decision
	idle(now int64)
}

type queue struct {
	header  header
	waiting []packet
	bytes   float64
	draws   []float64
	used    int
}

func (q *queue) number(name string) float64 {
	var x float64
	if err := json.Unmarshal(q.header.Parameters[name], &x); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return x
}

func (q *queue) text(name string) string {
	var x string
	_ = json.Unmarshal(q.header.Parameters[name], &x)
	return x
}

func (q *queue) truth(name string) bool {
	var x bool
	_ = json.Unmarshal(q.header.Parameters[name], &x)
	return x
}

// True with probability p: a number is used unless p is 0 or less.
func (q *queue) chance(p float64) bool {
	if p <= 0 {
		return false
	}
	u := 0.5
	if q.used < len(q.draws) {
		u = q.draws[q.used]
	}
	q.used++
	return u < p
}

func (q *queue) full(p packet) bool {
	if most := q.header.Link.Buffer.Packets; most != nil {
		return float64(len(q.waiting)) >= math.Floor(*most)
	}
	return q.bytes+p.Bytes > math.Floor(*q.header.Link.Buffer.Bytes)
}

// Whether the packet is dropped by what was decided.
func (q *queue) drops(decided decision, p packet) bool {
	return decided == drop || decided == signal && !(q.header.Ecn && p.Ecn != "")
}

func (q *queue) enqueue(a algorithm, now int64, p packet) answer {
	p.came = now
	decided := a.arrive(q, p)
	if q.drops(decided, p) {
		return answer{Verdict: "dropped", Cause: "early"}
	}
	if q.full(p) {
		a.overflow(now)
		return answer{Verdict: "dropped", Cause: "overflow"}
	}
	verdict := "queued"
	if decided == signal && p.Ecn != "ce" {
		verdict, p.Ecn = "marked", "ce"
	}
	q.waiting = append(q.waiting, p)
	q.bytes += p.Bytes
	return answer{Verdict: verdict}
}

func (q *queue) dequeue(a algorithm, now int64) answer {
	said := answer{}
	watcher, watches := a.(departures)
	for len(q.waiting) > 0 {
		p := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.bytes -= p.Bytes
		decided := pass
		if watches {
			decided = watcher.depart(q, now, p)
		}
		if q.drops(decided, p) {
			said.Dropped = append(said.Dropped, p.ID)
			continue
		}
		said.Sent, said.Marked = &p.ID, decided == signal && p.Ecn != "ce"
		return said
	}
	q.idle(a, now)
	return said
}

func (q *queue) idle(a algorithm, now int64) {
	if watcher, watches := a.(departures); watches && len(q.waiting) == 0 {
		watcher.idle(now)
	}
}

type dropTail struct{}

func (dropTail) arrive(*queue, packet) decision { return pass }
func (dropTail) overflow(int64)                 {}
func (dropTail) update(*queue)                  {}
func (dropTail) signals() map[string]float64    { return nil }

type pi struct {
	a, b, p, ref, old float64
	inBytes, bySize   bool
}

func newPi(q *queue) (algorithm, string) {
	if string(q.header.Parameters["design"]) != "null" {
		return nil, "gains by design"
	}
	var ref size
	if err := json.Unmarshal(q.header.Parameters["q_ref"], &ref); err != nil {
		return nil, err.Error()
	}
	c := &pi{a: q.number("a"), b: q.number("b"), p: q.number("initial_p"), bySize: q.text("signal") == "by-size"}
	if ref.Packets != nil {
		c.ref = *ref.Packets
	} else {
		c.inBytes, c.ref = true, *ref.Bytes/q.header.Link.MeanPacket
	}
	return c, ""
}

func (c *pi) arrive(q *queue, p packet) decision {
	factor := 1.0
	if c.bySize {
		factor = p.Bytes / q.header.Link.MeanPacket
	}
	if q.chance(c.p * factor) {
		return signal
	}
	return pass
}

func (c *pi) overflow(int64) {}

func (c *pi) update(q *queue) {
	length := float64(len(q.waiting))
	if c.inBytes {
		length = q.bytes / q.header.Link.MeanPacket
	}
	c.p = math.Min(math.Max(c.p+c.a*(length-c.ref)-c.b*(c.old-c.ref), 0), 1)
	c.old = length
}

func (c *pi) signals() map[string]float64 { return map[string]float64{"p": c.p} }

type pie struct {
	target, alpha, beta, ecnth, p, accumulated, old float64
	interval, maxBurst, burst                       int64
	derandomize, limited                            bool
}

func newPie(q *queue) (algorithm, string) {
	if q.text("delay_from") != "link-rate" || q.number("activate_at") != 0 || q.text("decay") != "empty" {
		return nil, "PIE is here with its delay from the link's rate"
	}
	seconds := func(name string) int64 { return int64(q.number(name)*1e9 + 0.5) }
	return &pie{
		target: q.number("target"), alpha: q.number("alpha"), beta: q.number("beta"), ecnth: q.number("mark_ecnth"),
		interval: seconds("update_interval"), maxBurst: seconds("max_burst"), burst: seconds("max_burst"),
		derandomize: q.truth("derandomize"), limited: q.truth("cap"),
	}, ""
}

// Section 6: the queue over the link's rate, in whole nanoseconds.
func (c *pie) delay(q *queue) float64 {
	return math.Floor(q.bytes*8e9/q.header.Link.RateBps+0.5) / 1e9
}

func (c *pie) arrive(q *queue, _ packet) decision {
	short := c.old < c.target/2
	if c.p == 0 && short && c.delay(q) < c.target/2 {
		c.burst = c.maxBurst
	}
	if c.burst > 0 || short && c.p < 0.2 || q.bytes <= 2*q.header.Link.MeanPacket {
		return pass
	}
	p := c.p
	if c.derandomize {
		c.accumulated += p
		if p == 0 {
			c.accumulated = 0
		}
		if c.accumulated < 0.85 {
			p = 0
		} else if c.accumulated >= 8.5 {
			p = 1
		}
	}
	if !q.chance(p) {
		return pass
	}
	c.accumulated = 0
	if c.p < c.ecnth {
		return signal
	}
	return drop
}

func (c *pie) overflow(int64) { c.accumulated = 0 }

func (c *pie) update(q *queue) {
	delay, scale := c.delay(q), 1.0
	for _, step := range [][2]float64{{1e-6, 2048}, {1e-5, 512}, {1e-4, 128}, {1e-3, 32}, {1e-2, 8}, {1e-1, 2}} {
		if c.p < step[0] {
			scale = 1 / step[1]
			break
		}
	}
	c.burst = max(0, c.burst-c.interval)
	step := scale * (c.alpha*(delay-c.target) + c.beta*(delay-c.old))
	if c.limited && c.p >= 0.1 {
		step = math.Min(step, 0.02)
	}
	p := c.p + step
	if delay == 0 && c.old == 0 {
		p *= 0.98
	}
	c.p, c.old = math.Min(math.Max(p, 0), 1), delay
}

func (c *pie) signals() map[string]float64 {
	return map[string]float64{
		"p": c.p, "delay": c.old, "burst_allowance": float64(c.burst) / 1e9, "accumulated": c.accumulated,
	}
}

// As docs/algorithms/cobalt.md has it.
type cobalt struct {
	target, interval, over, next, stepped int64
	p, inc, dec                           float64
	// The root, 1 / sqrt(count), in parts of 2^32: none before the count has moved.
	count, root          uint32
	dropping, hasStepped bool
}

func newCobalt(q *queue) algorithm {
	seconds := func(name string) int64 { return int64(q.number(name)*1e9 + 0.5) }
	var mtu size
	if err := json.Unmarshal(q.header.Parameters["mtu"], &mtu); err != nil {
		panic(err)
	}
	wire := int64(math.Floor(*mtu.Bytes)*8e9/q.header.Link.RateBps + 0.5)
	c := &cobalt{target: seconds("target"), interval: seconds("interval"), inc: q.number("p_inc"), dec: q.number("p_dec")}
	c.over = max(c.target, 4*wire)
	return c
}

func (c *cobalt) due(now int64) bool { return c.count > 0 && now >= c.next }

func (c *cobalt) spaced(t int64) int64 {
	upper, lower := bits.Mul64(uint64(c.interval), uint64(c.root))
	return t + int64(upper<<32|lower>>32)
}

func (c *cobalt) movesTo(count uint32) {
	c.count = count
	if count < 16 {
		c.root = uint32(math.Min(math.Round((1<<32)/math.Sqrt(float64(max(count, 1)))), math.MaxUint32))
	} else {
		// A Newton step from the root of the last count: x (3 - count x^2) / 2.
		x := uint64(c.root)
		c.root = uint32((3<<32 - uint64(count)*(x*x>>32)) >> 2 * x >> 31)
	}
	c.next = c.spaced(c.next)
}

func (c *cobalt) steps(now int64) bool {
	if c.hasStepped && now-c.stepped <= c.target {
		return false
	}
	c.hasStepped, c.stepped = true, now
	return true
}

func (c *cobalt) arrive(*queue, packet) decision { return pass }
func (c *cobalt) update(*queue)                  {}

// The packet has left the queue already: if nothing else waits it was the last, which is never dropped.
func (c *cobalt) depart(q *queue, now int64, p packet) decision {
	due, late, decided := c.due(now), now > c.next, pass
	if now-p.came > c.over {
		if !c.dropping {
			c.next = c.spaced(now)
		}
		c.dropping, c.count = true, max(c.count, 1)
	} else {
		c.dropping = false
	}
	if due {
		if c.dropping {
			decided = signal
			c.movesTo(c.count + 1)
		} else {
			for c.due(now) {
				c.movesTo(c.count - 1)
			}
		}
		late = now > c.next
	}
	drops := q.drops(decided, p)
	unlucky := !drops && q.chance(c.p)
	if c.count == 0 {
		c.next = now + c.interval
	} else if late && !drops && !unlucky {
		c.next = now
	}
	switch last := len(q.waiting) == 0; {
	case last && drops:
		return pass
	case unlucky && !last:
		return drop
	}
	return decided
}

func (c *cobalt) overflow(now int64) {
	if c.steps(now) {
		c.p = math.Min(c.p+c.inc, 1)
	}
	c.dropping, c.next, c.count = true, now, max(c.count, 1)
}

func (c *cobalt) idle(now int64) {
	if c.p > 0 && c.steps(now) {
		c.p = math.Max(c.p-c.dec, 0)
	}
	c.dropping = false
	if c.due(now) {
		c.movesTo(c.count - 1)
	}
}

func (c *cobalt) signals() map[string]float64 {
	dropping := 0.0
	if c.dropping {
		dropping = 1
	}
	return map[string]float64{"p": c.p, "dropping": dropping, "count": float64(c.count)}
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	lines := json.NewDecoder(input)
	q := &queue{}
	if err := lines.Decode(&q.header); err != nil {
		fmt.Fprintln(os.Stderr, "adaptor:", err)
		os.Exit(1)
	}
	var a algorithm
	why := ""
	switch q.header.Algorithm {
	case "drop-tail":
		a = dropTail{}
		if string(q.header.Parameters["drop"]) != `"tail"` {
			why = "nothing is dropped at the front here"
		}
	case "pi":
		a, why = newPi(q)
	case "pie":
		a, why = newPie(q)
	case "cobalt":
		a = newCobalt(q)
	default:
		why = "not implemented"
	}
	if why != "" {
		_ = output.Encode(map[string]string{"skip": why})
		return
	}
	_ = output.Encode(map[string]bool{"ready": true})
	for {
		e := event{}
		if lines.Decode(&e) != nil {
			return
		}
		q.draws, q.used = e.Draws, 0
		said := answer{}
		switch e.Do {
		case "enqueue":
			said = q.enqueue(a, e.T, e.Packet)
		case "dequeue":
			said = q.dequeue(a, e.T)
		case "update":
			a.update(q)
		case "idle":
			q.idle(a, e.T)
		}
		said.Used, said.Signals = q.used, a.signals()
		_ = output.Encode(said)
	}
}
