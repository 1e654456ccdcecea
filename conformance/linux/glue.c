/* Between the runner's events and what kernel.py has cut out of Linux, which comes before this text in one translation
 * unit. One of KERNEL_CODEL, KERNEL_FQ_CODEL, KERNEL_PIE, KERNEL_COBALT, KERNEL_CAKE and KERNEL_RED says what that is.
 */

/* kernel.py has the same fields in the same order. */
struct config {
    int64_t limit_packets, limit_bytes, ecn;
    int64_t target, interval, ce_threshold, ce_ect1, mtu;
    int64_t flows, quantum, limit, memory, batch;
    int64_t alpha, beta, max_burst;
    int64_t mtu_time, p_inc, p_dec;
    int64_t low, high, weight_log, slope_log, packet_ns;
    int64_t rate, rtt, diffserv, isolation, overhead, mpu, framing, header, ingress, wash, ack_filter, autorate;
};

struct outcome {
    int64_t id, marked, drops, used;
    int64_t dropped[MOST];
    int64_t not_before;
    double signals[80];
};

static struct config config;
static struct Qdisc qdisc;
static struct sk_buff memory[1 << 16];
/* The number of the queue that an arrival is to go to. */
static unsigned queue_of_arrival;

static bool has_room(const struct sk_buff *skb) {
    return qdisc.q.qlen < config.limit_packets && qdisc.qstats.backlog + skb->len <= config.limit_bytes;
}

#if defined(KERNEL_CODEL) || defined(KERNEL_FQ_CODEL)

static void codel_start(struct codel_params *params) {
    codel_params_init(params);
    params->target = (codel_time_t)(config.target >> CODEL_SHIFT);
    params->interval = (codel_time_t)(config.interval >> CODEL_SHIFT);
    if (config.ce_threshold >= 0)
        params->ce_threshold = (codel_time_t)(config.ce_threshold >> CODEL_SHIFT);
    if (config.ce_ect1) {
        params->ce_threshold_mask = CE;
        params->ce_threshold_selector = ECT1;
    }
    params->ecn = config.ecn;
    params->mtu = (u32)(config.mtu < 0 ? 0 : config.mtu);
}

/* Without an MTU of the interface's it is the largest packet so far. */
static void codel_sees(struct codel_params *params, const struct sk_buff *skb) {
    if (config.mtu < 0)
        params->mtu = max(params->mtu, skb->len);
}

#endif

#ifdef KERNEL_CODEL

static struct codel_sched_data own;

static void start(void) {
    codel_start(&own.params);
    codel_vars_init(&own.vars);
    codel_stats_init(&own.stats);
}

static void arrive(struct sk_buff *skb) {
    codel_sees(&own.params, skb);
    codel_qdisc_enqueue(skb, &qdisc, NULL);
}

static struct sk_buff *depart(void) {
    return codel_qdisc_dequeue(&qdisc);
}

static void update(void) {
}

static void idle(void) {
    depart();
}

static void observe(double *signals) {
    signals[0] = own.vars.count;
    signals[1] = own.vars.dropping;
}

#elif defined(KERNEL_FQ_CODEL)

static struct fq_codel_sched_data own;

static void start(void) {
    static struct fq_codel_flow flows[1 << 16];
    static u32 backlogs[1 << 16];
    own.flows = flows;
    own.backlogs = backlogs;
    own.flows_cnt = (u32)config.flows;
    own.quantum = (u32)config.quantum;
    own.drop_batch_size = (u32)config.batch;
    own.memory_limit = (u32)min(config.memory, UINT32_MAX);
    qdisc.limit = (u32)min(config.limit, config.limit_packets);
    codel_start(&own.cparams);
    codel_stats_init(&own.cstats);
    INIT_LIST_HEAD(&own.new_flows);
    INIT_LIST_HEAD(&own.old_flows);
    for (u32 i = 0; i < own.flows_cnt; i++) {
        INIT_LIST_HEAD(&flows[i].flowchain);
        codel_vars_init(&flows[i].cvars);
    }
}

/* Instead of the kernel's hash; 0 is none. */
static unsigned fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *ret) {
    (void)skb;
    (void)sch;
    *ret = NET_XMIT_SUCCESS;
    return queue_of_arrival + 1;
}

static void arrive(struct sk_buff *skb) {
    codel_sees(&own.cparams, skb);
    fq_codel_enqueue(skb, &qdisc, NULL);
}

