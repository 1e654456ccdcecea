/* CoDel (RFC 8289), PIE (RFC 8033, basic scheme), COBALT and drop-tail in C, speaking Quell's conformance protocol.
 *
 *   cc -O2 -o adaptor adaptor.c -lm && quell conformance run -- ./adaptor
 */
#include "lines.h"

/* True with probability p; a number is used unless p is 0 or less. */
static bool chance(double p) {
    if (p <= 0)
        return false;
    double u = used < given ? draws[used] : 0.5;
    used++;
    return u < p;
}

/* ---- CoDel, as RFC 8289 section 5 has it. ---- */

static struct {
    int64_t target, interval, first_above, drop_next;
    bool above, dropping, adapts;
    long maxpacket;
    uint32_t count, lastcount;
} codel;

static bool dodequeue(int64_t now, packet *p, bool *ok_to_drop) {
    *ok_to_drop = false;
    if (!pop(p)) {
        codel.above = false;
        return false;
    }
    if (now - p->arrived < codel.target || backlog <= codel.maxpacket) {
        codel.above = false;
    } else if (!codel.above) {
        codel.above = true;
        codel.first_above = now + codel.interval;
    } else {
        *ok_to_drop = now >= codel.first_above;
    }
    return true;
}

static int64_t control_law(int64_t t) {
    return t + (int64_t)((double)codel.interval / sqrt(codel.count) + 0.5);
}

/* ---- PIE, as RFC 8033 Appendix A has it, with 5.1, 5.4 and 5.5. ---- */

static struct {
    double target, alpha, beta, ecnth, p, accumulated, delay_old;
    int64_t interval, max_burst, burst, waited;
    double mean_packet;
    bool derandomize, cap;
} pie;

static bool pie_signals(void) {
    bool calm = pie.waited / 1e9 < pie.target / 2 && pie.delay_old < pie.target / 2;
    if (pie.p == 0 && calm)
        pie.burst = pie.max_burst;
    if (pie.burst > 0)
        return false;
    if ((pie.delay_old < pie.target / 2 && pie.p < 0.2) || backlog <= 2 * pie.mean_packet)
        return false;
    double p = pie.p;
    if (pie.derandomize) {
        pie.accumulated = p > 0 ? pie.accumulated + p : 0;
        if (pie.accumulated < 0.85)
            return false;
        if (pie.accumulated >= 8.5)
            p = 1;
    }
    if (!chance(p))
        return false;
    pie.accumulated = 0;
    return true;
}

