//! The traces that a run keeps.

use std::collections::HashMap;

use crate::common::*;
use quell_aqm::{Cause, Ecn};
use quell_sim::network::{App, FlowSpec, LinkId, Network, Responsiveness, Traffic};
use quell_sim::outcome::{Counts, Outcome};
use quell_sim::trace::{
    Chosen, FoundBy, PacketKind, PacketWhat, Phase, SenderWhat, Trace, TraceRequest, TracedFlow,
};
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, Recovery, TcpParams};
use quell_units::Time;

fn everything() -> TraceRequest {
    TraceRequest { senders: Chosen::All, step: None, events: true, links: Chosen::All, packets: Chosen::All }
}

fn traced(network: Network, engine: Engine, request: TraceRequest, parts: Option<usize>) -> (Outcome, Trace) {
    let control = Control { trace: Some(request), parts, ..Control::default() };
    let mut outcome = run(network, engine, &control).unwrap();
    let trace = *outcome.trace.take().unwrap();
    (outcome, trace)
}

fn crowded() -> Dumbbell {
    Dumbbell { flows: 12, buffer: 20.0, end: 12.0, warmup: 4.0, ..Default::default() }
}

fn sum(outcome: &Outcome, link: usize, of: fn(&Counts) -> u64) -> u64 {
    outcome.links[link].segments.iter().flat_map(|s| &s.classes).map(|c| of(&c.counts)).sum()
}

/// What the trace says of the measured window is what the recorders counted.
#[test]
fn events_at_a_link_are_what_its_recorder_counts() {
    let (outcome, trace) = traced(crowded().network(), Engine::Fast, everything(), None);
    assert_eq!(trace.links.len(), outcome.links.len());
    for (i, link) in trace.links.iter().enumerate() {
        let segments = &outcome.links[i].segments;
        let (from, to) = (segments[0].from, segments[segments.len() - 1].to);
        let mut now = Time::ZERO;
        let (mut arrived, mut sent, mut marked, mut lost, mut seen, mut waited) = (0, 0, 0, 0, 0, 0);
        let (mut dropped, mut bytes) = ([0; 3], 0);
        let mut waiting: HashMap<u32, Time> = HashMap::new();
        for event in &link.events {
            assert!(event.time >= now, "events at a link are in the order of time");
            now = event.time;
            let packet = &trace.packets[event.packet as usize];
            assert!(packet.sent <= event.time);
            let within = (from..to).contains(&now);
            match event.what {
                PacketWhat::Enqueued => {
                    assert!(waiting.insert(event.packet, now).is_none());
                    arrived += within as u64;
                    seen += if within { u64::from(event.queue_packets) } else { 0 };
                }
                PacketWhat::Marked { .. } => assert_eq!(event.ecn.1, Ecn::Ce),
                PacketWhat::Dropped { cause, .. } => {
                    if waiting.remove(&event.packet).is_none() {
                        arrived += within as u64;
                        seen += if within { u64::from(event.queue_packets) } else { 0 };
                    }
                    let which = match cause {
                        Cause::Early => 0,
                        Cause::Forced => 1,
                        Cause::Overflow => 2,
                    };
                    dropped[which] += within as u64;
                }
                PacketWhat::Dequeued { lost: gone } => {
                    let came = waiting.remove(&event.packet).expect("what leaves came before");
                    assert_eq!(now - came, event.waited);
                    if within {
                        (sent, lost) = (sent + 1, lost + gone as u64);
                        marked += (event.ecn.0 != Ecn::Ce && event.ecn.1 == Ecn::Ce) as u64;
                        waited += event.waited.nanos();
                        bytes += u64::from(packet.bytes);
                    }
                }
            }
        }
        assert_eq!(arrived, sum(&outcome, i, |c| c.arrived));
        assert_eq!(seen, sum(&outcome, i, |c| c.queue_seen_packets));
        assert_eq!((sent, bytes), (sum(&outcome, i, |c| c.departed), sum(&outcome, i, |c| c.departed_bytes)));
        assert_eq!((marked, lost), (sum(&outcome, i, |c| c.marked), sum(&outcome, i, |c| c.lost)));
        assert_eq!(waited, sum(&outcome, i, |c| c.delay_sum_ns));
        let counted: [fn(&Counts) -> u64; 3] =
            [|c| c.dropped_early, |c| c.dropped_forced, |c| c.dropped_overflow];
        assert_eq!(dropped, counted.map(|of| sum(&outcome, i, of)));
    }
    let drops = sum(&outcome, 0, Counts::dropped);
    assert!(drops > 100, "{drops} drops: the buffer is small");
}

