/* CoDel, RED and PIE in integers, as a kernel or a switch has them, speaking Quell's conformance protocol.
 *
 *   cc -O2 -o integers integers.c -lm && quell conformance run -- ./integers
 *
 * What decides has no floating point: parameters are made integers when a queue is built, and the numbers that the
 * runner draws are taken as 32 or 56 bits. Each is written from its document (RFC 8289, RFC 8033, Floyd and Jacobson
 * 1993), with the arithmetic that its heading names. Delays and roots are coarser than the reference's, so internal
 * signals can be a little off, which the runner warns of; decisions are the same.
 */
#include "lines.h"

/* The number at hand in so many bits; one that is not there is one half. */
static uint64_t drawn(int bits) {
    double u = used < given ? draws[used] : 0.5;
    used++;
    return (uint64_t)ldexp(u, bits);
}

/* ---- CoDel by RFC 8289: a clock of a microsecond, and 16 bits of a root. ---- */

static struct {
    int64_t target, interval, first_above, drop_next;
    bool above, dropping, adapts;
    long maxpacket;
    uint32_t count, lastcount;
} codel;

static int64_t microseconds(int64_t ns) {
    return ns / 1000;
}

/* 2^16 / sqrt(count), to the nearest, for a count of two or more: bit by bit the largest number whose square times the
 * count is at most 2^32, with a bit more. */
static uint32_t root(uint32_t count) {
    uint64_t twice = 0;
    for (uint64_t bit = 1ULL << 16; bit > 0; bit >>= 1)
        if ((twice | bit) * (twice | bit) <= (1ULL << 34) / count)
            twice |= bit;
    return (uint32_t)((twice + 1) >> 1);
}

static int64_t control_law(int64_t t) {
    if (codel.count < 2)
        return t + codel.interval;
    return t + ((codel.interval * root(codel.count) + (1 << 15)) >> 16);
}

static bool dodequeue(int64_t now, packet *p, bool *ok_to_drop) {
    *ok_to_drop = false;
    if (!pop(p)) {
        codel.above = false;
        return false;
    }
    if (now - microseconds(p->arrived) < codel.target || backlog <= codel.maxpacket) {
        codel.above = false;
    } else if (!codel.above) {
        codel.above = true;
        codel.first_above = now + codel.interval;
    } else {
        *ok_to_drop = now >= codel.first_above;
    }
    return true;
}

