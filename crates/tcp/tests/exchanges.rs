//! What a sender does, packet by packet, where others have written it down: exchanges with Linux's TCP as public
//! packetdrill scripts assert them, in packets instead of bytes (`tests/exchanges/*.toml`).

use std::path::Path;

use quell_tcp::{Block, Config, Outgoing, Sender, TcpParams};
use quell_units::{Duration, Time};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// Where it comes from.
    source: String,
    tcp: TcpParams,
    /// How long the handshake takes.
    #[serde(default = "hundred")]
    rtt_ms: u64,
    /// What is sent is not of interest.
    #[serde(default)]
    windows_only: bool,
    steps: Vec<Step>,
}

fn hundred() -> u64 {
    100
}

/// What happens, and what it makes the sender do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Time since the step before.
    #[serde(default)]
    after_ms: u64,
    /// The application gives so many packets.
    give: Option<u32>,
    /// An acknowledgment of all packets before this one, and the blocks that it reports.
    ack: Option<u32>,
    #[serde(default)]
    sack: Vec<String>,
    /// The sender's next timer runs out, whenever that is.
    #[serde(default)]
    timer: bool,
    /// The packets that are sent then.
    #[serde(default)]
    sends: Vec<String>,
    /// Windows afterwards, in whole packets, and by how many the window has grown since the step before.
    cwnd: Option<u32>,
    grows: Option<u32>,
    ssthresh: Option<u32>,
}

/// "3" or "3-5" as 3 to before 6.
fn packets(range: &str) -> Block {
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("packets: {range}"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    (number(first), number(last) + 1)
}

/// The packets that may be sent at `now`.
fn sent(cfg: &Config, sender: &mut Sender, now: Time) -> Vec<u32> {
    let mut out = Vec::new();
    while let Some(packet) = sender.poll(cfg, now) {
        out.push(match packet {
            Outgoing::Syn => 0,
            Outgoing::Data { seq, .. } => seq,
        });
    }
    out
}

fn replay(name: &str, exchange: &Exchange) {
    // As the scripts' hosts are set.
    let host = TcpParams {
        initial_window: 10,
        growth: quell_tcp::Growth::Packets,
        granularity: Duration::from_millis(1),
        initial_rto: Duration::from_secs(1),
        ..exchange.tcp.clone()
    };
    let cfg = Config::new(&host).unwrap();
    let mut sender = Sender::new(&cfg);
    let mut now = Time::ZERO;
    sender.provide(1);
    assert_eq!(sent(&cfg, &mut sender, now), [0], "{name}: SYN");
    now += Duration::from_millis(exchange.rtt_ms);
    sender.on_ack(&cfg, now, 1, false, &[]);
    let mut given = 1;
    let mut before = sender.cwnd();
    for (i, step) in exchange.steps.iter().enumerate() {
        let at = format!("{name} ({}), step {}", exchange.source, i + 1);
        now += Duration::from_millis(step.after_ms);
        assert!(
            step.timer || sender.deadline() > now,
            "{at}: a timer runs out before, at {}",
            sender.deadline()
        );
        if let Some(packets) = step.give {
            sender.provide(packets - std::mem::take(&mut given));
        }
        if let Some(ack) = step.ack {
            let blocks: Vec<Block> = step.sack.iter().map(|range| packets(range)).collect();
            sender.on_ack(&cfg, now, ack, false, &blocks);
        }
        if step.timer {
            now = sender.deadline();
            assert!(now < Time::MAX, "{at}: no timer runs");
            sender.on_timer(&cfg, now);
        }
        let expected: Vec<u32> =
            step.sends.iter().flat_map(|range| (packets(range).0)..packets(range).1).collect();
        let out = sent(&cfg, &mut sender, now);
        assert!(exchange.windows_only || out == expected, "{at}: sends {out:?}");
        let whole = |window: f64| window as u32;
        let found = (whole(sender.cwnd()), whole(sender.ssthresh()));
        step.cwnd.inspect(|cwnd| assert_eq!(found.0, *cwnd, "{at}: cwnd {}", sender.cwnd()));
        step.ssthresh.inspect(|ssthresh| assert_eq!(found.1, *ssthresh, "{at}: ssthresh"));
        step.grows.inspect(|n| {
            assert!((sender.cwnd() - before - *n as f64).abs() < 1e-9, "{at}: {before} to {}", sender.cwnd())
        });
        before = sender.cwnd();
    }
}

#[test]
fn senders_do_what_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchanges");
    let mut count = 0;
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let exchange: Exchange = toml::from_str(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Err(panic) = std::panic::catch_unwind(|| replay(&name, &exchange)) {
            failures.push(panic.downcast_ref::<String>().cloned().unwrap_or_default());
        }
        count += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(count, 13);
}