/// The counters of the last sample are those of the flow, from time zero on.
fn assert_totals(outcome: &Outcome, flow: &TracedFlow) {
    let last = flow.samples.last().unwrap();
    let segments = &outcome.flows[flow.flow as usize].segments;
    let sum = |of: fn(&quell_sim::outcome::FlowSegment) -> u64| segments.iter().map(of).sum::<u64>();
    assert_eq!(last.sent, sum(|s| s.sent_packets), "flow {}", flow.flow);
    assert_eq!(last.retransmitted, sum(|s| s.retransmitted_packets));
    assert_eq!(
        (last.timeouts, last.fast_retransmits, last.ecn_responses),
        (sum(|s| s.timeouts), sum(|s| s.fast_retransmits), sum(|s| s.ecn_responses))
    );
    let events =
        |which: fn(&SenderWhat) -> bool| flow.events.iter().filter(|e| which(&e.what)).count() as u64;
    assert_eq!(events(|w| matches!(w, SenderWhat::Sent { seq: 1.., .. })), last.sent);
    assert_eq!(events(|w| matches!(w, SenderWhat::Sent { seq: 1.., again: true, .. })), last.retransmitted);
    let acked =
        flow.events.iter().map(|e| if let SenderWhat::Acked { newly, .. } = e.what { newly } else { 0 });
    assert_eq!(acked.map(u64::from).sum::<u64>(), last.delivered);
    // The receiver has all that the sender knows of, and what is on its way back.
    let delivered = sum(|s| s.delivered_bytes) / u64::from(flow.payload);
    assert!(last.delivered <= delivered && delivered <= last.delivered + 200, "{delivered} {last:?}");
}

#[test]
fn counters_of_senders_are_those_of_the_flow() {
    // No warm-up: segments are all of the run.
    let d = Dumbbell { warmup: 0.0, ..crowded() };
    let (outcome, trace) = traced(d.network(), Engine::Fast, everything(), None);
    assert_eq!(trace.flows.len(), outcome.flows.len());
    trace.flows.iter().for_each(|flow| assert_totals(&outcome, flow));
    let lost = |by| {
        let events = trace.flows.iter().flat_map(|f| &f.events);
        events.filter(|e| matches!(e.what, SenderWhat::Lost { by: b, .. } if b == by)).count()
    };
    assert!(lost(FoundBy::DuplicateAcks) > 20 && lost(FoundBy::Timeout) > 20);
    let phases = |phase| trace.flows.iter().all(|f| f.samples.iter().any(|s| s.phase == phase));
    assert!(phases(Phase::SlowStart) && phases(Phase::CongestionAvoidance) && phases(Phase::Handshake));
}

/// What comes back of all packets is what went, each at its own time and with its own number.
#[test]
fn packets_have_the_numbers_that_senders_gave_them() {
    let (_, trace) = traced(crowded().network(), Engine::Fast, everything(), None);
    for flow in &trace.flows {
        let mut sent: HashMap<(Time, u32), u32> = HashMap::new();
        for event in &flow.events {
            if let SenderWhat::Sent { seq, .. } = event.what {
                *sent.entry((event.time, seq)).or_default() += 1;
            }
        }
        for packet in trace.packets.iter().filter(|p| p.flow == flow.flow && p.forward) {
            let left = sent.get_mut(&(packet.sent, packet.number)).expect("a packet that was sent");
            *left = left.checked_sub(1).expect("and once");
        }
    }
    let kinds = |kind| trace.packets.iter().filter(|p| p.kind == kind).count();
    assert_eq!(kinds(PacketKind::SynAck) > 0, kinds(PacketKind::Ack) > 0);
    assert!(kinds(PacketKind::Syn) >= 12 && kinds(PacketKind::Data) > 1000);
}

