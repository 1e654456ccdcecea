/* Between what shapers.py has cut out of Linux and a run that it writes to the standard input: a link, a shaper or
 * classes, and arrivals in order of time. Departures and drops go to the standard output, each with its time and the
 * packet's number. crates/queue/examples/shapers.rs reads and writes the same. KERNEL_TBF or KERNEL_HTB says what that
 * was.
 */

static struct Qdisc sch;

static void rate_of(struct psched_ratecfg *r, u64 bytes_per_second, u16 overhead, u16 mpu, u8 atm) {
    *r = (struct psched_ratecfg){.rate_bytes_ps = bytes_per_second,
                                 .overhead = overhead,
                                 .mpu = mpu,
                                 .linklayer = atm ? TC_LINKLAYER_ATM : 1};
    psched_ratecfg_precompute__(r->rate_bytes_ps, &r->mult, &r->shift);
}

/* The time of a burst, which is of bytes on the wire: tc computes it without overhead. */
static s64 time_of(const struct psched_ratecfg *r, u64 burst) {
    return (s64)(((unsigned __int128)burst * r->mult) >> r->shift);
}

static struct Qdisc *inside(unsigned limit, bool bytes) {
    struct Qdisc *q = calloc(1, sizeof *q);
    *q = (struct Qdisc){.limit = limit,
                        .enqueue = bytes ? bfifo_enqueue : pfifo_enqueue,
                        .dequeue = qdisc_dequeue_head,
                        .ops = &fifo_ops};
    return q;
}

/* The link's time for a byte, and its framing. */
static u64 byte_ns;
static unsigned overhead, mpu, atm;

#ifdef KERNEL_TBF

static struct tbf_sched_data own;

static void build(void) {
    unsigned long rate, peak, burst, mtu, limit;
    if (scanf(" shaper %lu %lu %lu %lu %lu", &rate, &burst, &peak, &mtu, &limit) != 5)
        exit(2);
    sch.own = &own;
    rate_of(&own.rate, rate, overhead, mpu, atm);
    own.buffer = time_of(&own.rate, burst);
    own.max_size = burst;
    if (peak) {
        rate_of(&own.peak, peak, overhead, mpu, atm);
        own.mtu = time_of(&own.peak, mtu);
        own.max_size = min(own.max_size, mtu);
    }
    own.tokens = own.buffer;
    own.ptokens = own.mtu;
    own.limit = limit;
    own.qdisc = inside(limit, true);
}

#define kernel_enqueue tbf_enqueue
#define kernel_dequeue tbf_dequeue

#else

static struct htb_sched own;
static struct htb_class *classes[4096];
static unsigned count;

/* In the order in which htb_change_class would set them: parents come first. */
static void build(void) {
    long parent;
    unsigned long rate, ceil, burst, cburst, prio, quantum, limit;
    sch.own = &own;
    while (scanf(" class %ld %lu %lu %lu %lu %lu %lu %lu", &parent, &rate, &ceil, &burst, &cburst, &prio, &quantum,
                 &limit) == 8) {
        struct htb_class *cl = calloc(1, sizeof *cl);
        rate_of(&cl->rate, rate, overhead, mpu, atm);
        rate_of(&cl->ceil, ceil, overhead, mpu, atm);
        cl->buffer = time_of(&cl->rate, burst);
        cl->cbuffer = time_of(&cl->ceil, cburst);
        cl->tokens = cl->buffer;
        cl->ctokens = cl->cbuffer;
        cl->mbuffer = 60LL * NSEC_PER_SEC;
        cl->prio = prio;
        cl->quantum = (int)quantum;
        cl->cmode = HTB_CAN_SEND;
        cl->common.classid = count + 1;
        RB_CLEAR_NODE(&cl->pq_node);
        for (unsigned i = 0; i < TC_HTB_NUMPRIO; i++)
            RB_CLEAR_NODE(&cl->node[i]);
        cl->leaf.q = inside(limit, false);
        if (parent >= 0) {
            struct htb_class *above = cl->parent = classes[parent];
            if (!above->level) {
                above->level = (above->parent ? above->parent->level : TC_HTB_MAXDEPTH) - 1;
                memset(&above->inner, 0, sizeof above->inner);
            }
        }
        classes[count++] = cl;
    }
    if (scanf(" direct %lu", &limit) == 1)
        own.direct_qlen = (int)limit;
}

/* A packet of the class behind the last one is of none. */
static struct htb_class *htb_classify(struct sk_buff *skb, struct Qdisc *one, int *error) {
    (void)one;
    *error = NET_XMIT_SUCCESS;
    return skb->priority < count ? classes[skb->priority] : HTB_DIRECT;
}

#define kernel_enqueue htb_enqueue
#define kernel_dequeue htb_dequeue

#endif

int main(void) {
    struct sk_buff *skb, *to_free = NULL;
    u64 now = 0, free_at = 0, arrives;
    unsigned long bytes, class;
    int64_t number = 0;
    const u64 never = UINT64_MAX;
    if (scanf(" link %lu %u %u %u", &byte_ns, &overhead, &mpu, &atm) != 4)
        return 2;
    build();
    wakes_at = never;
    for (bool more = true; more;) {
        more = scanf(" packet %lu %lu %lu", &arrives, &class, &bytes) == 3;
        /* What leaves before the arrival, or until nothing does. */
        while (sch.q.qlen && max(free_at, wakes_at) <= (more ? arrives : never - 1)) {
            clock_now = now = max(now, max(free_at, wakes_at));
            wakes_at = never;
            if ((skb = kernel_dequeue(&sch)) != NULL) {
                printf("sent %lu %ld\n", now, (long)skb->id);
                free_at = now + byte_ns * skb->len;
                wakes_at = now;
                free(skb);
            }
        }
        if (!more)
            return 0;
        clock_now = now = arrives;
        skb = calloc(1, sizeof *skb);
        *skb = (struct sk_buff){.len = (u32)bytes, .priority = (u32)class, .id = number++};
        losses = 0;
        kernel_enqueue(skb, &sch, &to_free);
        if (losses) {
            printf("dropped %lu %ld\n", now, (long)lost[0]->id);
            free(lost[0]);
        }
        /* The link asks at once if it is free. */
        if (free_at <= now)
            wakes_at = now;
    }
    return 0;
}
