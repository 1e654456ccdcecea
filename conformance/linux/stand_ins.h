/* What the queue disciplines of Linux call of the rest of the kernel, as far as a vector needs it: a clock that is told
 * the time, packets that are numbers, a list of them, and draws that are given. Written for Quell; names are the
 * kernel's, so that what kernel.py cuts out of its source compiles.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef KERNEL_CAKE
#include <arpa/inet.h>
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef s64 ktime_t;
typedef u64 psched_time_t;

#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define U64_MAX UINT64_MAX
#define BITS_PER_BYTE 8
#define __rcu

#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define typecheck(type, x) 1
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)
#define container_of(member_at, type, member) ((type *)((char *)(member_at) - offsetof(type, member)))
#define BUG() __builtin_trap()
#define prefetch(x) ((void)(x))

static inline u64 div_u64(u64 x, u32 by) {
    return x / by;
}

#define div64_u64(x, by) ((u64)(x) / (u64)(by))
#define do_div(x, by) ((x) /= (by))

/* The upper 32 bits of the product: x as a fraction of `end`. */
static inline u32 reciprocal_scale(u32 x, u32 end) {
    return (u32)((u64)x * end >> 32);
}

struct reciprocal_value {
    u32 by;
};

static inline struct reciprocal_value reciprocal_value(u32 by) {
    return (struct reciprocal_value){by};
}

static inline u32 reciprocal_divide(u32 x, struct reciprocal_value value) {
    return x / value.by;
}

/* ---- The clock. ---- */

static u64 clock_now;

static inline u64 ktime_get_ns(void) {
    return clock_now;
}

static inline ktime_t ktime_get(void) {
    return (ktime_t)clock_now;
}

#define ktime_sub(a, b) ((a) - (b))
#define ktime_add_ns(a, b) ((a) + (ktime_t)(b))
#define ktime_to_ns(a) (a)
#define ktime_before(a, b) ((a) < (b))
#define ktime_after(a, b) ((a) > (b))
#define ktime_compare(a, b) ((a) < (b) ? -1 : (a) > (b))
#define ktime_add_ms(a, ms) ((a) + (ktime_t)(ms) * NSEC_PER_MSEC)
#define KTIME_MAX INT64_MAX
#define ktime_us_delta(a, b) (((a) - (b)) / 1000)

/* Ticks of 64 ns. */
#define PSCHED_SHIFT 6
#define PSCHED_NS2TICKS(x) ((x) >> PSCHED_SHIFT)
#define PSCHED_TICKS2NS(x) ((x) << PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)

static inline psched_time_t psched_get_time(void) {
    return PSCHED_NS2TICKS(ktime_get_ns());
}

/* ---- Draws. ---- */

enum { MOST_DRAWS = 1024 };
static u64 draws[MOST_DRAWS];
static unsigned given, used;

static inline u64 draw(void) {
    u64 bits = used < given ? draws[used] : 1ULL << 63;
    used++;
    return bits;
}

static inline void get_random_bytes(void *to, size_t size) {
    u64 bits = draw();
    memcpy(to, &bits, size);
}

/* The packet at hand could not be marked, and is dropped. */
static bool unmarkable;

/* Linux 6.1 draws for COBALT's BLUE even if its CoDel has dropped the packet. That decides nothing, and takes none of
 * the event's numbers. */
static inline u32 get_random_u32(void) {
    return unmarkable ? 0 : (u32)(draw() >> 32);
}

#define prandom_u32 get_random_u32

/* ---- Packets. ---- */

enum { NOT_ECT, ECT1, ECT0, CE };

struct sk_buff {
    struct sk_buff *next;
    u32 len, truesize, priority, mark;
    int64_t id;
    u8 ecn;
    bool marked;
    unsigned char *end;
    long cb[10];
    /* The headers of IP and TCP, behind that of the link if sizes count it. */
    _Alignas(4) u8 header[128];
};

