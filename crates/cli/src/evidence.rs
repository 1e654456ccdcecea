//! Measurements beside a capture: the JSON of iperf3 (`iperf3 --json`) and of irtt (`irtt client -o FILE`).

use std::path::Path;

use quell_files::Limit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// What a test with iperf3 measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iperf3 {
    /// The beginning of the test, in seconds since 1970; none in old versions.
    pub start_s: Option<f64>,
    /// Its length, in seconds.
    pub duration_s: f64,
    /// From the client to the server.
    pub up: Option<Transfer>,
    /// From the server to the client.
    pub down: Option<Transfer>,
}

/// One direction of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// Bytes of payload per time that were received, in bit/s.
    pub received_bps: f64,
    /// TCP: segments that were sent again.
    pub retransmits: Option<u64>,
    /// UDP: the share of datagrams that were lost.
    pub loss_share: Option<f64>,
    /// TCP: the shortest and the mean smoothed round trip of its sockets, where the sender says them.
    pub round_trips_s: Option<[f64; 2]>,
}

/// What a test with irtt measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Irtt {
    /// The round trips measured.
    pub packets: u64,
    /// The shortest one.
    pub least_s: f64,
    /// The quantiles 50, 95 and 99%.
    pub quantiles_s: [f64; 3],
    /// The share of packets lost on the way up, if the server tells.
    pub up_loss_share: f64,
    /// The share of packets lost on the way down.
    pub down_loss_share: f64,
    /// The rate of its own packets, in bit/s.
    pub rate_bps: f64,
}

#[derive(Deserialize)]
struct Iperf3File {
    /// What went wrong, if something did.
    error: Option<String>,
    #[serde(default)]
    start: Start,
    #[serde(default)]
    end: End,
}

#[derive(Default, Deserialize)]
struct Start {
    timestamp: Option<Timestamp>,
    test_start: Option<TestStart>,
}

#[derive(Deserialize)]
struct Timestamp {
    timesecs: f64,
}

#[derive(Deserialize)]
struct TestStart {
    protocol: String,
    #[serde(default)]
    reverse: u8,
}

#[derive(Default, Deserialize)]
struct End {
    #[serde(default)]
    streams: Vec<Stream>,
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_sent_bidir_reverse: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
}

#[derive(Deserialize)]
struct Stream {
    sender: Option<Sender>,
}

#[derive(Deserialize)]
struct Sender {
    /// It is the client that sends on it.
    #[serde(default)]
    sender: bool,
    /// In microseconds; 0 where the server sends.
    min_rtt: Option<f64>,
    mean_rtt: Option<f64>,
}

#[derive(Deserialize)]
struct Sum {
    #[serde(default)]
    seconds: f64,
    bits_per_second: f64,
    retransmits: Option<u64>,
    lost_percent: Option<f64>,
}

