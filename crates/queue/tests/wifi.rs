//! The laws of a shared channel: Bianchi's saturation throughput, the rates and the anomaly of Høiland-Jørgensen et
//! al. (2017), airtime, retries, order, and conservation.

use std::collections::HashMap;

use proptest::prelude::*;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, CATALOG};
use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Ecn, FlowId, Link, Seed};
use quell_queue::{
    AccessPoint, Aggregation, Channel, Contention, DropPoint, Dropped, Fifo, Frames, Host, Limit, Line,
    Packet, Qdisc, Queue, Refused, Sent, Station, Wifi,
};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pkt {
    number: usize,
    bytes: u64,
    way: usize,
    lane: usize,
    ecn: Ecn,
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.number as u32 % 7)
    }
    fn set_lane(&mut self, lane: usize) {
        self.lane = lane;
    }
}

type ByWay = fn(&Pkt) -> usize;
type Air = Wifi<Fifo<Pkt, DropTail>, ByWay>;

/// The rate of the link behind the channel, which has carried packets when they come to it.
const AT_ONCE: BitRate = BitRate::from_bps(u64::MAX);

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

fn fifo(packets: u32) -> Fifo<Pkt, DropTail> {
    Fifo::new(DropTail, Seed(1).stream("queue"), Limit::Packets(packets), false, None)
}

fn air(channel: Channel, seed: u64) -> Air {
    let by_way: ByWay = |packet| packet.way;
    Wifi::new(channel, by_way, Seed(seed).stream("wifi"), |_, _| fifo(100_000)).unwrap()
}

fn station(name: &str, mbps: f64) -> Station {
    Station { name: name.into(), rate: BitRate::from_bps((mbps * 1e6) as u64), loss: 0.0, packets: None }
}

/// The parameters of Bianchi (2000), table II, with n stations: W and m are those of the window. Times of propagation,
/// a microsecond, are left out.
fn bianchi(n: usize, w: u32, m: u32) -> Channel {
    Channel {
        contention: Contention {
            slot: us(50),
            sifs: us(28),
            difs: us(128),
            cw_min: w - 1,
            cw_max: (w << m) - 1,
            retries: None,
        },
        frames: Frames {
            preamble: us(128),
            header: Bytes::new(34),
            ack_preamble: us(128),
            ack: Bytes::new(14),
            ack_rate: None,
        },
        aggregation: None,
        access_point: AccessPoint::Turns,
        stations: (0..n).map(|i| station(&format!("s{i}"), 1.0)).collect(),
    }
}

/// Sources that always have packets, one for each way that is given with the bytes of its packets.
struct Saturated {
    ways: Vec<(usize, u64)>,
    came: usize,
    /// Packets that left, and packets that were dropped, by way; those that are to be made up for.
    left: HashMap<usize, u64>,
    dropped: HashMap<usize, u64>,
    owed: Vec<usize>,
    /// The last packet of each way.
    last: HashMap<usize, usize>,
}

impl Host<Pkt> for Saturated {
    fn sent(&mut self, Sent { packet, .. }: Sent<Pkt>) {
        let before = self.last.insert(packet.way, packet.number);
        assert!(before.is_none_or(|before| before < packet.number), "packets of a way stay in order");
        *self.left.entry(packet.way).or_default() += 1;
        self.owed.push(packet.way);
    }
    fn dropped(&mut self, _: Time, Dropped { packet, .. }: Dropped<Pkt>) {
        *self.dropped.entry(packet.way).or_default() += 1;
        self.owed.push(packet.way);
    }
}

