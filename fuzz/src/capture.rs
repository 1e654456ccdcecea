//! The fuzz target of captures: any bytes as a capture, and any packets in both formats.

use std::io::Read;

use arbitrary::Unstructured;
use quell_capture::{ArrivalOptions, Direction, Format, Interval, Options, Report, arrivals, measure};
use quell_units::Duration;

/// Bytes that begin as a capture does are read as one; others spell packets, which are the same in pcap and in pcapng,
/// whatever the order of bytes.
pub fn capture(data: &[u8]) {
    match data {
        [0xA1 | 0xD4 | 0x4D | 0x0A, ..] => any_capture(data),
        data => made_capture(&mut Unstructured::new(data)).unwrap_or_default(),
    }
}

fn any_capture(data: &[u8]) {
    let options = Options::default();
    let Some((report, intervals)) = measured(data, &options) else { return };
    check(&report, &intervals, data.len());
    // However the bytes come, and with whatever intervals.
    let (again, _) = measured(Slow(data, 0), &options).expect("it was measured before");
    assert_eq!(as_text(&report), as_text(&again));
    let options = Options { interval: Duration::from_millis(7), ..options };
    let (other, intervals) = measured(data, &options).expect("it was measured before");
    check(&other, &intervals, data.len());
    assert_eq!((report.packets, report.bytes, report.damage), (other.packets, other.bytes, other.damage));
    any_arrivals(data, &report);
}

/// Each packet that `measure` reads is an arrival, in order of time, or there is a reason.
fn any_arrivals(data: &[u8], report: &Report) {
    let options = ArrivalOptions {
        directions: Some(Direction::BOTH.to_vec()),
        partial: true,
        most: usize::MAX,
        ..ArrivalOptions::default()
    };
    match arrivals(data, &options) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(found) => {
            assert_eq!(found.packets.len() as u64 + found.unreadable, report.packets);
            assert!(found.packets.is_sorted_by_key(|packet| packet.time));
            assert!(found.packets.iter().all(|packet| packet.bytes > 0 && packet.flow < found.flows));
        }
    }
    if report.damage.is_some() {
        assert!(arrivals(data, &ArrivalOptions { partial: false, ..options }).is_err());
    }
}

fn measured(input: impl Read, options: &Options) -> Option<(Report, Vec<Interval>)> {
    let mut intervals = Vec::new();
    let report = measure(input, options, |interval| intervals.push(*interval));
    report.inspect_err(|e| assert!(!e.to_string().is_empty())).ok().map(|report| (report, intervals))
}

/// A report without what is not a number, which differs from itself.
fn as_text(report: &Report) -> String {
    format!("{report:?}")
}

fn check(report: &Report, intervals: &[Interval], length: usize) {
    assert_eq!(report.interval_count, intervals.len() as u64);
    let sum = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    let (up, down) = (&report.directions[0], &report.directions[1]);
    assert_eq!((up.packets, up.bytes), (sum(|i| i.up.packets), sum(|i| i.up.bytes)));
    assert_eq!((down.packets, down.bytes), (sum(|i| i.down.packets), sum(|i| i.down.bytes)));
    assert_eq!(sum(|i| i.new_connections), report.new_connections);
    assert_eq!(sum(|i| i.handshakes), report.round_trips.map_or(0, |trips| trips.handshakes));
    let unknown = report.unknown_link.map_or(0, |(packets, _)| packets);
    let all = up.packets + down.packets + report.not_ip + unknown + report.untimed;
    assert_eq!(report.packets, all, "each packet counts once");
    assert_eq!(report.not_ip, report.not_ip_kinds.iter().map(|kind| kind.packets).sum::<u64>());
    assert!(report.duration_s >= 0.0);
    if let Some(damage) = report.damage {
        assert_eq!(damage.at_byte + damage.unread_bytes, length as u64, "{damage:?}");
        assert!(!damage.why.is_empty());
    }
    for direction in &report.directions {
        let shares = [direction.ect_share, direction.ce_share, direction.retransmitted_share];
        assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)));
        assert!(direction.rate_bps.is_none_or(|rate| rate.is_finite() && rate >= 0.0));
    }
}