static struct sk_buff *depart(void) {
    return fq_codel_dequeue(&qdisc);
}

static void update(void) {
}

static void idle(void) {
    depart();
}

static void observe(double *signals) {
    (void)signals;
}

#elif defined(KERNEL_PIE)

static struct pie_sched_data own;

/* The kernel's has 150 ms for the burst allowance, which no setting changes. */
static void pie_vars_init(struct pie_vars *vars) {
    kernel_pie_vars_init(vars);
    vars->burst_time = PSCHED_NS2TICKS(config.max_burst);
}

static void start(void) {
    pie_params_init(&own.params);
    own.params.target = PSCHED_NS2TICKS(config.target);
    own.params.alpha = (u32)config.alpha;
    own.params.beta = (u32)config.beta;
    own.params.ecn = config.ecn;
    pie_vars_init(&own.vars);
}

static void arrive(struct sk_buff *skb) {
    pie_qdisc_enqueue(skb, &qdisc, NULL);
}

static struct sk_buff *depart(void) {
    return pie_qdisc_dequeue(&qdisc);
}

static void update(void) {
    pie_calculate_probability(&own.params, &own.vars, qdisc.qstats.backlog);
}

static void idle(void) {
    depart();
}

static void observe(double *signals) {
    signals[0] = (double)own.vars.prob / MAX_PROB;
    signals[1] = (double)PSCHED_TICKS2NS(own.vars.qdelay_old) / 1e9;
    signals[2] = (double)PSCHED_TICKS2NS(own.vars.burst_time) / 1e9;
    signals[3] = (double)own.vars.accu_prob / MAX_PROB;
}

#elif defined(KERNEL_COBALT)

static struct cobalt_params params;
static struct cobalt_vars vars;

static void start(void) {
    params = (struct cobalt_params){.interval = (u64)config.interval,
                                    .target = (u64)config.target,
                                    .mtu_time = (u64)config.mtu_time,
                                    .p_inc = (u32)config.p_inc,
                                    .p_dec = (u32)config.p_dec};
    cobalt_vars_init(&vars);
}

static void arrive(struct sk_buff *skb) {
    cobalt_set_enqueue_time(skb, ktime_get());
    if (has_room(skb)) {
        qdisc_enqueue_tail(skb, &qdisc);
    } else {
        cobalt_queue_full(&vars, &params, ktime_get());
        lose(skb);
    }
}

static void idle(void) {
    cobalt_queue_empty(&vars, &params, ktime_get());
}

/* The loop of CAKE: the last packet of a queue is sent, whatever was decided. */
static struct sk_buff *depart(void) {
    struct sk_buff *skb;
    while ((skb = qdisc_dequeue_head(&qdisc)) != NULL) {
        unmarkable = false;
        if (!cobalt_should_drop(&vars, &params, ktime_get(), skb, 0) || !qdisc.q.head)
            return skb;
        lose(skb);
    }
    idle();
    return NULL;
}

static void update(void) {
}

static void observe(double *signals) {
    signals[0] = vars.p_drop / 4294967296.0;
    signals[1] = vars.dropping;
    signals[2] = vars.count;
}

#elif defined(KERNEL_CAKE)

static struct cake_sched_data own;

/* What kernel_describe has said of the next arrival. */
struct description {
    int64_t flow, dscp, protocol, source, destination;
    int64_t data, number, flags, has_stamps, stamps[2], blocks[3][2];
};
static struct description described;

/* The kernel's moves an entry down by one level: it goes on with the backlog of the one that has moved up. So the queue
 * that pays is not always the fattest there. This one moves it all the way. */
static void cake_heapify(struct cake_sched_data *q, u16 i) {
    for (u32 fat = i;; i = (u16)fat) {
        for (u32 child = 2 * i + 1; child <= 2 * i + 2u && child < CAKE_MAX_TINS * CAKE_QUEUES; child++)
            if (cake_heap_get_backlog(q, (u16)child) > cake_heap_get_backlog(q, (u16)fat))
                fat = child;
        if (fat == i)
            return;
        cake_heap_swap(q, i, (u16)fat);
    }
}

/* Kernels that compute their table of roots take few steps to those of 2 and 3: 0.06% of the interval. Later ones have a
 * table of exact ones, as the vectors. */