impl Saturated {
    /// So many packets wait on each way for `seconds`.
    fn run(air: Air, ways: &[(usize, u64)], depth: usize, seconds: u64) -> (Saturated, Air) {
        let owed = ways.iter().flat_map(|(way, _)| std::iter::repeat_n(*way, depth)).collect();
        let mut host = Saturated {
            ways: ways.to_vec(),
            came: 0,
            left: HashMap::new(),
            dropped: HashMap::new(),
            owed,
            last: HashMap::new(),
        };
        let mut line = Line::new(air, AT_ONCE);
        let mut now = Time::ZERO;
        let end = Time::ZERO + Duration::from_secs(seconds);
        loop {
            for way in std::mem::take(&mut host.owed) {
                let bytes = host.ways.iter().find(|(of, _)| *of == way).unwrap().1;
                host.came += 1;
                let packet = Pkt { number: host.came, bytes, way, ..Default::default() };
                let _ = line.arrive(now, packet, &mut host);
            }
            match line.next_departure() {
                Some(next) if next < end => now = now.max(next),
                _ => return (host, line.into_queue()),
            }
            line.run(now, &mut host);
        }
    }

    /// Of a way, in bit/s.
    fn throughput(&self, way: usize, seconds: u64) -> f64 {
        let bytes = self.ways.iter().find(|(of, _)| *of == way).unwrap().1;
        (self.left.get(&way).copied().unwrap_or(0) * bytes * 8) as f64 / seconds as f64
    }
}

