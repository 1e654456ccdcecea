/* An event loop in front of a link: packets come when they come, the link takes one at a time, and Quell says which
 * one, which are marked and which are dropped. The clock is simulated, so the program gives the same figures
 * wherever it runs; with a real one, `now` is clock_gettime and the two waits are timers.
 *
 *   cc event_loop.c -lquell -o event_loop && ./event_loop '[aqm]' 'algorithm = "codel"'
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quell.h"

enum { RATE = 10000000, ARRIVALS = 50000 };

struct packet {
    uint32_t size;
    int ce;
};

static uint64_t freed;

/* Stored packets that Quell gives back. */
static void on_drop(void *user, uint64_t handle, int32_t cause) {
    (void)user;
    (void)cause;
    freed++;
    free((struct packet *)(uintptr_t)handle);
}

static void on_signal(void *user, const char *name, const char *unit, double value) {
    (void)user;
    printf("signal %s = %.9g %s\n", name, value, unit);
}

/* A small generator, so that every machine makes the same packets. */
static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void check(int32_t code) {
    if (code < 0) {
        fprintf(stderr, "event_loop: %s\n", quell_error(code));
        exit(1);
    }
}

int main(int argc, char **argv) {
    char config[1024] = "rate = \"10 Mbit/s\"\nbuffer = \"100 packets\"\necn = true\n", why[256];
    for (int i = 1; i < argc; i++) {
        strncat(config, argv[i], sizeof config - strlen(config) - 2);
        strcat(config, "\n");
    }
    if (argc == 1)
        strcat(config, "[aqm]\nalgorithm = \"codel\"\n");

    struct quell_queue *queue;
    if (quell_create(config, strlen(config), 0, on_drop, NULL, &queue, why, sizeof why) != QUELL_OK) {
        fprintf(stderr, "event_loop: %s\n", why);
        return 2;
    }

    uint64_t state = 1, now = 0, free_at = UINT64_MAX, sent = 0, marked = 0, refused = 0, waited = 0;
    for (int arrivals = 0; arrivals < ARRIVALS; arrivals++) {
        /* 1.2 times the rate: a mean of 667 us between packets of 1000 bytes. */
        now += next_random(&state) % 1333334;

        /* Everything that the link does before the next packet comes. */
        while (free_at <= now) {
            struct quell_sent out;
            int32_t code = quell_dequeue(queue, free_at, &out);
            check(code);
            if (code == QUELL_EMPTY) {
                free_at = UINT64_MAX;
            } else if (code == QUELL_WAIT) {
                free_at = out.not_before;
            } else {
                struct packet *packet = (struct packet *)(uintptr_t)out.handle;
                packet->ce |= out.marked;
                marked += (uint64_t)packet->ce;
                waited += free_at - out.arrived;
                sent++;
                free_at += (uint64_t)packet->size * 8 * 1000000000 / RATE;
                free(packet);
            }
        }

        struct packet *packet = malloc(sizeof *packet);
        if (packet == NULL)
            return 1;
        *packet = (struct packet){.size = 1000, .ce = 0};
        struct quell_packet meta = {
            .bytes = packet->size, .flow = next_random(&state) % 16, .ecn = arrivals % 2 ? 2 : 0, .protocol = 6};
        int32_t code = quell_enqueue(queue, now, (uint64_t)(uintptr_t)packet, &meta);
        check(code);
        if (code == QUELL_DROPPED) {
            refused++;
            free(packet);
        } else if (free_at == UINT64_MAX) {
            free_at = now; /* The link was idle. */
        }
    }

    struct quell_counters counters;
    struct quell_tally waiting;
    check(quell_count(queue, &counters));
    check(quell_waiting(queue, &waiting));
    check(quell_observe(queue, on_signal, NULL));
    uint64_t dropped = freed;
    quell_destroy(queue);
    printf("quell %s: arrived %d, sent %" PRIu64 ", marked %" PRIu64 ", refused %" PRIu64 ", dropped %" PRIu64
           ", waiting %" PRIu64 ", mean delay %" PRIu64 " us\n",
           quell_version(), ARRIVALS, sent, marked, refused, dropped, waiting.packets,
           sent ? waited / sent / 1000 : 0);
    /* Every packet went somewhere, once. */
    if (sent + refused + dropped + waiting.packets != ARRIVALS || freed - dropped != waiting.packets ||
        counters.departed.packets != sent) {
        fprintf(stderr, "event_loop: packets are missing\n");
        return 1;
    }
    return 0;
}
