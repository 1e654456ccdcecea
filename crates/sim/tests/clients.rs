//! Clients with a will of their own: players of adaptive videos, and pages over several connections.

use std::collections::BTreeSet;

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, VideoSegment};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Duration, QueueSize, Time};

/// Each way.
const DELAY: u64 = 64_000;

fn us(x: u64) -> Duration {
    Duration::from_micros(x)
}

fn tcp() -> TcpParams {
    TcpParams { syn: false, initial_window: 10, ..Default::default() }
}

/// One client behind a link each way.
fn client(rate: u64, app: App, boundaries: &[f64], end: f64) -> Outcome {
    let queue = bottleneck(rate, us(DELAY), QueueSize::Packets(1000.0), drop_tail(), false);
    let flow = |app| FlowSpec {
        class: 0,
        ack_class: 1,
        dscp: 0,
        hosts: Default::default(),
        forward: vec![LinkId(0)],
        reverse: vec![LinkId(1)],
        traffic: Traffic::Tcp { tcp: tcp(), app },
        start: at(0.0),
        stop: None,
        timed: false,
    };
    let others = if let App::Pages(pages) = &app { pages.connections - 1 } else { 0 };
    let mut flows = vec![flow(app)];
    flows.extend((0..others).map(|_| flow(App::Connection { of: 0 })));
    let network = Network {
        links: vec![queue, wire(rate, us(DELAY))],
        flows,
        classes: vec!["client".into(), "acks".into()],
        measure: Measure {
            warmup: at(0.0),
            end: at(end),
            boundaries: boundaries.iter().copied().map(at).collect(),
            step: None,
        },
        seed: Seed(1),
    };
    run(network, Engine::Fast, &Control { logged: vec![LinkId(0)], ..Control::default() }).unwrap()
}

