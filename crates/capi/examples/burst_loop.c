/* A poll loop like those of DPDK: bursts of up to 32 packets come from one port, bursts leave by another, packet
 * buffers come from a pool, and the clock is read once per burst. The ports are simulated: with DPDK,
 * `receive` is rte_eth_rx_burst, `transmit` rte_eth_tx_burst, a handle the address of an rte_mbuf, and on_drop
 * rte_pktmbuf_free.
 *
 *   cc burst_loop.c -lquell -o burst_loop && ./burst_loop red
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quell.h"

enum { BURST = 32, POOL = 8192, POLLS = 200000, POLL_NS = 10000 };
/* 1 Gbit/s sends 1250 bytes in the time of one poll. */
enum { BYTES_PER_POLL = 1250 };

struct mbuf {
    uint16_t length;
    uint8_t ecn;
    uint32_t hash;
    struct mbuf *next;
};

struct pool {
    struct mbuf all[POOL];
    struct mbuf *free;
    unsigned out;
};

static struct mbuf *take(struct pool *pool) {
    struct mbuf *m = pool->free;
    if (m != NULL) {
        pool->free = m->next;
        pool->out++;
    }
    return m;
}

static void put(struct pool *pool, struct mbuf *m) {
    m->next = pool->free;
    pool->free = m;
    pool->out--;
}

static void on_drop(void *user, uint64_t handle, int32_t cause) {
    (void)cause;
    put(user, (struct mbuf *)(uintptr_t)handle);
}

static uint64_t state = 42;

static uint32_t next_random(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* What has come since the last poll: 1.25 packets of 250 to 1750 bytes, in bursts. */
static unsigned receive(struct pool *pool, struct mbuf **burst) {
    unsigned n = next_random() % 16 == 0 ? 20 : 0;
    for (unsigned i = 0; i < n; i++) {
        struct mbuf *m = take(pool);
        if (m == NULL)
            return i;
        m->length = (uint16_t)(250 + next_random() % 1500);
        m->ecn = (uint8_t)(next_random() % 4);
        m->hash = next_random() % 64;
        burst[i] = m;
    }
    return n;
}

int main(int argc, char **argv) {
    static struct pool pool;
    for (int i = 0; i < POOL; i++) {
        pool.out++;
        put(&pool, &pool.all[i]);
    }
    char config[512], why[256];
    snprintf(config, sizeof config,
             "{\"rate\": \"1 Gbit/s\", \"buffer\": \"4 MB\", \"smallest_packet\": \"250 B\", \"ecn\": true, "
             "\"aqm\": {\"algorithm\": \"%s\"}}",
             argc > 1 ? argv[1] : "codel");
    struct quell_queue *queue;
    if (quell_create(config, strlen(config), 0, on_drop, &pool, &queue, why, sizeof why) != QUELL_OK) {
        fprintf(stderr, "burst_loop: %s\n", why);
        return 2;
    }
    uint64_t received = 0, sent = 0, marked = 0, refused = 0;
    int64_t credit = 0;
    for (uint64_t poll = 1; poll <= POLLS; poll++) {
        uint64_t now = poll * POLL_NS;
        struct mbuf *burst[BURST];
        unsigned n = receive(&pool, burst);
        received += n;
        for (unsigned i = 0; i < n; i++) {
            struct mbuf *m = burst[i];
            struct quell_packet meta = {.bytes = m->length, .flow = m->hash, .ecn = m->ecn, .protocol = 6};
            int32_t code = quell_enqueue(queue, now, (uint64_t)(uintptr_t)m, &meta);
            if (code < 0) {
                fprintf(stderr, "burst_loop: %s\n", quell_error(code));
                return 1;
            }
            if (code == QUELL_DROPPED) {
                put(&pool, m);
                refused++;
            }
        }
        /* What the port can take. */
        credit += BYTES_PER_POLL;
        for (n = 0; n < BURST && credit > 0; n++) {
            struct quell_sent out;
            int32_t code = quell_dequeue(queue, now, &out);
            if (code != QUELL_SENT) {
                if (code < 0) {
                    fprintf(stderr, "burst_loop: %s\n", quell_error(code));
                    return 1;
                }
                credit = 0;
                break;
            }
            struct mbuf *m = (struct mbuf *)(uintptr_t)out.handle;
            if (out.marked)
                m->ecn = 3;
            marked += (uint64_t)out.marked;
            credit -= m->length;
            sent++;
            put(&pool, m);
        }
    }
    struct quell_counters counters;
    struct quell_tally waiting;
    if (quell_count(queue, &counters) != QUELL_OK || quell_waiting(queue, &waiting) != QUELL_OK)
        return 1;
    uint64_t dropped =
        counters.dropped_early.packets + counters.dropped_forced.packets + counters.dropped_overflow.packets;
    printf("received %" PRIu64 ", sent %" PRIu64 ", marked %" PRIu64 ", refused %" PRIu64 ", dropped %" PRIu64
           ", waiting %" PRIu64 "\n",
           received, sent, marked, refused, dropped, waiting.packets);
    int wrong = received != sent + refused + dropped + waiting.packets || pool.out != waiting.packets;
    quell_destroy(queue);
    if (wrong || pool.out != 0) {
        fprintf(stderr, "burst_loop: buffers are missing\n");
        return 1;
    }
    return 0;
}