/* Section 5.5; the dropped are put into a list. */
static bool codel_dequeue(int64_t now, packet *p, bool *marked, long *dropped, int *drops) {
    bool ok_to_drop, there = dodequeue(now, p, &ok_to_drop);
    if (codel.dropping) {
        codel.dropping = ok_to_drop;
        while (codel.dropping && now >= codel.drop_next) {
            codel.count++;
            if (p->capable) {
                *marked = !p->ce;
                codel.drop_next = control_law(codel.drop_next);
                break;
            }
            dropped[(*drops)++] = p->id;
            there = dodequeue(now, p, &ok_to_drop);
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
        if (p->capable) {
            *marked = !p->ce;
        } else {
            dropped[(*drops)++] = p->id;
            there = dodequeue(now, p, &ok_to_drop);
            codel.dropping = ok_to_drop;
        }
    }
    return there;
}

/* ---- RED by Floyd and Jacobson 1993: the weight and the slope are powers of two. ---- */

static struct {
    /* Packets or bytes, with so many bits behind the point. */
    int64_t average, low, high;
    int point, weight, slope;
    bool in_packets, pseudocode, idle;
    int64_t idle_since, packet_ns, count;
} red;

/* The power of two that x is, or -1. */
static int power(double x) {
    int exponent;
    return frexp(x, &exponent) == 0.5 ? exponent - 1 : -1;
}

/* Whether the arrival is dropped. */
static bool red_drops(int64_t now) {
    bool was_idle = red.idle, drops = false;
    if (was_idle) {
        /* As many small packets as could have passed; after a thousand nothing is left. */
        int64_t missed = (now - red.idle_since) / red.packet_ns;
        for (int i = 0; i < missed && i < 1000; i++)
            red.average -= red.average >> red.weight;
        red.idle = false;
    }
    int64_t length = red.in_packets ? (int64_t)waiting : backlog;
    red.average += (length << red.point >> red.weight) - (red.average >> red.weight);
    if (red.average < red.low) {
        red.count = 0;
    } else if (red.average >= red.high) {
        red.count = 0;
        drops = true;
    } else if (red.average > red.low) {
        /* p_b = part / whole, and u < p_b / (1 - count p_b). */
        int64_t part = red.average - red.low, whole = 1LL << red.slope;
        int64_t left = whole - (red.pseudocode ? red.count + 1 : red.count) * part;
        drops = drawn(32) * (uint64_t)(left > 0 ? left : 0) < (uint64_t)part << 32;
        red.count = drops ? 0 : red.count + 1;
    } else {
        red.count++;
    }
    if (was_idle && drops) {
        red.idle = true;
        red.idle_since = now;
    }
    return drops;
}

/* ---- PIE by RFC 8033 section 4 with 5.1, 5.4 and 5.5: ticks of 64 ns, and 56 bits of a probability. ---- */

#define ONE (1LL << 56)

static struct {
    /* In ticks. */
    int64_t target, interval, max_burst, burst, waited, delay_old;
    /* In parts of 2^56; the gains for each tick. */
    int64_t alpha, beta, ecnth, p, accumulated;
    int64_t mean_packet;
    bool derandomize, cap;
} pie;

static int64_t ticks(int64_t ns) {
    return ns / 64;
}

static bool pie_signals(void) {
    bool short_now = 2 * pie.waited < pie.target, short_then = 2 * pie.delay_old < pie.target;
    if (pie.p == 0 && short_now && short_then)
        pie.burst = pie.max_burst;
    if (pie.burst > 0 || (short_then && pie.p < ONE / 5) || backlog <= 2 * pie.mean_packet)
        return false;
    bool certain = false;
    if (pie.derandomize) {
        pie.accumulated = pie.p > 0 ? pie.accumulated + pie.p : 0;
        if (pie.accumulated < ONE / 100 * 85)
            return false;
        certain = pie.accumulated >= ONE / 2 * 17;
    }
    if (pie.p == 0 || (drawn(56) >= (uint64_t)pie.p && !certain))
        return false;
    pie.accumulated = 0;
    return true;
}

static void pie_update(void) {
    int64_t delay = pie.waited, step = pie.alpha * (delay - pie.target) + pie.beta * (delay - pie.delay_old);
    int64_t below = 10;
    if (pie.p < ONE / 10)
        for (step /= 2; below < 1000000 && pie.p < ONE / (below * 10); below *= 10)
            step /= 4;
    pie.burst = pie.burst > pie.interval ? pie.burst - pie.interval : 0;
    if (pie.cap && pie.p >= ONE / 10 && step > ONE / 50)
        step = ONE / 50;
    int64_t p = pie.p + step;
    if (delay == 0 && pie.delay_old == 0)
        p -= p / 50;
    pie.p = p < 0 ? 0 : p > ONE ? ONE : p;
    pie.delay_old = delay;
}

/* ---- What is common. ---- */

static enum { CODEL, RED, PIE } algorithm;

static void link_is_idle(int64_t now) {
    codel.above = codel.dropping = false;
    pie.waited = 0;
    if (!red.idle) {
        red.idle = true;
        red.idle_since = now;
    }
}

static void enqueue(int64_t now, const char *line) {
    packet p = arrival(now, line);
    if (codel.adapts && p.bytes > codel.maxpacket)
        codel.maxpacket = p.bytes;
    bool signal = algorithm == PIE ? pie_signals() : algorithm == RED && red_drops(now);
    bool full = !has_room(&p), marked = false;
    if (signal && (algorithm == RED || !p.capable || pie.p >= pie.ecnth)) {
        printf("{\"verdict\":\"dropped\",\"used\":%d", used);
        return;
    }
    if (full) {
        pie.accumulated = 0;
        red.count = 0;
        printf("{\"verdict\":\"dropped\",\"cause\":\"overflow\",\"used\":%d", used);
        return;
    }
    if (signal && !p.ce)
        marked = p.ce = true;
    push(p);
    printf("{\"verdict\":\"%s\",\"used\":%d", marked ? "marked" : "queued", used);
}

static void dequeue(int64_t now) {
    packet p;
    bool marked = false, there;
    static long dropped[MOST];
    int drops = 0;
    if (algorithm == CODEL) {
        there = codel_dequeue(microseconds(now), &p, &marked, dropped, &drops);
    } else {
        there = pop(&p);
        if (there)
            pie.waited = ticks(now) - ticks(p.arrived);
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

static const char *configure_codel(const char *own) {
    if (!is(own, "arithmetic", "\"exact\"") || !is(own, "on_empty", "\"forgets\"") || !is(own, "ce_threshold", "null"))
        return "CoDel is here as RFC 8289 has it";
    codel.target = microseconds(nanoseconds(number(own, "target", 0)));
    codel.interval = microseconds(nanoseconds(number(own, "interval", 0)));
    codel.adapts = is(own, "mtu", "null");
    const char *mtu = after(own, "mtu");
    codel.maxpacket = codel.adapts || !mtu ? 0 : (long)number(mtu, "bytes", 0);
    return NULL;
}

static const char *configure_red(const char *own, const char *link, bool ecn) {
    const char *low = after(own, "min_th"), *high = after(own, "max_th"), *unit = "packets";
    red.in_packets = low && strncmp(low, "{\"packets\"", 10) == 0;
    if (!red.in_packets)
        unit = "bytes";
    double from = low ? number(low, unit, 0) : 0, to = high ? number(high, unit, 0) : 0;
    int weight = power(number(own, "weight", 0)), gap = power(to - from), most = power(number(own, "max_p", 0));
    /* A power that is none is -1, as is one half, which is too much for a weight. */
    if (weight >= -1 || gap < 1 || most >= -1 || !is(own, "gentle", "false") || number(own, "min_backlog", 0) != 0 ||
        ecn)
        return "RED is here with shifts, not gentle, and drops";
    if (!is(own, "spacing", "\"uniform") || !is(own, "signal", "\"per-packet\""))
        return "gaps are uniform here, whatever the sizes of packets";
    red.pseudocode = is(own, "spacing", "\"uniform-pseudocode\"");
    red.point = red.in_packets ? 16 : 8;
    red.weight = -weight;
    red.slope = gap + red.point - most;
    red.low = (int64_t)from << red.point;
    red.high = (int64_t)to << red.point;
    red.packet_ns = (int64_t)(number(link, "mean_packet_bytes", 1000) * 8e9 / number(link, "rate_bps", 1));
    return NULL;
}

static const char *configure_pie(const char *own, const char *link) {
    if (is(own, "scheme", "\"linux\"") || !is(own, "delay_from", "\"departures\"") ||
        number(own, "activate_at", 0) != 0 || !is(own, "decay", "\"empty\""))
        return "PIE is here in its basic scheme";
    /* The longest delay times the gains must fit with a bit of sign. */
    pie.mean_packet = (int64_t)number(link, "mean_packet_bytes", 1000);
    double buffer = fmin(buffer_bytes, buffer_packets * (double)pie.mean_packet);
    double longest = 8 * buffer / number(link, "rate_bps", 1) + number(own, "target", 0);
    if ((number(own, "alpha", 0) + number(own, "beta", 0)) * longest >= 64)
        return "such gains with such a delay need more bits";
    pie.target = ticks(nanoseconds(number(own, "target", 0)));
    pie.interval = ticks(nanoseconds(number(own, "update_interval", 0)));
    pie.burst = pie.max_burst = ticks(nanoseconds(number(own, "max_burst", 0)));
    pie.alpha = (int64_t)(number(own, "alpha", 0) * 64e-9 * (double)ONE + 0.5);
    pie.beta = (int64_t)(number(own, "beta", 0) * 64e-9 * (double)ONE + 0.5);
    pie.ecnth = (int64_t)(number(own, "mark_ecnth", 0) * (double)ONE);
    pie.derandomize = is(own, "derandomize", "true");
    pie.cap = is(own, "cap", "true");
    return NULL;
}

/* Why the header asks for what is not here. */
static const char *configure(const char *line) {
    const char *own = after(line, "parameters"), *link = after(line, "link");
    if (!own || !link)
        return "the header has no parameters or no link";
    configure_buffer(line, link);
    if (is(line, "algorithm", "\"codel\"")) {
        algorithm = CODEL;
        return configure_codel(own);
    }
    if (is(line, "algorithm", "\"red\"")) {
        algorithm = RED;
        return configure_red(own, link, marks);
    }
    if (is(line, "algorithm", "\"pie\"")) {
        algorithm = PIE;
        return configure_pie(own, link);
    }
    return "not implemented";
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
            printf(",\"signals\":{\"p\":%.17g,\"delay\":%.17g}}\n", ldexp((double)pie.p, -56), pie.delay_old * 64e-9);
        else if (algorithm == CODEL)
            printf(",\"signals\":{\"dropping\":%d,\"count\":%" PRIu32 "}}\n", codel.dropping, codel.count);
        else
            printf("}\n");
        fflush(stdout);
    }
    return 0;
}