static void exact_roots(void) {
#ifdef HAS_cobalt_cache_init
    for (u32 count = 2; count < REC_INV_SQRT_CACHE; count++) {
        u32 root = 0;
        for (u32 bit = 1U << 31; bit; bit >>= 1)
            if ((unsigned __int128)(root | bit) * (root | bit) * count <= (unsigned __int128)UINT32_MAX * UINT32_MAX)
                root |= bit;
        cobalt_rec_inv_sqrt_cache[count] = root;
    }
#endif
}

static void start(void) {
    static struct cake_tin_data tins[CAKE_MAX_TINS];
    own.tins = tins;
    own.tin_mode = (u16)config.diffserv;
    own.flow_mode = (u8)config.isolation;
    own.ack_filter = (u8)config.ack_filter;
    own.atm_mode = (u8)config.framing;
    own.rate_bps = own.avg_peak_bandwidth = (u64)config.rate;
    own.interval = (u64)config.rtt / NSEC_PER_USEC;
    own.target = own.interval / 20;
    own.rate_overhead = (s16)config.overhead;
    own.rate_mpu = (u16)config.mpu;
    own.rate_flags = (u16)((config.overhead ? CAKE_FLAG_OVERHEAD : 0) | (config.ingress ? CAKE_FLAG_INGRESS : 0) |
                           (config.wash ? CAKE_FLAG_WASH : 0) | (config.autorate ? CAKE_FLAG_AUTORATE_INGRESS : 0));
    network_offset = (u32)config.header;
    /* Its limit is one of memory: a packet takes its bytes, or 1 of a buffer of packets. */
    own.buffer_config_limit = (u32)min(config.limit_packets, config.limit_bytes);
    for (int tin = 0, place = 0; tin < CAKE_MAX_TINS; tin++) {
        INIT_LIST_HEAD(&tins[tin].new_flows);
        INIT_LIST_HEAD(&tins[tin].old_flows);
        INIT_LIST_HEAD(&tins[tin].decaying_flows);
        for (int i = 0; i < CAKE_QUEUES; i++, place++) {
            INIT_LIST_HEAD(&tins[tin].flows[i].flowchain);
            cobalt_vars_init(&tins[tin].flows[i].cvars);
            own.overflow_heap[place] = (struct cake_heap_entry){.t = (u16)tin, .b = (u16)i};
            tins[tin].overflow_idx[i] = (u16)place;
        }
    }
    exact_roots();
    qdisc.limit = 10240;
    cake_reconfigure(&qdisc);
}

/* A turn is a quantum over the load of the host. The kernel draws for the rounding of each, and loses a part of 65536;
 * here, as in the vectors, only a load above 1 needs a draw. */
static u16 cake_get_flow_quantum(struct cake_tin_data *q, struct cake_flow *flow, int flow_mode) {
    u16 load = 1;
    if (cake_dsrc(flow_mode))
        load = max(load, q->hosts[flow->srchost].srchost_bulk_flow_count);
    if (cake_ddst(flow_mode))
        load = max(load, q->hosts[flow->dsthost].dsthost_bulk_flow_count);
    return load == 1 ? q->flow_quantum : (u16)((double)q->flow_quantum / load + (double)draw() / 18446744073709551616.0);
}

/* Without super-packets. */
static u32 cake_overhead(struct cake_sched_data *q, const struct sk_buff *skb) {
    return cake_calc_overhead(q, qdisc_pkt_len(skb), network_offset);
}

/* Instead of the kernel's hashes: the tin by its own rules, and the queue of the vector. A host that nobody knows is the
 * flow's own. */
static u32 cake_classify(struct Qdisc *sch, struct cake_tin_data **t, struct sk_buff *skb, int flow_mode, int *err) {
    *t = cake_select_tin(sch, skb);
    if (*t != own.tins + queue_of_arrival / CAKE_QUEUES)
        BUG();
    struct cake_flow *flow = (*t)->flows + queue_of_arrival % CAKE_QUEUES;
    if (!flow->set) {
        int64_t unknown = CAKE_QUEUES / 2 + described.flow;
        flow->srchost = (u16)(described.source ? described.source : unknown);
        flow->dsthost = (u16)(described.destination ? described.destination : unknown);
    }
    (void)flow_mode;
    *err = NET_XMIT_SUCCESS;
    return queue_of_arrival % CAKE_QUEUES + 1;
}

