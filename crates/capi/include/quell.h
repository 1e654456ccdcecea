// Quell: queues with active queue management, for programs in C.
//
// The caller owns the packets and knows each by a 64-bit handle; Quell says in which order they leave, and which are
// marked and dropped. Times are nanoseconds of any clock that does not go back. Nothing allocates between
// quell_create and quell_destroy. A queue is used by one thread at a time. Errors are negative.
//
// Made by cbindgen from crates/capi/src/lib.rs: QUELL_UPDATE_DOCS=1 cargo test -p quell-capi --test all header::


#ifndef QUELL_H
#define QUELL_H

#include <stddef.h>
#include <stdint.h>

// The arrival waits in the queue.
#define QUELL_QUEUED 0

// The arrival waits in the queue, and its ECN field must become CE; quell_sent says so again.
#define QUELL_MARKED 1

// The arrival is dropped: it is the caller's again, and on_drop is not called for it.
#define QUELL_DROPPED 2

// quell_dequeue gave a packet.
#define QUELL_SENT 0

// Nothing waits.
#define QUELL_EMPTY 1

// Something waits, but nothing may be sent before not_before unless another packet arrives.
#define QUELL_WAIT 2

// Done.
#define QUELL_OK 0

// A pointer is null that must not be.
#define QUELL_ERROR_NULL -1

// A value is outside its range.
#define QUELL_ERROR_VALUE -2

// The time is before that of an earlier call, or more than an hour after an update that is due: call
// quell_update with times in between.
#define QUELL_ERROR_TIME -3

// The configuration breaks a rule, which the text names.
#define QUELL_ERROR_CONFIG -4

// A callback called a function of its own queue.
#define QUELL_ERROR_BUSY -5

// A defect of Quell: the queue decides nothing any more, and can only be destroyed.
#define QUELL_ERROR_DEFECT -6

// Dropped by chance, to slow the senders down before the queue is full.
#define QUELL_CAUSE_EARLY 0

// Dropped because a hard limit of the algorithm was passed.
#define QUELL_CAUSE_FORCED 1

// Dropped because the buffer was full.
#define QUELL_CAUSE_OVERFLOW 2

// Still in a queue that was destroyed.
#define QUELL_CAUSE_DESTROYED 3

// No time: nothing is due.
#define QUELL_NEVER UINT64_MAX

// A queue.
typedef struct quell_queue quell_queue;

// Takes back a packet that had been stored: it was dropped, or its queue destroyed. It must not call
// functions of the same queue (QUELL_ERROR_BUSY), and must return. The cause is one of QUELL_CAUSE_*.
typedef void (*quell_on_drop)(void *user, uint64_t handle, int32_t cause);

// A packet, as far as Quell may know it.
typedef struct quell_packet {
  // Its size on the wire in bytes: smallest_packet to 65535.
  uint32_t bytes;
  // Its flow: any number that packets of one flow share, such as a hash of addresses and ports.
  uint32_t flow;
  // The ECN field of its IP header: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
  uint8_t ecn;
  // The protocol of its IP header: 6 TCP, 17 UDP.
  uint8_t protocol;
  // The DSCP of its IP header, 0 to 63.
  uint8_t dscp;
  // 1 if it is a TCP SYN; 0 otherwise, and where nobody looks.
  uint8_t syn;
} quell_packet;

// The result of quell_dequeue.
typedef struct quell_sent {
  // The packet's handle, with QUELL_SENT.
  uint64_t handle;
  // The time at which it arrived, with QUELL_SENT.
  uint64_t arrived;
  // The time at which to ask again, with QUELL_WAIT.
  uint64_t not_before;
  // 1 if its ECN field must say CE and did not when it arrived, with QUELL_SENT.
  int32_t marked;
} quell_sent;

// A number of packets and their bytes.
typedef struct quell_tally {
  // Packets.
  uint64_t packets;
  // Their bytes.
  uint64_t bytes;
} quell_tally;

// Counts of what happened at a queue (RFC 9332 section 2.5.2.2): arrived = enqueued + the refused ones, and
// enqueued = departed + the dropped ones + what waits.
typedef struct quell_counters {
  // Packets that came.
  struct quell_tally arrived;
  // Packets among them that were CE already.
  struct quell_tally arrived_ce;
  // Packets that were stored.
  struct quell_tally enqueued;
  // Packets that left for the link.
  struct quell_tally departed;
  // Packets that were marked here.
  struct quell_tally marked;
  // Packets dropped on arrival by the algorithm, by chance.
  struct quell_tally refused_early;
  // Packets dropped on arrival by a hard limit of the algorithm.
  struct quell_tally refused_forced;
  // Packets dropped on arrival because the buffer was full.
  struct quell_tally refused_overflow;
  // Packets dropped at the head by the algorithm.
  struct quell_tally dropped_early;
  // Packets dropped at the head by a hard limit.
  struct quell_tally dropped_forced;
  // Packets that waited and made room for an arrival.
  struct quell_tally dropped_overflow;
} quell_counters;