static inline bool INET_ECN_set_ce(struct sk_buff *skb) {
    unmarkable = skb->ecn == NOT_ECT;
    if (unmarkable)
        return false;
    skb->marked |= skb->ecn != CE;
    skb->ecn = CE;
    return true;
}

static inline int skb_get_dsfield(const struct sk_buff *skb) {
    return skb->ecn;
}

static inline u32 qdisc_pkt_len(const struct sk_buff *skb) {
    return skb->len;
}

#define skb_mark_not_on_list(skb) ((skb)->next = NULL)
#define is_skb_wmem(skb) false
#define skb_get_hash(skb) 0

struct qdisc_skb_cb {
    long data[8];
    u32 pkt_len;
};

#define qdisc_skb_cb(skb) ((struct qdisc_skb_cb *)(skb)->cb)
#define qdisc_cb_private_validate(skb, size) _Static_assert(sizeof((skb)->cb) >= (size), "a packet has room for it")

/* ---- What was dropped at this event, and freed. ---- */

enum { MOST = 4096 };
static struct sk_buff *lost[MOST];
static unsigned losses;

static inline void lose(struct sk_buff *skb) {
    if (losses < MOST)
        lost[losses++] = skb;
    unmarkable = false;
}

enum qdisc_drop_reason {
    QDISC_DROP_UNSPEC,
    QDISC_DROP_CONGESTED,
    QDISC_DROP_OVERLIMIT,
    QDISC_DROP_FLOOD_PROTECTION
};

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define NET_XMIT_CN 2
#define __NET_XMIT_STOLEN 0x10000
#define __NET_XMIT_BYPASS 0x20000
#define net_xmit_drop_count(ret) ((ret) & __NET_XMIT_STOLEN ? 0 : 1)

/* ---- A queue discipline, with a FIFO. ---- */

struct fifo {
    struct sk_buff *head, *tail;
    u32 qlen;
};

struct Qdisc;
struct Qdisc_ops {
    struct sk_buff *(*peek)(struct Qdisc *sch);
};

struct Qdisc {
    struct fifo q;
    struct {
        u32 backlog, drops, overlimits;
    } qstats;
    u32 limit, handle, flags;
    void *own;
    /* Those of a queue inside another. */
    int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
    struct sk_buff *(*dequeue)(struct Qdisc *sch);
    const struct Qdisc_ops *ops;
};

#define qdisc_priv(sch) ((sch)->own)
#define qdisc_qlen(sch) ((sch)->q.qlen)
#define qdisc_dev(sch) NULL
/* An Ethernet frame of the usual size. */
#define psched_mtu(dev) 1514
#define qdisc_qlen_inc(sch) ((sch)->q.qlen++)
#define qdisc_qlen_dec(sch) ((sch)->q.qlen--)
#define qstats_backlog_add(sch, size) ((sch)->qstats.backlog += (size))
#define qstats_backlog_sub(sch, size) ((sch)->qstats.backlog -= (size))
#define qdisc_qstats_backlog_inc(sch, skb) qstats_backlog_add(sch, qdisc_pkt_len(skb))
#define qdisc_qstats_backlog_dec(sch, skb) qstats_backlog_sub(sch, qdisc_pkt_len(skb))
#define qdisc_qstats_drop(sch) ((sch)->qstats.drops++)
#define __qdisc_qstats_drop(sch, count) ((sch)->qstats.drops += (count))
#define qdisc_qstats_overlimit(sch) ((sch)->qstats.overlimits++)
#define qdisc_bstats_update(sch, skb) ((void)(skb))
#define qdisc_tree_reduce_backlog(sch, packets, bytes) ((void)(packets), (void)(bytes))
#define tcf_set_qdisc_drop_reason(skb, reason) ((void)(reason))
#define __qdisc_drop(skb, to_free) lose(skb)
#define kfree_skb(skb) lose(skb)
#define consume_skb(skb) lose(skb)
#define qdisc_dequeue_drop(sch, skb, reason) lose(skb)

static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free) {
    (void)to_free;
    qdisc_qstats_drop(sch);
    lose(skb);
    return NET_XMIT_DROP;
}