/// Both engines, and one thread as well as several, keep the same trace, and the digest is that of a run without.
#[test]
fn a_trace_is_the_same_wherever_it_is_kept() {
    let params = [
        TcpParams::default(),
        TcpParams { recovery: Recovery::Sack, ..TcpParams::default() },
        TcpParams { recovery: Recovery::Rack, congestion: CongestionControl::Cubic, ..TcpParams::default() },
    ];
    for tcp in params {
        let network = || {
            let mut network = crowded().network();
            for flow in &mut network.flows {
                if let Traffic::Tcp { tcp: own, .. } = &mut flow.traffic {
                    *own = tcp.clone();
                }
            }
            network
        };
        let plain = run(network(), Engine::Fast, &Control::default()).unwrap();
        let (fast, trace) = traced(network(), Engine::Fast, everything(), None);
        assert_eq!(fast, plain);
        let (reference, same) = traced(network(), Engine::Reference, everything(), None);
        assert_eq!(reference.digest, plain.digest);
        assert_eq!(trace.flows, same.flows);
        assert_eq!(trace.packets, same.packets);
        assert_eq!(trace.links, same.links);
        let (_, parts) = traced(network(), Engine::Fast, everything(), Some(4));
        assert!(parts == trace);
    }
}

#[test]
fn samples_at_a_step_are_equally_spaced_and_those_that_changes_leave() {
    let request = |step| TraceRequest { step, ..everything() };
    let (_, each) = traced(crowded().network(), Engine::Fast, request(None), None);
    let (_, stepped) = traced(crowded().network(), Engine::Fast, request(Some(secs(0.01))), None);
    for (each, stepped) in each.flows.iter().zip(&stepped.flows) {
        assert_eq!(stepped.samples.len(), 1201);
        for (i, sample) in (0..).zip(&stepped.samples) {
            assert_eq!(sample.time.nanos(), i * 10_000_000);
            // What happens at the time of a sample comes after it.
            if let Some(last) = each.samples.iter().take_while(|s| s.time < sample.time).last() {
                assert_eq!(*sample, quell_sim::trace::SenderSample { time: sample.time, ..*last });
            }
        }
    }
}

/// Chosen flows and links are traced, and no others.
#[test]
fn what_is_not_chosen_is_not_traced() {
    let request = TraceRequest {
        senders: Chosen::These(vec![3]),
        links: Chosen::These(vec![LinkId(0)]),
        packets: Chosen::These(vec![5, 7]),
        ..TraceRequest::default()
    };
    let (outcome, trace) = traced(crowded().network(), Engine::Fast, request, None);
    let flows: Vec<_> = trace.flows.iter().map(|f| (f.flow, f.samples.is_empty())).collect();
    assert_eq!(flows, [(3, false), (5, true), (7, true)]);
    assert!(trace.flows.iter().all(|f| f.events.is_empty()));
    assert_eq!(trace.links.len(), 1);
    assert_eq!(trace.links[0].name, outcome.links[0].name);
    assert!(trace.packets.iter().all(|p| [5, 7].contains(&p.flow)) && trace.packets.len() > 500);
    let unknown = Control {
        trace: Some(TraceRequest { links: Chosen::These(vec![LinkId(999)]), ..Default::default() }),
        ..Default::default()
    };
    assert!(run(crowded().network(), Engine::Fast, &unknown).unwrap_err().to_string().contains("999"));
}