static void pie_update(void) {
    static const double below[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, by[] = {2048, 512, 128, 32, 8, 2};
    double delay = pie.waited / 1e9, scale = 1;
    for (int i = 5; i >= 0; i--)
        if (pie.p < below[i])
            scale = 1 / by[i];
    pie.burst = pie.burst > pie.interval ? pie.burst - pie.interval : 0;
    double step = scale * (pie.alpha * (delay - pie.target) + pie.beta * (delay - pie.delay_old));
    if (pie.cap && pie.p >= 0.1 && step > 0.02)
        step = 0.02;
    double p = pie.p + step;
    if (delay == 0 && pie.delay_old == 0)
        p *= 0.98;
    pie.p = p < 0 ? 0 : p > 1 ? 1 : p;
    pie.delay_old = delay;
}

/* ---- COBALT, as docs/algorithms/cobalt.md has it. ---- */

static struct {
    int64_t target, interval, over, drop_next, stepped;
    double p, p_inc, p_dec;
    /* The root, 1 / sqrt(count), in parts of 2^32: none before the count has moved. */
    uint32_t count, root;
    bool dropping, has_stepped;
} cobalt;

typedef enum { PASS, SIGNAL, DROP } decision;

static bool cobalt_due(int64_t now) {
    return cobalt.count > 0 && now >= cobalt.drop_next;
}

static int64_t cobalt_spaced(int64_t t) {
    /* Upper and lower 32 bits of the interval apart, so that the product fits. */
    uint64_t interval = (uint64_t)cobalt.interval, root = cobalt.root;
    return t + (int64_t)((interval >> 32) * root + ((interval & UINT32_MAX) * root >> 32));
}

static void cobalt_moves_to(uint32_t count) {
    cobalt.count = count;
    if (count < 16) {
        double root = 4294967296.0 / sqrt(count > 1 ? count : 1) + 0.5;
        cobalt.root = root < UINT32_MAX ? (uint32_t)root : UINT32_MAX;
    } else {
        /* A Newton step from the root of the last count: x (3 - count x^2) / 2. */
        uint64_t x = cobalt.root, rest = ((3ULL << 32) - count * (x * x >> 32)) >> 2;
        cobalt.root = (uint32_t)(rest * x >> 31);
    }
    cobalt.drop_next = cobalt_spaced(cobalt.drop_next);
}

static bool cobalt_steps(int64_t now) {
    if (cobalt.has_stepped && now - cobalt.stepped <= cobalt.target)
        return false;
    cobalt.has_stepped = true;
    cobalt.stepped = now;
    return true;
}

/* The packet has left the queue already: if nothing else waits it was the last, which is never dropped. */
static decision cobalt_decides(int64_t now, const packet *p) {
    bool last = waiting == 0, due = cobalt_due(now), late = now > cobalt.drop_next;
    decision what = PASS;
    if (now - p->arrived > cobalt.over) {
        if (!cobalt.dropping)
            cobalt.drop_next = cobalt_spaced(now);
        cobalt.dropping = true;
        if (cobalt.count == 0)
            cobalt.count = 1;
    } else {
        cobalt.dropping = false;
    }
    if (due) {
        if (cobalt.dropping) {
            what = p->capable ? SIGNAL : DROP;
            cobalt_moves_to(cobalt.count + 1);
        } else {
            while (cobalt_due(now))
                cobalt_moves_to(cobalt.count - 1);
        }
        late = now > cobalt.drop_next;
    }
    decision unsent = what != DROP && chance(cobalt.p) ? DROP : what;
    if (cobalt.count == 0)
        cobalt.drop_next = now + cobalt.interval;
    else if (late && unsent != DROP)
        cobalt.drop_next = now;
    if (last)
        return what == SIGNAL ? SIGNAL : PASS;
    return unsent;
}

static void cobalt_full(int64_t now) {
    if (cobalt_steps(now))
        cobalt.p = fmin(cobalt.p + cobalt.p_inc, 1);
    cobalt.dropping = true;
    cobalt.drop_next = now;
    if (cobalt.count == 0)
        cobalt.count = 1;
}

static void cobalt_empty(int64_t now) {
    if (cobalt.p > 0 && cobalt_steps(now))
        cobalt.p = fmax(cobalt.p - cobalt.p_dec, 0);
    cobalt.dropping = false;
    if (cobalt_due(now))
        cobalt_moves_to(cobalt.count - 1);
}

static enum { TAIL, CODEL, PIE, COBALT } algorithm;

/* ---- What is common. ---- */

static void link_is_idle(int64_t now) {
    if (algorithm == COBALT)
        cobalt_empty(now);
    codel.above = codel.dropping = false;
    pie.waited = 0;
}

static void enqueue(int64_t now, const char *line) {
    packet p = arrival(now, line);
    if (codel.adapts && p.bytes > codel.maxpacket)
        codel.maxpacket = p.bytes;
    bool signal = algorithm == PIE && pie_signals();
    const char *verdict = "queued";
    if (signal && (!p.capable || pie.p >= pie.ecnth)) {
        printf("{\"verdict\":\"dropped\",\"cause\":\"early\",\"used\":%d", used);
        return;
    }
    if (!has_room(&p)) {
        pie.accumulated = 0;
        if (algorithm == COBALT)
            cobalt_full(now);
        printf("{\"verdict\":\"dropped\",\"cause\":\"overflow\",\"used\":%d", used);
        return;
    }
    if (signal && !p.ce) {
        verdict = "marked";
        p.ce = true;
    }
    push(p);
    printf("{\"verdict\":\"%s\",\"used\":%d", verdict, used);
}

static void dequeue(int64_t now) {
    packet p;
    bool ok_to_drop = false, marked = false, there;
    long dropped[MOST];
    int drops = 0;
    if (algorithm == COBALT) {
        while ((there = pop(&p))) {
            decision what = cobalt_decides(now, &p);
            if (what != DROP) {
                marked = what == SIGNAL && !p.ce;
                break;
            }
            dropped[drops++] = p.id;
        }
    } else if (algorithm != CODEL) {
        there = pop(&p);
        if (there)
            pie.waited = now - p.arrived;
    } else {
        there = dodequeue(now, &p, &ok_to_drop);
        if (codel.dropping) {
            codel.dropping = ok_to_drop;
            while (codel.dropping && now >= codel.drop_next) {
                codel.count++;
                if (p.capable) {
                    marked = !p.ce;
                    codel.drop_next = control_law(codel.drop_next);
                    break;
                }
                dropped[drops++] = p.id;
                there = dodequeue(now, &p, &ok_to_drop);
                codel.dropping = ok_to_drop;
                if (ok_to_drop)
                    codel.drop_next = control_law(codel.drop_next);
            }
        } else if (ok_to_drop) {
            uint32_t delta = codel.count - codel.lastcount;
            codel.count = delta > 1 && now - codel.drop_next < 16 * codel.interval ? delta : 1;
            codel.lastcount = codel.count;
            codel.drop_next = control_law(now);
            codel.dropping = true;
            if (p.capable) {
                marked = !p.ce;
            } else {
                dropped[drops++] = p.id;
                there = dodequeue(now, &p, &ok_to_drop);
                codel.dropping = ok_to_drop;
            }
        }
    }
    printf("{\"dropped\":[");
    for (int i = 0; i < drops; i++)
        printf("%s%ld", i ? "," : "", dropped[i]);
    printf("],\"marked\":%s,\"used\":%d", marked ? "true" : "false", used);
    if (there)
        printf(",\"sent\":%ld", p.id);
    else
        link_is_idle(now);
}

/* Whether the header asks for what is here. */
static const char *configure(const char *line) {
    const char *own = after(line, "parameters"), *link = after(line, "link");
    if (!own || !link)
        return "the header has no parameters or no link";
    configure_buffer(line, link);
    if (is(line, "algorithm", "\"codel\"")) {
        algorithm = CODEL;
        if (!is(own, "arithmetic", "\"exact\"") || !is(own, "on_empty", "\"forgets\"") || !is(own, "ce_threshold", "null"))
            return "CoDel is here as RFC 8289 has it";
        codel.target = nanoseconds(number(own, "target", 0));
        codel.interval = nanoseconds(number(own, "interval", 0));
        codel.adapts = is(own, "mtu", "null");
        const char *mtu = after(own, "mtu");
        codel.maxpacket = codel.adapts || !mtu ? 0 : (long)number(mtu, "bytes", 0);
    } else if (is(line, "algorithm", "\"pie\"")) {
        algorithm = PIE;
        if (is(own, "scheme", "\"linux\"") || !is(own, "delay_from", "\"departures\"") || number(own, "activate_at", 0) != 0 ||
            !is(own, "decay", "\"empty\""))
            return "PIE is here in its basic scheme";
        pie.target = number(own, "target", 0);
        pie.alpha = number(own, "alpha", 0);
        pie.beta = number(own, "beta", 0);
        pie.ecnth = number(own, "mark_ecnth", 0);
        pie.interval = nanoseconds(number(own, "update_interval", 0));
        pie.burst = pie.max_burst = nanoseconds(number(own, "max_burst", 0));
        pie.derandomize = is(own, "derandomize", "true");
        pie.cap = is(own, "cap", "true");
        pie.mean_packet = number(link, "mean_packet_bytes", 1000);
    } else if (is(line, "algorithm", "\"cobalt\"")) {
        algorithm = COBALT;
        cobalt.target = nanoseconds(number(own, "target", 0));
        cobalt.interval = nanoseconds(number(own, "interval", 0));
        cobalt.p_inc = number(own, "p_inc", 0);
        cobalt.p_dec = number(own, "p_dec", 0);
        const char *mtu = after(own, "mtu");
        double bytes = mtu ? floor(number(mtu, "bytes", 0)) : 0, rate = number(link, "rate_bps", 1);
        cobalt.over = 4 * nanoseconds(8 * bytes / rate);
        if (cobalt.over < cobalt.target)
            cobalt.over = cobalt.target;
    } else if (!is(line, "algorithm", "\"drop-tail\"")) {
        return "not implemented";
    } else if (!is(own, "drop", "\"tail\"")) {
        return "nothing is dropped at the front here";
    }
    return NULL;
}

int main(void) {
    static char line[LINE];
    if (!fgets(line, sizeof line, stdin))
        return 0;
    const char *why = configure(line);
    if (why) {
        printf("{\"skip\":\"%s\"}\n", why);
        return 0;
    }
    printf("{\"ready\":true}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int64_t now = integer(line, "t");
        read_draws(line);
        if (is(line, "do", "\"enqueue\"")) {
            enqueue(now, line);
        } else if (is(line, "do", "\"dequeue\"")) {
            dequeue(now);
        } else {
            printf("{\"used\":0");
            if (is(line, "do", "\"update\"") && algorithm == PIE)
                pie_update();
            else if (is(line, "do", "\"idle\"") && waiting == 0)
                link_is_idle(now);
        }
        if (algorithm == PIE)
            printf(",\"signals\":{\"p\":%.17g,\"delay\":%.17g,\"burst_allowance\":%.17g,\"accumulated\":%.17g}}\n",
                   pie.p, pie.delay_old, pie.burst / 1e9, pie.accumulated);
        else if (algorithm == CODEL)
            printf(",\"signals\":{\"dropping\":%d,\"count\":%" PRIu32 "}}\n", codel.dropping, codel.count);
        else if (algorithm == COBALT)
            printf(",\"signals\":{\"p\":%.17g,\"dropping\":%d,\"count\":%" PRIu32 "}}\n", cobalt.p, cobalt.dropping,
                   cobalt.count);
        else
            printf("}\n");
        fflush(stdout);
    }
    return 0;
}