#define qdisc_drop_reason(skb, sch, to_free, reason) ((void)(reason), qdisc_drop(skb, sch, to_free))

static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch) {
    skb->next = NULL;
    if (sch->q.head)
        sch->q.tail->next = skb;
    else
        sch->q.head = skb;
    sch->q.tail = skb;
    sch->q.qlen++;
    qdisc_qstats_backlog_inc(sch, skb);
    return NET_XMIT_SUCCESS;
}

static inline struct sk_buff *__qdisc_dequeue_head(struct fifo *q) {
    struct sk_buff *skb = q->head;
    if (skb) {
        q->head = skb->next;
        q->qlen--;
        skb->next = NULL;
    }
    return skb;
}

static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch) {
    struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);
    if (skb)
        qdisc_qstats_backlog_dec(sch, skb);
    return skb;
}

/* ---- Lists. ---- */

struct list_head {
    struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list) {
    list->next = list->prev = list;
}

static inline bool list_empty(const struct list_head *list) {
    return list->next == list;
}

static inline void list_add_tail(struct list_head *one, struct list_head *list) {
    one->next = list;
    one->prev = list->prev;
    list->prev->next = one;
    list->prev = one;
}

static inline void list_del_init(struct list_head *one) {
    one->next->prev = one->prev;
    one->prev->next = one->next;
    INIT_LIST_HEAD(one);
}

static inline void list_move_tail(struct list_head *one, struct list_head *list) {
    list_del_init(one);
    list_add_tail(one, list);
}

#define list_first_entry(list, type, member) container_of((list)->next, type, member)

/* ---- What glue.c has in the place of the kernel's. ---- */

struct timer_list {
    int unused;
};

#define usecs_to_jiffies(x) ((u32)(x))

#ifdef KERNEL_FQ_CODEL
static unsigned fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *ret);
#endif
#ifdef KERNEL_PIE
struct pie_vars;
static void pie_vars_init(struct pie_vars *vars);
#endif

/* ---- What CAKE looks at and is told: numbers of tc, headers, and no offloads. ---- */

#ifdef KERNEL_CAKE

enum { CAKE_FLOW_NONE, CAKE_FLOW_SRC_IP, CAKE_FLOW_DST_IP, CAKE_FLOW_HOSTS, CAKE_FLOW_FLOWS };
enum { CAKE_FLOW_DUAL_SRC = 5, CAKE_FLOW_DUAL_DST, CAKE_FLOW_TRIPLE };
enum { CAKE_DIFFSERV_DIFFSERV3, CAKE_DIFFSERV_DIFFSERV4, CAKE_DIFFSERV_DIFFSERV8, CAKE_DIFFSERV_BESTEFFORT };
enum { CAKE_DIFFSERV_PRECEDENCE = 4 };
enum { CAKE_ACK_NONE, CAKE_ACK_FILTER, CAKE_ACK_AGGRESSIVE };
enum { CAKE_ATM_NONE, CAKE_ATM_ATM, CAKE_ATM_PTM };

struct cake_flow;
struct cake_tin_data;
struct cake_sched_data;
static u16 cake_get_flow_quantum(struct cake_tin_data *q, struct cake_flow *flow, int flow_mode);
static void cake_heapify(struct cake_sched_data *q, u16 i);
static u32 cake_overhead(struct cake_sched_data *q, const struct sk_buff *skb);
static u32 cake_classify(struct Qdisc *sch, struct cake_tin_data **t, struct sk_buff *skb, int flow_mode, int *err);

#define BIT(n) (1U << (n))
#define TC_H_MAJ(handle) ((handle) & 0xFFFF0000U)
#define TC_H_MIN(handle) ((handle) & 0x0000FFFFU)
#define TCQ_F_CAN_BYPASS 0

/* The time at which the kernel would ask again. */
struct qdisc_watchdog {
    int unused;
};
static int64_t wakes;
#define qdisc_watchdog_schedule_ns(watchdog, ns) (wakes = (int64_t)(ns))

