/* What tbf and htb call of the rest of the kernel beside stand_ins.h: sorted trees, a watchdog that notes its time, and
 * queues inside queues. Written for Quell; names are the kernel's. Nothing here is balanced: a test's trees are small.
 */
#include <stdio.h>
#include <stdlib.h>

#define ____cacheline_aligned_in_smp
#define __read_mostly
#define ENOMEM 12
#define DIV_ROUND_UP(x, by) (((x) + (by)-1) / (by))
#define TC_LINKLAYER_ATM 2
#define TC_HTB_MAXDEPTH 8
#define TC_HTB_NUMPRIO 8
#define IS_ENABLED(option) 0
#define WARN_ON(x) (x)
#define WARN_ON_ONCE(x) (x)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof *(array))
#define BUG_ON(x) ((x) ? __builtin_trap() : (void)0)
#define pr_warn(...) ((void)0)
#define qdisc_warn_nonwc(text, sch) ((void)(sch))
#define rcu_assign_pointer(to, from) ((to) = (from))

/* One tick for all time: the limit of work at a time is never met. */
#define jiffies 0UL
#define time_before(a, b) ((a) < (b))

/* The first bit that is zero. */
static inline int ffz(unsigned long x) {
    return __builtin_ctzl(~x);
}

struct Qdisc_class_common {
    u32 classid;
};
struct Qdisc_class_hash {
    int unused;
};
struct gnet_stats_basic_sync {
    int unused;
};
struct tc_htb_xstats {
    u32 lends, borrows, giants, tokens, ctokens;
};
struct work_struct {
    int unused;
};
struct tcf_proto;
struct tcf_block;
struct net_rate_estimator;
struct netdev_queue;
#define bstats_update(stats, skb) ((void)(stats), (void)(skb))
#define schedule_work(work) __builtin_trap()
#define __qdisc_drop_all(skb, to_free) lose(skb)
#define skb_is_gso(skb) false
#define skb_gso_validate_mac_len(skb, size) true
#define tbf_segment(skb, sch, to_free) NET_XMIT_DROP

/* ---- A watchdog. ---- */

struct qdisc_watchdog {
    int unused;
};
static u64 wakes_at;

static inline void qdisc_watchdog_schedule_ns(struct qdisc_watchdog *watchdog, u64 at) {
    (void)watchdog;
    wakes_at = at;
}

/* ---- Sorted trees. ---- */

struct rb_node {
    struct rb_node *up, *rb_left, *rb_right;
};
struct rb_root {
    struct rb_node *rb_node;
};
#define rb_entry(node, type, member) container_of(node, type, member)
#define RB_EMPTY_NODE(node) ((node)->up == (node))
#define RB_CLEAR_NODE(node) ((node)->up = (node))
#define RB_EMPTY_ROOT(root) ((root)->rb_node == NULL)
#define rb_insert_color(node, root) ((void)(node), (void)(root))

static inline void rb_link_node(struct rb_node *node, struct rb_node *up, struct rb_node **link) {
    *node = (struct rb_node){.up = up};
    *link = node;
}

static inline struct rb_node *rb_first(const struct rb_root *root) {
    struct rb_node *node = root->rb_node;
    while (node && node->rb_left)
        node = node->rb_left;
    return node;
}

static inline struct rb_node *rb_next(const struct rb_node *node) {
    if (node->rb_right) {
        struct rb_root below = {node->rb_right};
        return rb_first(&below);
    }
    while (node->up && node == node->up->rb_right)
        node = node->up;
    return node->up;
}

/* What points to `old` from above points to `new`. */
static inline void replace(struct rb_root *root, struct rb_node *old, struct rb_node *new) {
    if (!old->up)
        root->rb_node = new;
    else if (old->up->rb_left == old)
        old->up->rb_left = new;
    else
        old->up->rb_right = new;
    if (new)
        new->up = old->up;
}

static inline void rb_erase(struct rb_node *node, struct rb_root *root) {
    if (!node->rb_left) {
        replace(root, node, node->rb_right);
    } else if (!node->rb_right) {
        replace(root, node, node->rb_left);
    } else {
        struct rb_node *next = rb_next(node);
        if (next->up != node) {
            replace(root, next, next->rb_right);
            next->rb_right = node->rb_right;
            next->rb_right->up = next;
        }
        replace(root, node, next);
        next->rb_left = node->rb_left;
        next->rb_left->up = next;
    }
}

/* ---- A queue inside another. ---- */

#define qdisc_skb_head fifo
#define qdisc_enqueue(skb, sch, to_free) ((sch)->enqueue(skb, sch, to_free))

static inline void __qdisc_enqueue_tail(struct sk_buff *skb, struct fifo *q) {
    skb->next = NULL;
    if (q->head)
        q->tail->next = skb;
    else
        q->head = skb;
    q->tail = skb;
    q->qlen++;
}

/* A FIFO of so many packets, or of so many bytes. */
static int pfifo_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free) {
    return sch->q.qlen < sch->limit ? qdisc_enqueue_tail(skb, sch) : qdisc_drop(skb, sch, to_free);
}

static int bfifo_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free) {
    return sch->qstats.backlog + skb->len <= sch->limit ? qdisc_enqueue_tail(skb, sch) : qdisc_drop(skb, sch, to_free);
}

static struct sk_buff *fifo_peek(struct Qdisc *sch) {
    return sch->q.head;
}

static const struct Qdisc_ops fifo_ops = {.peek = fifo_peek};
#define qdisc_dequeue_peeked(sch) ((sch)->dequeue(sch))


/* What shaper_glue.c has in the place of the kernel's. */
struct htb_class;
static struct htb_class *htb_classify(struct sk_buff *skb, struct Qdisc *sch, int *error);