static u8 *put32(u8 *at, int64_t x) {
    u32 word = htonl((u32)x);
    memcpy(at, &word, sizeof word);
    return at + sizeof word;
}

static void write_header(struct sk_buff *skb) {
    struct tcphdr *tcp = (struct tcphdr *)(skb->header + network_offset + sizeof(struct iphdr));
    u8 *option = (u8 *)(tcp + 1);
    if (described.has_stamps) {
        memcpy(option, (u8[]){TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP, TCPOLEN_TIMESTAMP}, 4);
        option = put32(put32(option + 4, described.stamps[0]), described.stamps[1]);
    }
    u8 *sack = option;
    for (int i = 0; i < 3; i++) {
        const int64_t *block = described.blocks[i];
        if (block[0] != block[1])
            option = put32(put32(option == sack ? option + 4 : option, block[0]), block[1]);
    }
    if (option != sack)
        memcpy(sack, (u8[]){TCPOPT_NOP, TCPOPT_NOP, TCPOPT_SACK, (u8)(option - sack - 2)}, 4);
    tcp->source = htons((u16)(1000 + described.flow));
    tcp->ack_seq = htonl((u32)described.number);
    tcp->flags = (u8)(0x10 | described.flags);
    tcp->doff = (u8)((option - (u8 *)tcp) / 4);
    *ip_hdr(skb) = (struct iphdr){
        .ihl = 5, .version = 4, .tos = (u8)(described.dscp << 2), .protocol = (u8)described.protocol,
        .tot_len = htons((u16)(option - (u8 *)ip_hdr(skb) + described.data))};
}

static void arrive(struct sk_buff *skb) {
    if (config.limit_packets < config.limit_bytes)
        skb->truesize = 1;
    write_header(skb);
    cake_enqueue(skb, &qdisc, NULL);
    if (config.wash && ip_hdr(skb)->tos >> 2)
        BUG();
}

static struct sk_buff *depart(void) {
    return cake_dequeue(&qdisc);
}

static void update(void) {
}

static void idle(void) {
    depart();
}

/* Of each tin what tc shows, in its units: bytes, nanoseconds. */
static void observe(double *signals) {
    for (int i = 0; i < own.tin_cnt; i++) {
        const struct cake_tin_data *tin = own.tins + i;
        const double all[] = {tin->tin_rate_bps * 8.0,
                              tin->cparams.target / 1e9,
                              tin->cparams.interval / 1e9,
                              tin->peak_delay / 1e9,
                              tin->avge_delay / 1e9,
                              tin->base_delay / 1e9,
                              tin->tin_backlog,
                              tin->packets,
                              tin->bytes,
                              tin->tin_dropped,
                              tin->tin_ecn_mark,
                              tin->ack_drops,
                              tin->sparse_flow_count + tin->decaying_flow_count,
                              tin->bulk_flow_count,
                              tin->unresponsive_flow_count,
                              tin->max_skblen,
                              tin->flow_quantum};
        memcpy(signals, all, sizeof all);
        signals += sizeof all / sizeof *all;
    }
}

void kernel_describe(const struct description *of_arrival) {
    described = *of_arrival;
}

#elif defined(KERNEL_RED)

static struct red_parms params;
static struct red_vars vars;

/* What idle time does to the average is a table of shifts, which tc computes: 2^-shift is (1 - w)^m. */
static void start(void) {
    static u8 table[RED_STAB_SIZE];
    u8 cell_log = 10;
    double kept = 1, per_cell = 1, weight = 1.0 / (1 << config.weight_log);
    for (int64_t ns = 0; ns < (1000LL << cell_log); ns += config.packet_ns)
        per_cell *= 1 - weight;
    for (int i = 0; i < RED_STAB_SIZE; i++, kept *= per_cell)
        for (double half = kept; half < 0.70710678 && table[i] < 31; half *= 2)
            table[i]++;
    table[RED_STAB_SIZE - 1] = 31;
    red_set_parms(&params, (u32)config.low, (u32)config.high, (u8)config.weight_log, (u8)config.slope_log, cell_log,
                  table, 0);
    red_set_vars(&vars);
}