typedef u64 netdev_features_t;
#define NETIF_F_GSO_MASK 0ULL
#define netif_skb_features(skb) 0ULL
#define skb_is_gso(skb) false
#define skb_gso_segment(skb, features) ((void)(features), (struct sk_buff *)NULL)
#define IS_ERR_OR_NULL(skb) ((skb) == NULL)
#define skb_list_walk_safe(first, skb, after) for ((skb) = (first); (skb) && ((after) = (skb)->next, true); (skb) = (after))

typedef u16 __be16;
typedef u32 __be32;
#define cpu_to_be32(x) htonl(x)
/* The library's is no constant for a case. */
#undef htons
#define htons(x) ((u16)__builtin_bswap16((u16)(x)))

static inline u32 get_unaligned_be32(const void *at) {
    u32 x;
    memcpy(&x, at, sizeof x);
    return ntohl(x);
}

static u32 network_offset;
#define skb_network_offset(skb) ((int)network_offset)
#define skb_header_pointer(skb, offset, size, buffer) ((void)(buffer), (void *)((skb)->header + (offset)))
#define pskb_may_pull(skb, size) true
#define skb_try_make_writable(skb, size) 0
#define skb_protocol(skb, skips_vlan) htons(ETH_P_IP)
enum { ETH_P_IP = 0x0800, ETH_P_ARP = 0x0806, ETH_P_IPV6 = 0x86DD, INET_ECN_MASK = 3 };

/* Bit fields of a machine whose lowest byte is the first. */
struct iphdr {
    u8 ihl : 4, version : 4;
    u8 tos;
    __be16 tot_len, id, frag_off;
    u8 ttl, protocol;
    u16 check;
    __be32 saddr, daddr;
};

struct ipv6hdr {
    u8 priority : 4, version : 4;
    u8 flow_lbl[3];
    __be16 payload_len;
    u8 nexthdr, hop_limit;
    struct in6_addr saddr, daddr;
};

#define ip_hdr(skb) ((struct iphdr *)((skb)->header + network_offset))
#define ipv6_hdr(skb) ((struct ipv6hdr *)((skb)->header + network_offset))
#define iph_totlen(skb, iph) ntohs((iph)->tot_len)
#define ipv4_get_dsfield(iph) ((iph)->tos)
#define ipv4_change_dsfield(iph, mask, value) ((iph)->tos = (u8)(((iph)->tos & (mask)) | (value)))
#define ipv6_get_dsfield(iph) ((u8)((iph)->priority << 4))
#define ipv6_change_dsfield(iph, mask, value) ((void)(iph))
#define ipv6_addr_cmp(a, b) memcmp(a, b, sizeof(struct in6_addr))

struct tcphdr {
    __be16 source, dest;
    __be32 seq, ack_seq;
    u8 res1 : 4, doff : 4;
    u8 flags;
    __be16 window, check, urg_ptr;
};

struct tcp_sack_block_wire {
    __be32 start_seq, end_seq;
};

static inline u32 tcp_flag_word(const struct tcphdr *tcp) {
    u32 word;
    memcpy(&word, (const u8 *)tcp + 12, sizeof word);
    return word;
}

#define __tcp_hdrlen(tcp) ((tcp)->doff * 4U)
#define TCP_FLAG_CWR htonl(0x00800000)
#define TCP_FLAG_ECE htonl(0x00400000)
#define TCP_FLAG_ACK htonl(0x00100000)
#define TCP_FLAG_SYN htonl(0x00020000)
enum { TCPOPT_EOL, TCPOPT_NOP, TCPOPT_MSS, TCPOPT_WINDOW, TCPOPT_SACK_PERM, TCPOPT_SACK, TCPOPT_TIMESTAMP = 8 };
enum { TCPOPT_MD5SIG = 19, TCPOPT_FASTOPEN = 34, TCPOPT_EXP = 254, TCPOLEN_TIMESTAMP = 10, TCPOLEN_SACK_BASE = 2 };

static inline bool before(u32 a, u32 b) {
    return (int32_t)(a - b) < 0;
}

#define after(a, b) before(b, a)

#endif