// Takes one internal signal of the algorithm: its name in the paper, its unit, its value. The texts live
// until it returns.
typedef void (*quell_on_signal)(void *user, const char *name, const char *unit, double value);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a queue, whose life begins at `now`.
//
// `config` is TOML, or JSON if it begins with a brace, of `length` bytes: rate = "10 Mbit/s", buffer = "100
// packets", and the table aqm with the key algorithm and its parameters as in a scenario (`quell aqm
// describe NAME`). It may say mean_packet (1000 B), smallest_packet (20 B), ecn (false) and seed (1).
//
// `on_drop` takes back packets that were stored and are dropped; `user` is its first argument.
//
// Gives QUELL_OK and the queue in `*queue`, or an error and a null in `*queue`; what is wrong is then
// written to `error`, of `error_size` bytes, unless that is null.
//
// `config` points to `length` bytes, `queue` to a pointer, `error` to `error_size` bytes or is null.
int32_t quell_create(const char *config,
                     size_t length,
                     uint64_t now,
                     quell_on_drop on_drop,
                     void *user,
                     struct quell_queue **queue,
                     char *error,
                     size_t error_size);

// Destroys a queue. Packets that wait are given to on_drop with QUELL_CAUSE_DESTROYED. A null is ignored.
//
// `queue` is null or came from quell_create, and is not used afterwards, nor by on_drop.
void quell_destroy(struct quell_queue *queue);

// A packet arrives at `now`, which the caller knows by `handle`.
//
// Gives QUELL_QUEUED, QUELL_MARKED or QUELL_DROPPED, or an error, with which the packet is the caller's.
// Packets that make room for it are given to on_drop.
//
// `queue` came from quell_create, `packet` points to one.
int32_t quell_enqueue(struct quell_queue *queue,
                      uint64_t now,
                      uint64_t handle,
                      const struct quell_packet *packet);

// The link is free at `now`: gives QUELL_SENT with the packet to send in `*sent`, QUELL_EMPTY or QUELL_WAIT,
// or an error. Packets that the algorithm drops at the head are given to on_drop first. With QUELL_EMPTY the
// link is idle from `now` on.
//
// `queue` came from quell_create, `sent` points to one.
int32_t quell_dequeue(struct quell_queue *queue, uint64_t now, struct quell_sent *sent);

// The last transmission ended at `since`, and nothing waits. quell_dequeue with QUELL_EMPTY says the same of
// its own time; a caller that asks for packets before the last one has left says here when it has.
//
// `queue` came from quell_create.
int32_t quell_idle(struct quell_queue *queue, uint64_t since);

// Runs every update that is due at `now` or before. Arrivals and departures do so by themselves; a caller
// with neither calls it once a second, so that no later call has much to make up for.
//
// `queue` came from quell_create.
int32_t quell_update(struct quell_queue *queue, uint64_t now);

// The time at which the algorithm's next update is due; QUELL_NEVER if it has none, and for a null.
//
// `queue` is null or came from quell_create.
uint64_t quell_next_update(const struct quell_queue *queue);

// The link's rate is `rate` bit/s from now on.
//
// `queue` came from quell_create.
int32_t quell_set_rate(struct quell_queue *queue, uint64_t rate);

// Tells what waits: packets and bytes.
//
// `queue` came from quell_create, `waiting` points to a tally.
int32_t quell_waiting(const struct quell_queue *queue, struct quell_tally *waiting);

// Counts what happened at the queue so far.
//
// `queue` came from quell_create, `counters` points to some.
int32_t quell_count(const struct quell_queue *queue, struct quell_counters *counters);

// Hands the internal signals of the algorithm to `on_signal`, one after the other, with `user` as its first
// argument.
//
// `queue` came from quell_create; `on_signal` takes `user`.
int32_t quell_observe(const struct quell_queue *queue, quell_on_signal on_signal, void *user);

// The meaning of a code in words. The text lives as long as the program.
const char *quell_error(int32_t code);

// Quell's version, such as "0.1.0". The text lives as long as the program.
const char *quell_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QUELL_H */
