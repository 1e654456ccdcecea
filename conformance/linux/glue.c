/* Between the runner's events and what kernel.py has cut out of Linux, which comes before this text in one translation
 * unit. One of KERNEL_CODEL, KERNEL_FQ_CODEL, KERNEL_PIE, KERNEL_COBALT and KERNEL_RED says what that is.
 */

/* kernel.py has the same fields in the same order. */
struct config {
    int64_t limit_packets, limit_bytes, ecn;
    int64_t target, interval, ce_threshold, ce_ect1, mtu;
    int64_t flows, quantum, limit, memory, batch;
    int64_t alpha, beta, max_burst;
    int64_t mtu_time, p_inc, p_dec;
    int64_t low, high, weight_log, slope_log, packet_ns;
};

struct outcome {
    int64_t id, marked, drops, used;
    int64_t dropped[MOST];
    double signals[4];
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

static void begin(int64_t now, unsigned count, const u64 *numbers) {
#ifdef KERNEL_COBALT
    /* A machine that has run for a while: a time of 0 is long ago. */
    now += 1LL << 40;
#endif
    clock_now = (u64)now;
    given = count < MOST_DRAWS ? count : MOST_DRAWS;
    memcpy(draws, numbers, given * sizeof *draws);
    used = losses = 0;
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