/// Saturation throughput by Bianchi (2000), equations 7, 9, 13 and 14, for basic access: a share of the rate of the
/// channel.
fn saturation(n: usize, w: f64, m: i32) -> f64 {
    let tau = |p: f64| {
        let doubled: f64 = (0..m).map(|i| (2.0 * p).powi(i)).sum();
        2.0 / (1.0 + w + p * w * doubled)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        // What others do rises with tau, which falls with p.
        if 1.0 - (1.0 - tau(p)).powi(n as i32 - 1) > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let none = (1.0 - tau).powi(n as i32);
    let one = n as f64 * tau * (1.0 - tau).powi(n as i32 - 1);
    // Microseconds, which are bits.
    let (payload, header, ack) = (8184.0, 128.0 + 272.0, 128.0 + 112.0);
    let success = header + payload + 28.0 + ack + 128.0;
    let collision = header + payload + 128.0;
    one * payload / (none * 50.0 + one * success + (1.0 - none - one) * collision)
}

/// Stations, W and m, and the saturation throughput that another program finds.
const KNOWN: [(usize, f64, i32, f64); 7] = [
    (5, 32.0, 3, 0.8099),
    (10, 32.0, 3, 0.7533),
    (20, 32.0, 3, 0.6789),
    (30, 32.0, 3, 0.6274),
    (50, 32.0, 3, 0.5530),
    (50, 32.0, 5, 0.6111),
    (50, 128.0, 3, 0.7253),
];

/// The function above computes what another program finds that solves the same equations (github.com/segmentation-fault/
/// BianchiPy, its numbers to four digits).
#[test]
fn bianchis_equations_are_solved_as_elsewhere() {
    for (n, w, m, other) in KNOWN {
        let s = saturation(n, w, m);
        assert!((s - other).abs() < 0.0001, "n = {n}, W = {w}, m = {m}: {s} and not {other}");
    }
}

#[test]
fn saturated_stations_get_bianchis_throughput() {
    for (n, w, m) in
        [(5, 32, 3), (10, 32, 3), (20, 32, 3), (30, 32, 3), (50, 32, 3), (10, 128, 3), (50, 32, 5)]
    {
        let seconds = 200;
        let ways: Vec<_> = (0..n).map(|i| (n + i, 1023)).collect();
        let (host, air) = Saturated::run(air(bianchi(n, w, m), 1), &ways, 2, seconds);
        let found: f64 = ways.iter().map(|(way, _)| host.throughput(*way, seconds)).sum::<f64>() / 1e6;
        let exact = saturation(n, f64::from(w), m as i32);
        println!(
            "n = {n} W = {w} m = {m}: {found:.4}, Bianchi {exact:.4}, {:+.2}%",
            100.0 * (found / exact - 1.0)
        );
        assert!((found / exact - 1.0).abs() < 0.03, "n = {n}, W = {w}, m = {m}: {found} and not {exact}");
        assert!(air.usage().collisions > 100 && host.dropped.is_empty());
    }
}

/// Table 1 of Høiland-Jørgensen et al. (2017): the packets of aggregates and their size, which make the mean bytes that
/// the table has, and the rate in Mbit/s that a station would have alone. The figures were not compared with the printed
/// page again (not verified); they agree with each other and with the paper's equations to the last digit.
const FIFO: [(u64, u64, f64, f64); 3] =
    [(5, 1378, 144.4, 97.3), (5, 1567, 144.4, 101.1), (2, 1457, 7.2, 6.5)];
const FAIR: [(u64, u64, f64, f64); 3] =
    [(19, 1497, 144.4, 126.7), (19, 1503, 144.4, 126.8), (2, 1492, 7.2, 6.5)];

fn of_table(rows: &[(u64, u64, f64, f64); 3], access_point: AccessPoint) -> Channel {
    let stations = rows.iter().enumerate().map(|(i, (count, _, mbps, _))| Station {
        packets: Some(*count as u32),
        ..station(&format!("s{i}"), *mbps)
    });
    Channel::n(access_point, stations.collect())
}

/// A station that has the channel for itself has the rate of the paper's equations, and of [`Channel::rate_alone`].
#[test]
fn a_station_alone_has_the_rate_of_the_paper() {
    for rows in [FIFO, FAIR] {
        for (i, (count, bytes, _, printed)) in rows.into_iter().enumerate() {
            let channel = of_table(&rows, AccessPoint::Turns);
            let exact = channel.rate_alone(i, Bytes::new(bytes), count as u32).bps() as f64;
            let (host, _) = Saturated::run(air(channel, 2), &[(i, bytes)], 100, 20);
            let found = host.throughput(i, 20);
            println!(
                "{count} x {bytes}: {:.2} Mbit/s, equations {:.2}, printed {printed}",
                found / 1e6,
                exact / 1e6
            );
            assert!((found / exact - 1.0).abs() < 0.01, "{found} and not {exact}");
            assert!((found / 1e6 / printed - 1.0).abs() < 0.02, "{found} and not {printed}");
        }
    }
}

/// Turns of frames: the shares of the time on the air are the table's 10, 11 and 79%, and the slow station takes most.
/// The rates are those of a cycle of three frames, with all that stands between them.
#[test]
fn one_slow_station_takes_the_channel() {
    let channel = of_table(&FIFO, AccessPoint::Turns);
    let ways: Vec<_> = FIFO.iter().enumerate().map(|(i, (_, bytes, ..))| (i, *bytes)).collect();
    let frames: Vec<f64> = (FIFO.iter().enumerate())
        .map(|(i, (count, bytes, ..))| {
            let bytes = channel.in_frame(Bytes::new(*bytes)).get() * count;
            channel.frame_time(i, Bytes::new(bytes)).as_secs_f64()
        })
        .collect();
    let cycle: f64 = (0..3).map(|i| frames[i] + channel.ack_time(i).as_secs_f64() + 34e-6 + 67.5e-6).sum();
    let (host, air) = Saturated::run(air(channel, 3), &ways, 100, 20);
    let data: f64 = frames.iter().sum();
    for (i, printed) in [0.10, 0.11, 0.79].into_iter().enumerate() {
        let share = frames[i] * host.left[&i] as f64 / FIFO[i].0 as f64;
        let all: f64 = (0..3).map(|j| frames[j] * host.left[&j] as f64 / FIFO[j].0 as f64).sum();
        assert!((share / all - printed).abs() < 0.005, "{} and not {printed}", share / all);
        assert!((frames[i] / data - printed).abs() < 0.005);
        let (found, exact) = (host.throughput(i, 20), (FIFO[i].0 * FIFO[i].1 * 8) as f64 / cycle);
        println!("{i}: {:.2} Mbit/s, cycle {:.2}", found / 1e6, exact / 1e6);
        assert!((found / exact - 1.0).abs() < 0.01, "{found} and not {exact}");
    }
    assert_eq!(air.usage().collisions, 0, "the access point is alone");
}

/// The table's rates with airtime fairness: each station has a third of the rate that it would have alone.
#[test]
fn airtime_fairness_gives_each_a_third_of_its_own_rate() {
    let channel = of_table(&FAIR, AccessPoint::Airtime { quantum: us(300) });
    let ways: Vec<_> = FAIR.iter().enumerate().map(|(i, (_, bytes, ..))| (i, *bytes)).collect();
    let (host, air) = Saturated::run(air(channel, 4), &ways, 100, 60);
    let airtime: Vec<f64> = air.usage().airtime.iter().map(|t| t.as_secs_f64()).collect();
    let all: f64 = airtime.iter().sum();
    for (i, printed) in [42.2, 42.3, 2.2].into_iter().enumerate() {
        let found = host.throughput(i, 60) / 1e6;
        println!("{i}: {found:.2} Mbit/s, printed {printed}, airtime {:.4}", airtime[i] / all);
        assert!((airtime[i] / all - 1.0 / 3.0).abs() < 0.001);
        assert!((found / printed - 1.0).abs() < 0.05, "{found} and not {printed}");
    }
}

/// Four stations take all that the access point sends, while one uploads a quarter of the channel and gets a small
/// packet every 100 ms. Gives the delays of these, in ms, from the shortest to the longest, and the airtime of each station.
fn pings_to_an_uploader(access_point: AccessPoint) -> (Vec<f64>, Vec<Duration>) {
    let stations = (0..5).map(|i| station(&format!("s{i}"), 144.4)).collect();
    let mut line = Line::new(air(Channel::n(access_point, stations), 3), AT_ONCE);
    let mut host = Away::default();
    let (mut came, mut pinged) = (0, HashMap::new());
    let mut arrive = |line: &mut Line<Air>, host: &mut Away, now: Time, way: usize, bytes: u64| {
        came += 1;
        let _ = line.arrive(now, Pkt { number: came, bytes, way, ..Default::default() }, host);
        came
    };
    let mut delays = Vec::new();
    // Steps of 384 us, in which 1200 bytes are 25 Mbit/s; others are filled up in each.
    let mut waiting = [0; 5];
    for step in 0..80_000_u64 {
        let now = Time::ZERO + us(384 * step);
        line.run(now, &mut host);
        for Sent { packet, start, .. } in host.sent.drain(..) {
            match packet.way {
                0 => delays.push((start - pinged[&packet.number]).as_secs_f64() * 1e3),
                way @ 1..=4 => waiting[way] -= 1,
                _ => {}
            }
        }
        arrive(&mut line, &mut host, now, 5, 1200);
        for (way, waiting) in waiting.iter_mut().enumerate().skip(1) {
            while *waiting < 64 {
                arrive(&mut line, &mut host, now, way, 1500);
                *waiting += 1;
            }
        }
        if step % 260 == 0 {
            pinged.insert(arrive(&mut line, &mut host, now, 0, 125), now);
        }
    }
    delays.sort_by(f64::total_cmp);
    (delays, line.into_queue().usage().airtime.clone())
}

/// What a station sends is charged to it, and does not hold up for long what little comes for it: nothing waits for seconds
/// (28 s were found without a limit). It pays for 100 ms, which can begin again, and earns as fast as each of the others
/// uses what the access point sends.
#[test]
fn a_station_that_sends_much_still_gets_what_little_comes_for_it() {
    let (turns, _) = pings_to_an_uploader(AccessPoint::Turns);
    let (delays, airtime) = pings_to_an_uploader(AccessPoint::Airtime { quantum: us(300) });
    let others = airtime[1..].iter().map(|time| time.as_secs_f64()).sum::<f64>() / 4.0;
    let once = 100.0 * airtime[0].as_secs_f64() / others + turns[turns.len() - 1];
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let longest = delays[delays.len() - 1];
    println!("mean {mean:.1} ms, longest {longest:.1} ms of {once:.1} ms");
    assert!(delays.len() >= 300 && longest < 2.0 * once && mean < once / 2.0, "{mean} {longest}");
}

/// The anomaly (Heusse et al. 2003): stations that send frames of one packet have the same throughput, below the
/// slowest one's rate, and the fast ones gain nothing from being fast.
#[test]
fn one_slow_sender_slows_all_to_its_own_rate() {
    let stations = |slow: f64| {
        let mut all: Vec<_> = (0..4).map(|i| station(&format!("fast{i}"), 54.0)).collect();
        all.push(station("slow", slow));
        Channel::a(AccessPoint::Turns, all)
    };
    let ways: Vec<_> = (5..10).map(|way| (way, 1500)).collect();
    let run = |channel| Saturated::run(air(channel, 5), &ways, 4, 600).0;
    let (mixed, fast) = (run(stations(1.0)), run(stations(54.0)));
    let of = |host: &Saturated, way| host.throughput(way, 600) / 1e6;
    for way in 5..10 {
        assert!(of(&mixed, way) < 1.0, "{}", of(&mixed, way));
        assert!(of(&fast, way) > 4.0, "{}", of(&fast, way));
        assert!((of(&mixed, way) / of(&mixed, 9) - 1.0).abs() < 0.05);
    }
}

/// One queue above a driver, with more packets for both stations than the channel carries: aggregates have what the
/// queue's order allows, and as many packets leave for each. The more the driver holds, the larger the aggregates.
#[test]
fn one_queue_serves_equal_packets() {
    let mut sizes = Vec::new();
    for driver in [4, 32, 128] {
        let stations = vec![station("fast", 144.4), station("slow", 7.2)];
        let by_way: ByWay = |packet| packet.way;
        let channel = Channel::n(AccessPoint::One { driver }, stations);
        let air = Wifi::new(channel, by_way, Seed(6).stream("wifi"), |_, _| fifo(100)).unwrap();
        let (mut line, mut away) = (Line::new(air, AT_ONCE), Away::default());
        let mut rng = Seed(6).stream("arrivals");
        for number in 0..100_000 {
            let now = Time::ZERO + us(200) * number as u64;
            let way = rng.chance(0.5) as usize;
            let _ = line.arrive(now, Pkt { number, bytes: 1500, way, ..Default::default() }, &mut away);
        }
        let left = [0, 1].map(|way| away.sent.iter().filter(|sent| sent.packet.way == way).count() as f64);
        assert!((left[0] / left[1] - 1.0).abs() < 0.03, "{left:?}");
        let usage = line.queue().usage();
        sizes.push(usage.packets as f64 / usage.frames as f64);
        assert!(usage.airtime[1].as_secs_f64() > 5.0 * usage.airtime[0].as_secs_f64());
    }
    assert!(sizes.windows(2).all(|w| w[0] < w[1]), "{sizes:?}");
}

/// With losses, the frame's packets that were understood count; the rest is sent again, and given up after so many
/// times: p to the power of retries and one.
#[test]
fn packets_are_sent_again_until_they_are_given_up() {
    let lossy = |retries| {
        let mut channel = Channel::n(AccessPoint::Turns, vec![Station { loss: 0.3, ..station("s", 100.0) }]);
        channel.contention.retries = retries;
        Saturated::run(air(channel, 7), &[(0, 1500)], 200, 20).0
    };
    let (all, some) = (lossy(None), lossy(Some(2)));
    assert!(all.dropped.is_empty());
    let given_up = some.dropped[&0] as f64 / (some.dropped[&0] + some.left[&0]) as f64;
    assert!((given_up / 0.027 - 1.0).abs() < 0.05, "{given_up}");
    // Seven tenths of what is sent arrive, and the window of 64 makes some frames shorter.
    let clean = {
        let channel = Channel::n(AccessPoint::Turns, vec![station("s", 100.0)]);
        Saturated::run(air(channel, 7), &[(0, 1500)], 200, 20).0
    };
    let share = all.left[&0] as f64 / clean.left[&0] as f64;
    assert!((0.6..0.71).contains(&share), "{share}");
}

/// Whoever finds the channel idle sends in the next slot, without a random wait.
#[test]
fn an_idle_channel_is_taken_at_once() {
    let channel = Channel::a(AccessPoint::Turns, vec![station("s", 54.0)]);
    let takes = channel.frame_time(0, channel.in_frame(Bytes::new(1500))) + channel.ack_time(0);
    let mut line = Line::new(air(channel, 8), AT_ONCE);
    let mut away = Away::default();
    for i in 0..50 {
        let now = Time::ZERO + us(10_000) * i + us(i);
        let _ = line.arrive(now, Pkt { bytes: 1500, way: 1, ..Default::default() }, &mut away);
        line.run(now + us(9000), &mut away);
        let (start, arrived) = (away.sent[i as usize].start, away.sent[i as usize].arrived);
        let waited = start - arrived;
        assert!(waited >= takes && waited < takes + us(9), "{waited} for {takes}");
    }
}

/// Small frames: the limits of packets, bytes and time each hold.
#[test]
fn aggregates_obey_their_limits() {
    let with = |aggregation: Aggregation| {
        let mut channel = Channel::n(AccessPoint::Turns, vec![station("s", 10.0)]);
        channel.aggregation = Some(aggregation);
        let (_, air) = Saturated::run(air(channel, 9), &[(0, 1500)], 100, 5);
        // The first frame has what there is, a packet.
        (air.usage().packets - 1) as f64 / (air.usage().frames - 1) as f64
    };
    let wide = Aggregation {
        packets: 64,
        bytes: Bytes::new(1_000_000),
        duration: Duration::from_millis(500),
        delimiter: Bytes::new(4),
    };
    assert_eq!(with(Aggregation { packets: 7, ..wide }), 7.0);
    // A packet takes 1544 bytes, or 1235.2 us.
    assert_eq!(with(Aggregation { bytes: Bytes::new(1544 * 5 + 1543), ..wide }), 5.0);
    assert_eq!(with(Aggregation { duration: us(32 + 1236 * 3), ..wide }), 3.0);
    assert_eq!(with(Aggregation { duration: us(40), ..wide }), 1.0, "one always fits");
}

#[derive(Debug, Default)]
struct Away {
    sent: Vec<Sent<Pkt>>,
    dropped: Vec<(Time, Dropped<Pkt>)>,
}

impl Host<Pkt> for Away {
    fn sent(&mut self, sent: Sent<Pkt>) {
        self.sent.push(sent);
    }
    fn dropped(&mut self, now: Time, dropped: Dropped<Pkt>) {
        self.dropped.push((now, dropped));
    }
}

/// Any algorithm in each lane.
fn any(algorithm: usize, packets: u32) -> Queue<Pkt, AnyAqm, AnyDiscipline> {
    let link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(100.0),
        mean_packet: Bytes::new(1000),
    };
    let built = (CATALOG[algorithm % CATALOG.len()].default)().build(&link).unwrap();
    Queue::new(built, Seed(1).indexed_stream("queue", algorithm as u64), Limit::Packets(packets), true, None)
}

