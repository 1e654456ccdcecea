/* What the adaptors in C share: the lines of the protocol, and a FIFO.
 *
 * Lines are read by looking for keys, which is enough for the lines of the runner: it writes no spaces, and the keys
 * looked for occur once in an event. Another program would take a JSON library.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, LINE = 1 << 16, MOST_DRAWS = 16 };

typedef struct {
    int64_t arrived;
    long id, bytes;
    bool capable, ce;
} packet;

/* The FIFO. */
static packet ring[MOST];
static unsigned head, waiting;
static long backlog;
static double buffer_packets, buffer_bytes;
static bool marks;

/* The draws of the event at hand. */
static double draws[MOST_DRAWS];
static int given, used;

static inline const char *after(const char *line, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static inline double number(const char *line, const char *key, double otherwise) {
    const char *at = after(line, key);
    return at && strncmp(at, "null", 4) != 0 ? strtod(at, NULL) : otherwise;
}

static inline int64_t integer(const char *line, const char *key) {
    const char *at = after(line, key);
    return at ? strtoll(at, NULL, 10) : 0;
}

static inline bool is(const char *line, const char *key, const char *value) {
    const char *at = after(line, key);
    return at && strncmp(at, value, strlen(value)) == 0;
}

static inline int64_t nanoseconds(double seconds) {
    return (int64_t)(seconds * 1e9 + 0.5);
}

static inline bool pop(packet *out) {
    if (waiting == 0)
        return false;
    *out = ring[head];
    head = (head + 1) % MOST;
    waiting--;
    backlog -= out->bytes;
    return true;
}

/* The buffer of the header, and whether its queue marks. */
static inline void configure_buffer(const char *line, const char *link) {
    marks = is(line, "ecn", "true");
    buffer_packets = floor(number(link, "packets", HUGE_VAL));
    buffer_bytes = floor(number(link, "bytes", HUGE_VAL));
}

static inline bool has_room(const packet *p) {
    return waiting < buffer_packets && backlog + p->bytes <= buffer_bytes && waiting < MOST;
}

static inline packet arrival(int64_t now, const char *line) {
    return (packet){.arrived = now,
                    .id = (long)integer(line, "id"),
                    .bytes = (long)integer(line, "bytes"),
                    .capable = marks && after(line, "ecn"),
                    .ce = is(line, "ecn", "\"ce\"")};
}

static inline void push(packet p) {
    ring[(head + waiting++) % MOST] = p;
    backlog += p.bytes;
}

static inline void read_draws(const char *line) {
    given = used = 0;
    const char *at = after(line, "draws");
    for (at = at ? at + 1 : NULL; at && *at != ']' && given < MOST_DRAWS; at += *at == ',') {
        char *end;
        draws[given++] = strtod(at, &end);
        at = end;
    }
}