fn video(rates: &[u64], chunks: Option<u32>) -> Video {
    Video {
        chunk: secs(1.0),
        rates: rates.iter().copied().map(BitRate::from_bps).collect(),
        buffer: secs(4.0),
        start_up: secs(2.0),
        chunks,
        averaged: 4,
        safety: 0.9,
        request: Distribution::Constant(500.0),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn sum(of: &[VideoSegment], figure: impl Fn(&VideoSegment) -> u64) -> u64 {
    of.iter().map(figure).sum()
}

#[test]
fn a_player_takes_the_rate_that_the_link_allows_and_waits_while_its_buffer_is_full() {
    let outcome = client(2_000_000, App::Video(video(&[200_000, 500_000, 3_000_000], None)), &[20.0], 60.0);
    let [early, late] = outcome.flows[0].video[..] else { panic!("two segments") };
    assert_eq!((early.started, late.started), (1, 0));
    assert_eq!(early.stalled_ns + late.stalled_ns, 0, "there is always enough");
    // It begins at the lowest rate and rises once; 3 Mbit/s are more than there is.
    assert_eq!((early.switches, late.switches), (1, 0));
    assert_eq!(late.rate_sum_bps, 500_000 * late.chunks);
    // As much arrives as is played.
    assert_eq!(late.chunks, 40);
    assert_eq!(seconds(late.played_ns), 40.0);
    // Playback begins with the second chunk.
    let second = outcome.transfers[1];
    assert!((seconds(early.start_up_ns) - second.end.as_secs_f64()).abs() < 0.1, "{early:?} {second:?}");
    assert_eq!(early.start_up_ns + early.played_ns, at(20.0).nanos());
    // A full buffer: the next request is sent when a chunk has been played.
    let starts: Vec<Time> = outcome.transfers.iter().rev().take(10).map(|t| t.start).collect();
    assert!(starts.windows(2).all(|w| w[0] - w[1] == secs(1.0)), "{starts:?}");
    assert!(outcome.transfers.iter().all(|t| t.alone == Some(t.end - t.start)), "nobody else is there");
}

#[test]
fn a_player_stalls_for_the_share_of_time_that_the_link_lacks() {
    // Chunks of 25 packets of 8 ms each at a tenth of a megabit per second: 2 s and more for 1 s of video.
    let outcome = client(100_000, App::Video(video(&[200_000, 400_000], None)), &[50.0], 450.0);
    let late = outcome.flows[0].video[1];
    let starts: Vec<f64> = outcome.transfers.iter().map(|t| t.start.as_secs_f64()).collect();
    let late_starts: Vec<f64> = starts.into_iter().filter(|t| *t > 50.0).collect();
    let each = (late_starts[late_starts.len() - 1] - late_starts[0]) / (late_starts.len() - 1) as f64;
    assert!((2.0..2.4).contains(&each), "{each}");
    let (played, stalled) = (seconds(late.played_ns), seconds(late.stalled_ns));
    assert!((played + stalled - 400.0).abs() < 1e-6, "it plays or stands still");
    let share = stalled / (played + stalled);
    assert!((share - (1.0 - 1.0 / each)).abs() < 0.01, "{share}, not 1 - 1 / {each}");
    // Two chunks before it goes on: two seconds of video for each stall.
    assert!((late.stalls as f64 - played / 2.0).abs() <= 1.5, "{late:?}");
    assert_eq!((late.switches, late.rate_sum_bps), (0, 200_000 * late.chunks));
}

#[test]
fn a_video_ends() {
    for chunks in [1, 2, 5] {
        let outcome = client(2_000_000, App::Video(video(&[200_000, 800_000], Some(chunks))), &[1.7], 20.0);
        let of = &outcome.flows[0].video;
        assert_eq!(outcome.transfers.len(), chunks as usize);
        assert_eq!(sum(of, |s| s.chunks), u64::from(chunks));
        assert_eq!(seconds(sum(of, |s| s.played_ns)), f64::from(chunks));
        assert_eq!((sum(of, |s| s.stalls), sum(of, |s| s.started)), (0, 1), "what ends does not stall");
    }
}

fn pages(connections: u32, objects: f64, packets: f64) -> Pages {
    Pages {
        connections,
        objects: Distribution::Constant(objects),
        size: Distribution::Constant(packets),
        think: Distribution::Constant(1.0),
        count: Some(3),
        connection: Connection::Persistent,
        request: Distribution::Constant(500.0),
    }
}

#[test]
fn the_objects_of_a_page_come_at_once() {
    let outcome = client(1_000_000, App::Pages(pages(6, 6.0, 1.0)), &[], 20.0);
    let pages = &outcome.flows[0].pages;
    assert_eq!(pages.len(), 3);
    // All requests leave at once: the first is followed by all objects, back to back.
    assert_eq!(pages[0].end - pages[0].start, us(2 * DELAY + 500 * 8 + 6 * 1000 * 8));
    for pair in pages.windows(2) {
        assert_eq!(pair[1].start - pair[0].end, secs(1.0), "the client thinks");
    }
    assert!(pages.iter().all(|p| p.packets == 6));
    assert!(outcome.flows[1..].iter().all(|f| f.pages.is_empty()));
    // To the queue each connection is a flow.
    let flows: BTreeSet<u32> = outcome.links[0].log.iter().map(|fate| fate.flow.0).collect();
    assert_eq!(flows, (0..6).collect());
    assert!(
        outcome.flows.iter().all(|f| f.segments[0].sent_packets == 3),
        "each has one object of each page"
    );
}

#[test]
fn connections_share_the_objects_of_a_page() {
    // 50 objects in nine rounds of six; one after the other it takes 50.
    let took = |connections| {
        let outcome = client(10_000_000, App::Pages(pages(connections, 50.0, 1.0)), &[], 60.0);
        let pages = outcome.flows[0].pages.clone();
        assert_eq!(pages.len(), 3);
        assert_eq!(outcome.transfers.len(), 150, "each object is a transfer of its own");
        let objects: BTreeSet<u32> = outcome.transfers.iter().map(|t| t.flow).collect();
        assert_eq!(objects.len(), connections as usize);
        let alone = |t: &&quell_sim::outcome::Transfer| t.alone == Some(t.end - t.start);
        assert_eq!(outcome.transfers.iter().filter(alone).count() == 150, connections == 1);
        for page in &pages {
            let within = |t: &&quell_sim::outcome::Transfer| t.start >= page.start && t.start <= page.end;
            assert_eq!(outcome.transfers.iter().filter(within).count(), 50);
        }
        (pages[0].end - pages[0].start).as_secs_f64()
    };
    let round = 2e-6 * DELAY as f64;
    let (six, one) = (took(6), took(1));
    assert!((9.0..9.6).contains(&(six / round)), "{six}");
    assert!((50.0..51.0).contains(&(one / round)), "{one}");
}

#[test]
fn pages_without_their_connections_are_refused() {
    let network = |apps: Vec<App>| Network {
        links: vec![wire(1_000_000, us(DELAY)), wire(1_000_000, us(DELAY))],
        flows: apps
            .into_iter()
            .map(|app| FlowSpec {
                class: 0,
                ack_class: 0,
                dscp: 0,
                hosts: Default::default(),
                forward: vec![LinkId(0)],
                reverse: vec![LinkId(1)],
                traffic: Traffic::Tcp { tcp: tcp(), app },
                start: at(0.0),
                stop: None,
                timed: false,
            })
            .collect(),
        classes: vec!["client".into()],
        measure: Measure { warmup: at(0.0), end: at(1.0), boundaries: vec![], step: None },
        seed: Seed(1),
    };
    let why = |apps| run(network(apps), Engine::Fast, &Control::default()).unwrap_err().to_string();
    let (two, connection) = (App::Pages(pages(2, 1.0, 1.0)), App::Connection { of: 0 });
    assert!(why(vec![two.clone()]).contains("a flow must follow"));
    assert!(why(vec![two.clone(), App::Bulk]).contains("must be its other connections"));
    assert!(why(vec![App::Bulk, connection.clone()]).contains("flow 0 has no pages"));
    assert!(why(vec![two, connection.clone(), connection]).contains("flow 2"));
    for wrong in [
        Video { rates: vec![], ..video(&[1], None) },
        Video { rates: vec![BitRate::from_bps(2); 2], ..video(&[1], None) },
        Video { buffer: secs(2.9), ..video(&[1], None) },
        Video { averaged: 0, ..video(&[1], None) },
        Video { chunks: Some(0), ..video(&[1], None) },
    ] {
        assert!(why(vec![App::Video(wrong)]).starts_with("flow 0"));
    }
}