/* The kernel draws once for a gap: R of 2^Plog, and signals when count times what the average exceeds min_th by has
 * reached R. That it has not reached R yet is known, so the draw of an arrival spreads R over what is left. The first
 * arrival after the average was outside the thresholds, which the kernel lets pass and does not count, is counted: no
 * vector has that rule. */
static void spread(unsigned long qavg) {
    if (red_cmp_thresh(&params, qavg) == RED_BETWEEN_TRESH) {
        vars.qcount = max(vars.qcount, 0);
        u64 beyond = (qavg - params.qth_min) >> params.Wlog, passed = beyond * (u64)vars.qcount;
        u64 whole = 1ULL << params.Plog, left = passed < whole ? whole - passed : 0;
        /* Equal to R signals: u < p, and not u <= p. */
        vars.qR = (u32)(passed + (u64)(((unsigned __int128)draw() * left) >> 64) + 1);
    }
}

static void arrive(struct sk_buff *skb) {
    bool was_idle = red_is_idling(&vars);
    vars.qavg = red_calc_qavg(&params, &vars, qdisc.qstats.backlog);
    red_end_of_idle_period(&vars);
    spread(vars.qavg);
    if (red_action(&params, &vars, vars.qavg) != RED_DONT_MARK || !has_room(skb)) {
        lose(skb);
        /* The kernel asks an empty queue for a packet after each arrival. */
        if (was_idle)
            red_start_of_idle_period(&vars);
    } else {
        qdisc_enqueue_tail(skb, &qdisc);
    }
}

static void idle(void) {
    if (!red_is_idling(&vars))
        red_start_of_idle_period(&vars);
}

static struct sk_buff *depart(void) {
    struct sk_buff *skb = qdisc_dequeue_head(&qdisc);
    if (!skb)
        idle();
    return skb;
}

static void update(void) {
}

static void observe(double *signals) {
    signals[0] = (double)vars.qavg / (1 << params.Wlog);
}

#endif

/* ---- What kernel.py calls. ---- */

void kernel_start(const struct config *given_config) {
    config = *given_config;
#if !defined(KERNEL_COBALT) && !defined(KERNEL_RED)
    qdisc.own = &own;
#endif
    qdisc.limit = (u32)config.limit_packets;
    start();
}

#if defined(KERNEL_COBALT) || defined(KERNEL_CAKE)
/* A machine that has run for a while: a time of 0 is long ago. */
#define BOOTED (1LL << 40)
#else
#define BOOTED 0
#endif

static void begin(int64_t now, unsigned count, const u64 *numbers) {
    now += BOOTED;
    clock_now = (u64)now;
    given = count < MOST_DRAWS ? count : MOST_DRAWS;
    memcpy(draws, numbers, given * sizeof *draws);
    used = losses = 0;
    unmarkable = false;
}

static void end(struct outcome *out) {
    out->drops = losses;
    for (unsigned i = 0; i < losses; i++)
        out->dropped[i] = lost[i]->id;
    out->used = used;
    observe(out->signals);
}

void kernel_enqueue(int64_t now, int64_t id, int64_t bytes, int ecn, unsigned queue, unsigned count, const u64 *numbers,
                    struct outcome *out) {
    begin(now, count, numbers);
    struct sk_buff *skb = &memory[id & 0xFFFF];
    *skb = (struct sk_buff){
        .len = (u32)bytes, .truesize = (u32)bytes, .id = id, .ecn = (u8)(config.ecn ? ecn : NOT_ECT)};
    queue_of_arrival = queue;
    arrive(skb);
    out->marked = skb->marked;
    skb->marked = false;
    end(out);
}

void kernel_dequeue(int64_t now, unsigned count, const u64 *numbers, struct outcome *out) {
    begin(now, count, numbers);
    struct sk_buff *skb = depart();
    out->id = skb ? skb->id : -1;
#ifdef KERNEL_CAKE
    out->not_before = skb || !qdisc.q.qlen ? -1 : wakes - BOOTED;
#endif
    out->marked = skb && skb->marked;
    end(out);
}

void kernel_update(int64_t now, unsigned count, const u64 *numbers, struct outcome *out) {
    begin(now, count, numbers);
    update();
    end(out);
}

void kernel_idle(int64_t now, unsigned count, const u64 *numbers, struct outcome *out) {
    begin(now, count, numbers);
    /* The kernel learns that it is idle when it asks for a packet. */
    if (!qdisc.q.qlen)
        idle();
    end(out);
}