/// Packets and bytes are conserved, and the counts say so.
fn balanced<Q: Qdisc<Packet = Pkt>>(queue: &Q, away: &Away, came: usize) {
    let (view, all) = (queue.view(), queue.counters());
    assert_eq!(view.packets.get() as usize, came - away.sent.len() - away.dropped.len());
    assert_eq!(queue.is_empty(), view.packets.get() == 0);
    assert_eq!(view.head_since.is_some(), !queue.is_empty());
    let at_arrival = away.dropped.iter().filter(|(_, gone)| gone.place == DropPoint::Arrival).count();
    assert_eq!(all.arrived.packets as usize, came);
    assert_eq!(all.refused.total().packets as usize, at_arrival);
    assert_eq!(all.departed.packets as usize, away.sent.len());
    assert_eq!(all.dropped.total().packets as usize, away.dropped.len() - at_arrival);
    assert_eq!(all.departed.bytes, away.sent.iter().map(|sent| sent.packet.bytes).sum::<u64>());
    let lanes = (0..queue.lane_count()).filter_map(|lane| queue.lane_counters(lane));
    assert_eq!(lanes.map(|lane| lane.departed.packets).sum::<u64>() as usize, away.sent.len());
}

fn channel() -> impl Strategy<Value = Channel> {
    let station =
        (1u64..200_000_000, prop_oneof![Just(0.0), 0.0f64..0.6], prop::option::weighted(0.3, 1u32..9))
            .prop_map(|(bps, loss, packets)| (bps.max(100_000), loss, packets));
    let access_point = prop_oneof![
        (1u32..40).prop_map(|driver| AccessPoint::One { driver }),
        Just(AccessPoint::Turns),
        (1u64..2000).prop_map(|quantum| AccessPoint::Airtime { quantum: us(quantum) }),
    ];
    let stations = prop::collection::vec(station, 1..6);
    (stations, access_point, 0usize..3, prop::option::of(0u32..4)).prop_map(
        |(stations, access_point, standard, retries)| {
            let stations: Vec<_> = (stations.into_iter().enumerate())
                .map(|(i, (bps, loss, packets))| Station {
                    name: format!("s{i}"),
                    rate: BitRate::from_bps(bps),
                    loss,
                    packets: packets.filter(|_| standard > 0),
                })
                .collect();
            let make = [Channel::a, Channel::n, Channel::ac][standard];
            let mut channel = make(access_point, stations);
            channel.contention.retries = retries;
            channel
        },
    )
}