/// A file of which each read gives a few bytes.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 61 + 1;
        let n = self.1.min(to.len()).min(self.0.len());
        to[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

/// A packet before it is written.
struct Frame {
    nanos: u64,
    length: u32,
    bytes: Vec<u8>,
}

fn made_capture(u: &mut Unstructured) -> arbitrary::Result<()> {
    let link = u16::from(u.arbitrary::<u8>()?);
    let mut now = 1_700_000_000_000_000_000;
    let mut frames = Vec::new();
    while !u.is_empty() && frames.len() < 400 {
        let [scale, step] = u.arbitrary::<[u8; 2]>()?;
        now += u64::from(step) * 10u64.pow(u32::from(scale % 11));
        let (link, bytes) = (link % 4, segment(u)?);
        let (ether, bytes) = match link {
            0 => ([&[2; 12][..], &[8, 0], &bytes].concat(), 14),
            1 => ([&[2; 12][..], &[0x81, 0, 0, 7, 8, 0], &bytes].concat(), 18),
            _ => (bytes, 0),
        };
        let length = ether.len() as u32 + u32::from(u.arbitrary::<u8>()?) * 6;
        let kept = if u.ratio(1, 8)? { (bytes + 20).min(ether.len()) } else { ether.len() };
        frames.push(Frame { nanos: now, length, bytes: ether[..kept].to_vec() });
    }
    // Ethernet or raw IP.
    let link = if link % 4 < 2 { 1 } else { 101 };
    let options = Options::default();
    let mut texts = Vec::new();
    for file in [pcap(&frames, link, true), pcap(&frames, link, false), pcapng(&frames, link)] {
        let (mut report, intervals) = measured(&file[..], &options).expect("it is a capture");
        check(&report, &intervals, file.len());
        assert_eq!((report.packets, report.damage, report.unreadable), (frames.len() as u64, None, 0));
        assert_eq!(report.bytes, frames.iter().map(|frame| u64::from(frame.length)).sum::<u64>());
        (report.format, report.dropped) = (Format::Pcap, None);
        texts.push((as_text(&report), format!("{intervals:?}")));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    Ok(())
}

/// An IPv4 packet of a few connections: TCP that may follow from what came before, or anything.
fn segment(u: &mut Unstructured) -> arbitrary::Result<Vec<u8>> {
    let [ends, flags, ecn, options] = u.arbitrary::<[u8; 4]>()?;
    let (seq, ack, size) = (u.arbitrary::<u8>()?, u.arbitrary::<u8>()?, u.arbitrary::<u8>()?);
    let payload = usize::from(size % 3) * 200;
    let protocol = if ends & 0x80 == 0 { 6 } else { size };
    let (from, to) = if ends & 1 == 0 { (1, 2) } else { (2, 1) };
    let host = ends >> 1 & 3;
    let total = (40 + payload) as u16;
    let mut packet = vec![0x45, ecn];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, if ends & 0x40 == 0 { 0 } else { options }, 0, 64, protocol, 0, 0]);
    packet.extend([10, 0, host, from, 10, 0, host, to]);
    let port = |end: u8| 1000 + 100 * u16::from(end) + u16::from(ends >> 3 & 3);
    packet.extend(port(from).to_be_bytes());
    packet.extend(port(to).to_be_bytes());
    packet.extend((u32::from(seq) * 200).to_be_bytes());
    packet.extend((u32::from(ack) * 200).to_be_bytes());
    packet.extend([0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
    packet.resize(usize::from(total), size);
    Ok(packet)
}

fn pcap(frames: &[Frame], link: u16, big: bool) -> Vec<u8> {
    let word = |x: u32| if big { x.to_be_bytes() } else { x.to_le_bytes() };
    let half = |x: u16| if big { x.to_be_bytes() } else { x.to_le_bytes() };
    let mut file = word(0xA1B2_3C4D).to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([word(0), word(0), word(65_535), word(link.into())].concat());
    for Frame { nanos, length, bytes } in frames {
        let (s, ns) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        file.extend([s as u32, ns as u32, bytes.len() as u32, *length].map(word).concat());
        file.extend(bytes);
    }
    file
}

fn pcapng(frames: &[Frame], link: u16) -> Vec<u8> {
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let body = [body, &[0; 3][..body.len().next_multiple_of(4) - body.len()]].concat();
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    }
    let mut file =
        block(0x0A0D_0D0A, &[0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    // if_tsresol = 9: nanoseconds.
    file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6], &[9, 0, 1, 0, 9, 0, 0, 0]].concat()));
    for Frame { nanos, length, bytes } in frames {
        let head = [0, (nanos >> 32) as u32, *nanos as u32, bytes.len() as u32, *length];
        file.extend(block(6, &[&head.map(u32::to_le_bytes).concat()[..], bytes].concat()));
    }
    file
}