/// A window of one packet, and flows that end.
#[test]
fn a_window_of_one_and_a_flow_that_ends_are_traced_to_their_end() {
    let mut network = Dumbbell { flows: 2, warmup: 0.0, end: 20.0, ..Default::default() }.network();
    let stop = Time::ZERO + secs(5.0);
    for FlowSpec { traffic, stop: ends, .. } in &mut network.flows {
        if let Traffic::Tcp { tcp, app } = traffic {
            (tcp.max_window, tcp.initial_window) = (1, 1);
            assert!(matches!(app, App::Bulk));
        }
        *ends = Some(stop);
    }
    let (outcome, trace) = traced(network, Engine::Fast, everything(), None);
    for flow in &trace.flows {
        assert_totals(&outcome, flow);
        let last = flow.samples.last().unwrap();
        assert_eq!((last.in_flight, last.delivered), (0, last.sent));
        assert!(last.time > stop && last.time < stop + secs(1.0));
        assert!(flow.samples.iter().all(|s| s.in_flight <= 1));
    }
}

/// The connections of a test's load are TCP's; what its probes send on connections of their own has no numbers, and is
/// traced as datagrams both ways, with the sizes that they have on the wire.
#[test]
fn probes_on_connections_of_their_own_are_datagrams() {
    let most = 2;
    for upload in [false, true] {
        let network = || {
            let mut network = Dumbbell { flows: 1, end: 5.0, warmup: 1.0, ..Default::default() }.network();
            let app = App::Responsiveness(Responsiveness {
                upload,
                initial: 1,
                added: 1,
                most,
                interval: secs(1.0),
                averaged: 4,
                tolerance: 0.05,
                probes_per_second: 20.0,
                share: 1.0,
                unsent: 0,
            });
            network.links.iter_mut().for_each(|link| link.observe = true);
            let others = app.flows() - 1;
            let own = &mut network.flows[0];
            let Traffic::Tcp { app: all, .. } = &mut own.traffic else { panic!("it is TCP") };
            *all = app;
            let one = own.clone();
            network.flows.extend((0..others).map(|_| {
                let Traffic::Tcp { tcp, .. } = one.traffic.clone() else { panic!("it is TCP") };
                let traffic = Traffic::Tcp { tcp, app: App::Connection { of: 0 } };
                FlowSpec { traffic, ..one.clone() }
            }));
            network
        };
        let plain = run(network(), Engine::Fast, &Control::default()).unwrap();
        let (outcome, trace) = traced(network(), Engine::Fast, everything(), None);
        assert_eq!(outcome, plain);
        let (_, same) = traced(network(), Engine::Reference, everything(), None);
        assert_eq!(trace.packets, same.packets);
        for flow in &trace.flows {
            assert_eq!(flow.tcp, flow.flow < most, "flow {}", flow.flow);
            assert!(flow.tcp || flow.samples.is_empty() && flow.events.is_empty());
        }
        let sizes = |forward| {
            let probes = trace.packets.iter().filter(|p| p.flow >= most && p.forward == forward);
            let mut sizes: Vec<u16> = probes.map(|p| p.bytes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        // A SYN, a hello, a request; its answer, a certificate in packets of 1000 bytes and a rest, a reply.
        let wire = trace.flows[0].wire as u16;
        let mut answers = vec![40, 300, 3600 % wire, wire];
        answers.sort_unstable();
        assert_eq!((sizes(upload), sizes(!upload)), (vec![40, 300, 600], answers), "upload: {upload}");
        for packet in &trace.packets {
            let plain = (packet.number, packet.connection, packet.again, packet.ece, packet.cwr);
            if packet.flow >= most {
                assert_eq!((packet.kind, plain), (PacketKind::Datagram, (0, 0, false, false, false)));
                assert_eq!((packet.marks, packet.echo, packet.block_count), (None, None, 0));
            } else {
                assert_ne!(packet.kind, PacketKind::Datagram);
            }
        }
        let of_load = |kind| trace.packets.iter().filter(|p| p.flow < most && p.kind == kind).count();
        let (data, acks) = (of_load(PacketKind::Data), of_load(PacketKind::Ack));
        assert!(data > 200 && acks > 100, "{data} of data, {acks} acknowledgments");
    }
}