/// Gaps in nanoseconds, ways, sizes.
fn load() -> impl Strategy<Value = Vec<(u64, usize, u64)>> {
    let gap = prop_oneof![20 => 0u64..400_000, 5 => Just(0), 1 => 0u64..300_000_000];
    prop::collection::vec((gap, 0..1000usize, prop_oneof![40u64..1500, Just(1500)]), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// With any algorithms, stations and traffic: packets are conserved, ways keep their order unless the algorithm
    /// does not, all ends, and a host that wakes late sees the same.
    #[test]
    fn any_traffic_over_any_channel(channel in channel(), load in load(), algorithm in 0usize..1000, seed in 0u64..9) {
        let ways = 2 * channel.stations.len();
        let by_way: ByWay = |packet| packet.way;
        let make = || {
            let rng = Seed(seed).stream("wifi");
            Wifi::new(channel.clone(), by_way, rng, |lane, _| any(algorithm + lane, 60)).unwrap()
        };
        let mut now = Time::ZERO;
        let packets: Vec<(Time, Pkt)> = (load.iter().enumerate())
            .map(|(number, (gap, way, bytes))| {
                now += Duration::from_nanos(*gap);
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][number % 3];
                (now, Pkt { number, bytes: *bytes, way: way % ways, ecn, ..Default::default() })
            })
            .collect();
        let (mut line, mut away) = (Line::new(make(), AT_ONCE), Away::default());
        for (came, (now, packet)) in packets.iter().enumerate() {
            let _ = line.arrive(*now, *packet, &mut away);
            balanced(line.queue(), &away, came + 1);
        }
        // A host that wakes late, and is told of nothing on the way.
        let mut late = Line::new(make(), AT_ONCE);
        let mut same = Away::default();
        packets.iter().for_each(|(now, packet)| { let _ = late.arrive(*now, *packet, &mut same); });
        late.run(now + Duration::from_secs(1000), &mut same);
        let mut steps = 0;
        while let Some(next) = line.next_departure() {
            prop_assert!(next > now || steps == 0, "nothing is due in the past");
            now = now.max(next);
            line.run(now, &mut away);
            balanced(line.queue(), &away, packets.len());
            steps += 1;
            prop_assert!(steps < 1_000_000, "it comes to an end");
        }
        prop_assert!(line.queue().is_empty());
        prop_assert_eq!(&away.sent, &same.sent);
        let order = |gone: &[(Time, Dropped<Pkt>)]| gone.iter().map(|(_, gone)| gone.packet.number).collect::<Vec<_>>();
        prop_assert_eq!(order(&away.dropped), order(&same.dropped));
        // A frame is on the air alone: packets of one frame leave together, and frames are DIFS apart.
        let difs = channel.contention.difs;
        for pair in away.sent.windows(2) {
            let gap = pair[1].start - pair[0].start;
            prop_assert!(gap >= Duration::from_nanos(1));
            prop_assert!(gap < us(1) || gap > difs, "{}", gap);
        }
    }

    /// What is replaced goes on with the same packets.
    #[test]
    fn another_channel_takes_over(channel in channel(), load in load(), at in 0usize..300, algorithm in 0usize..1000) {
        let ways = 2 * channel.stations.len();
        let by_way: ByWay = |packet| packet.way;
        let make = |algorithm: usize| {
            let rng = Seed(1).stream("wifi");
            Wifi::new(channel.clone(), by_way, rng, |lane, _| any(algorithm + lane, 60)).unwrap()
        };
        let (mut line, mut away, mut now) = (Line::new(make(algorithm), AT_ONCE), Away::default(), Time::ZERO);
        for (number, (gap, way, bytes)) in load.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            let packet = Pkt { number, bytes: *bytes, way: way % ways, ..Default::default() };
            let _ = line.arrive(now, packet, &mut away);
            if number == at {
                line.reconfigure(now, make(algorithm + 7), &mut away);
            }
        }
        line.run(now + Duration::from_secs(1000), &mut away);
        prop_assert!(line.queue().is_empty());
        prop_assert_eq!(away.sent.len() + away.dropped.len(), load.len());
        let all = line.queue().counters();
        prop_assert_eq!(all.departed.packets as usize, away.sent.len());
    }
}