/// Reads what iperf3 wrote with `--json`, of one direction or (`--bidir`) of both.
pub fn iperf3(path: &Path) -> Result<Iperf3, Failure> {
    let said = quell_files::name(path);
    let file: Iperf3File = read(path, "iperf3 --json", Limit::of_data("a file of iperf3"))?;
    if let Some(error) = &file.error {
        return Err(bad_input!("{said}: iperf3 failed: {error}; run it again"));
    }
    let test = file.start.test_start;
    let (udp, reverse) = test.map_or((false, false), |test| (test.protocol == "UDP", test.reverse != 0));
    let end = file.end;
    let trips = |of_client: bool| {
        let of: Vec<&Sender> = end.streams.iter().filter_map(|s| s.sender.as_ref()).collect();
        let of = of.into_iter().filter(|sender| sender.sender == of_client);
        let pairs: Vec<(f64, f64)> =
            of.filter_map(|s| s.min_rtt.zip(s.mean_rtt)).filter(|(least, _)| *least > 0.0).collect();
        let least = pairs.iter().map(|(least, _)| *least).fold(f64::INFINITY, f64::min);
        let mean = pairs.iter().map(|(_, mean)| mean).sum::<f64>() / pairs.len() as f64;
        (!pairs.is_empty()).then_some([least / 1e6, mean / 1e6])
    };
    let transfer = |sent: &Option<Sum>, received: &Option<Sum>, of_client: bool| {
        let received = received.as_ref().or(if udp { end.sum.as_ref() } else { None })?;
        let is_sound = received.bits_per_second.is_finite() && received.bits_per_second >= 0.0;
        let lost = received.lost_percent.or_else(|| end.sum.as_ref().and_then(|sum| sum.lost_percent));
        is_sound.then(|| Transfer {
            received_bps: received.bits_per_second,
            retransmits: sent.as_ref().and_then(|sent| sent.retransmits),
            loss_share: lost.filter(|_| udp).map(|percent| percent / 100.0),
            round_trips_s: trips(of_client),
        })
    };
    let forward = transfer(&end.sum_sent, &end.sum_received, !reverse);
    let back = transfer(&end.sum_sent_bidir_reverse, &end.sum_received_bidir_reverse, false)
        .filter(|_| end.sum_received_bidir_reverse.is_some());
    let (up, down) = if reverse { (back, forward) } else { (forward, back) };
    if up.is_none() && down.is_none() {
        return Err(bad_input!(
            "{said}: no end.sum_received in it: it is not from iperf3 --json, or the test was broken off; run it again"
        ));
    }
    let duration_s = end.sum_received.as_ref().or(end.sum.as_ref()).map_or(0.0, |sum| sum.seconds);
    Ok(Iperf3 { start_s: file.start.timestamp.map(|at| at.timesecs), duration_s, up, down })
}

#[derive(Deserialize)]
struct IrttFile {
    stats: IrttStats,
    #[serde(default)]
    round_trips: Vec<IrttTrip>,
}

#[derive(Deserialize)]
struct IrttStats {
    /// In nanoseconds.
    rtt: IrttTimes,
    #[serde(default)]
    upstream_loss_percent: f64,
    #[serde(default)]
    downstream_loss_percent: f64,
    send_rate: Option<IrttRate>,
}

#[derive(Deserialize)]
struct IrttTimes {
    n: u64,
    min: f64,
}

#[derive(Deserialize)]
struct IrttRate {
    bps: f64,
}

#[derive(Deserialize)]
struct IrttTrip {
    delay: Option<IrttDelay>,
}

#[derive(Deserialize)]
struct IrttDelay {
    rtt: Option<f64>,
}

/// Reads what irtt wrote with `-o FILE`, plain or compressed.
pub fn irtt(path: &Path) -> Result<Irtt, Failure> {
    let said = quell_files::name(path);
    let file: IrttFile = read(path, "irtt client -o FILE", Limit::of_data("a file of irtt"))?;
    let mut trips: Vec<f64> =
        file.round_trips.iter().filter_map(|trip| trip.delay.as_ref()?.rtt).filter(|t| *t >= 0.0).collect();
    trips.sort_by(f64::total_cmp);
    let (Some(_), true) = (trips.first(), file.stats.rtt.n > 0) else {
        return Err(bad_input!("{said}: no round trip in it: no answer came, or the test was broken off"));
    };
    let at = |quantile: f64| {
        let rank = (quantile * trips.len() as f64).ceil() as usize;
        trips[rank.clamp(1, trips.len()) - 1] / 1e9
    };
    Ok(Irtt {
        packets: file.stats.rtt.n,
        least_s: file.stats.rtt.min / 1e9,
        quantiles_s: [0.5, 0.95, 0.99].map(at),
        up_loss_share: file.stats.upstream_loss_percent / 100.0,
        down_loss_share: file.stats.downstream_loss_percent / 100.0,
        rate_bps: file.stats.send_rate.map_or(0.0, |rate| rate.bps),
    })
}

fn read<T: DeserializeOwned>(path: &Path, maker: &str, limit: Limit) -> Result<T, Failure> {
    let said = quell_files::name(path);
    let read = quell_files::open_within(path, limit).and_then(quell_files::unpacked);
    let bytes = read.and_then(|input| quell_files::read_all(input, limit));
    let bytes = bytes.map_err(|e| bad_input!("{said}: cannot read: {e}"))?;
    serde_json::from_slice(&bytes).map_err(|e| bad_input!("{said}: not the JSON of {maker}: {e}"))
}