/// The same seed gives the same, and another one another.
#[test]
fn chance_is_the_seeds() {
    let run = |seed| {
        let ways: Vec<_> = (10..20).map(|way| (way, 1000)).collect();
        let (host, air) = Saturated::run(air(bianchi(10, 32, 3), seed), &ways, 2, 20);
        (host.came, air.usage().clone())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn channels_that_cannot_be_shared_are_refused_with_the_reason() {
    let two = || vec![station("a", 10.0), station("b", 10.0)];
    let good = || Channel::n(AccessPoint::Turns, two());
    assert!(good().check().is_ok());
    let refused = |change: &dyn Fn(&mut Channel), field: &str, class: &str| {
        let mut channel = good();
        change(&mut channel);
        let Refused { field: found, class: of, rule, fix, .. } = channel.check().unwrap_err();
        assert_eq!((found, &*of), (field, class));
        assert!(!rule.is_empty() && !fix.is_empty());
    };
    refused(&|c| c.contention.slot = Duration::ZERO, "slot", "");
    refused(&|c| c.contention.difs = Duration::from_nanos(9), "difs", "");
    refused(&|c| c.contention.sifs = Duration::from_secs(9), "sifs", "");
    refused(&|c| c.contention.cw_max = 3, "cw_max", "");
    refused(&|c| c.contention.cw_max = 100_000, "cw_max", "");
    refused(&|c| c.contention.retries = Some(1000), "retries", "");
    refused(&|c| c.frames.header = Bytes::new(100_000), "header", "");
    refused(&|c| c.frames.ack_rate = Some(BitRate::from_bps(0)), "ack_rate", "");
    refused(&|c| c.aggregation.as_mut().unwrap().packets = 0, "packets", "");
    refused(&|c| c.aggregation.as_mut().unwrap().duration = us(10), "duration", "");
    refused(&|c| c.access_point = AccessPoint::One { driver: 0 }, "driver", "");
    refused(&|c| c.access_point = AccessPoint::Airtime { quantum: Duration::ZERO }, "quantum", "");
    refused(&|c| c.stations.clear(), "stations", "");
    refused(&|c| c.stations = (0..128).map(|i| station(&format!("s{i}"), 1.0)).collect(), "stations", "");
    refused(&|c| c.stations[1].name = "a".into(), "name", "a");
    refused(&|c| c.stations[1].name = "a-up".into(), "name", "a-up");
    refused(&|c| c.stations[1].rate = BitRate::from_bps(1), "rate", "b");
    refused(&|c| c.stations[1].loss = 1.0, "loss", "b");
    refused(&|c| c.stations[1].packets = Some(0), "packets", "b");
}
