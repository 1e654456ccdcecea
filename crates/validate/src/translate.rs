//! A translation of the parameters of `ns2/dumbbell.tcl` into a scenario of Quell, by rules that hold for every
//! case. Where the two name or count a thing differently, the rule says so.

use std::fmt::Write;

use quell_units::{BitRate, Bytes, Duration, QueueSize};

use crate::parameters::Parameters;

/// The scenario as a user would write it, for the starts and stops that a run drew (`events`).
///
/// # Errors
/// Names what Quell does not have.
pub fn scenario(case: &str, p: &Parameters, events: &str, seeds: &[u64]) -> Result<String, String> {
    let mut text = format!("schema = 1\ntitle = \"ns-2: {case}\"\n");
    let mut say = |line: String| text.push_str(&(line + "\n"));
    say(format!("duration = \"{}\"", seconds(p.number("dur"))));
    say(format!("warmup = \"{}\"", seconds(p.number("warm"))));
    if p.number("seg") > 0.0 {
        say(format!("segments = \"{}\"", seconds(p.number("seg"))));
    }
    say(format!("seeds = {seeds:?}"));
    say(format!("mean_packet = \"{}\"", Bytes::new(p.count("meanpkt").into())));
    say(dumbbell(p));
    say(aqm(p)?);
    flows(p, events, &mut text)?;
    Ok(text)
}

fn dumbbell(p: &Parameters) -> String {
    let mut text = format!(
        "\n[dumbbell]\nrate = \"{}\"\ndelay = \"{}\"\nbuffer = \"{}\"\necn = {}\naccess_rate = \"{}\"\n",
        rate(p.number("cap")),
        milliseconds(p.number("bdel")),
        buffer(p.text("aqm"), p.number("buf"), p),
        p.is_set("ecn"),
        rate(p.number("accbw")),
    );
    if p.text("revaqm") == "same" {
        text.push_str("reverse = { aqm = \"same\" }\n");
    } else {
        assert_eq!(p.text("revaqm"), "DropTail", "the only other algorithm there");
        let limit = if p.is_set("revbuf") { p.number("revbuf") } else { 100_000.0 };
        let _ = write!(
            text,
            "\n[dumbbell.reverse]\naqm = {{ algorithm = \"drop-tail\" }}\nbuffer = \"{}\"\n",
            buffer("DropTail", limit, p)
        );
    }
    text
}

/// ns-2's drop-tail and REM hold one packet less than their limit; the others hold it. In byte mode a
/// limit is in mean packets, and a drop-tail queue has to stay below it. (A drop-tail queue beside
/// another algorithm is never in byte mode.)
fn buffer(algorithm: &str, limit: f64, p: &Parameters) -> QueueSize {
    let below = matches!(algorithm, "DropTail" | "REM");
    let in_bytes = p.is_set("bytes") && algorithm == p.text("aqm");
    match in_bytes {
        true => QueueSize::Bytes(limit * p.number("meanpkt") - f64::from(u8::from(below))),
        false => QueueSize::Packets(limit - f64::from(u8::from(below))),
    }
}

/// A length given in packets of the mean size, in the unit in which the queue is measured.
fn length(packets: f64, p: &Parameters) -> QueueSize {
    match p.is_set("bytes") {
        true => QueueSize::Bytes(packets * p.number("meanpkt")),
        false => QueueSize::Packets(packets),
    }
}

fn aqm(p: &Parameters) -> Result<String, String> {
    let mut text = "[[aqm]]\n".to_string();
    let mut set = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    let quoted = |q: QueueSize| format!("\"{q}\"");
    match p.text("aqm") {
        "DropTail" => set("algorithm", "\"drop-tail\"".into()),
        "RED" => {
            // ns-2's Feng RED is a variant of its Adaptive RED, and bounds max_p no more than the paper.
            let feng = p.is_set("fengad");
            let adaptive = p.is_set("adaptive") && !feng;
            let algorithm = match (feng, adaptive) {
                (true, _) => "feng-ared",
                (false, true) => "ared",
                (false, false) => "red",
            };
            set("algorithm", format!("\"{algorithm}\""));
            if feng {
                set("alpha", p.text("alpha").into());
                set("beta", p.text("beta").into());
            }
            set("min_th", quoted(length(p.number("minth"), p)));
            set("max_th", quoted(length(p.number("maxth"), p)));
            set("max_p", p.text("maxp").into());
            set("weight", p.number("wq").to_string());
            // Without it ns-2 counts the arriving packet too, unlike the paper's uniform gaps.
            set("spacing", if p.is_set("wait") { "\"wait\"" } else { "\"uniform-pseudocode\"" }.into());
            // ns-2 signals nobody while the queue is not longer than one packet, or one byte.
            set("min_backlog", if p.is_set("bytes") { "1" } else { "2" }.into());
            if p.is_set("ecn") && p.is_set("usemarkp") {
                set("mark_limit", p.text("markp").into());
            }
            match (adaptive, p.is_set("gentle")) {
                (true, true) => {
                    set("alpha", p.text("alpha").into());
                    set("beta", p.text("beta").into());
                    set("interval", format!("\"{}\"", seconds(p.number("interval"))));
                    set("max_p_top", p.text("top").into());
                    set("max_p_bottom", p.text("bottom").into());
                }
                (true, false) => return Err("Quell's ARED is always gentle".into()),
                (false, gentle) => set("gentle", gentle.to_string()),
            }
            by_size(p, set);
        }
        "PI" => {
            set("algorithm", "\"pi\"".into());
            set("a", p.number("a").to_string());
            set("b", p.number("b").to_string());
            set("q_ref", quoted(length(p.number("qref"), p)));
            set("sampling_rate", p.text("w").into());
            by_size(p, set);
        }
        "REM" => {
            set("algorithm", "\"rem\"".into());
            set("gamma", p.text("rgamma").into());
            set("phi", p.text("rphi").into());
            set("alpha", "0.1".into()); // a constant of ns-2's
            set("q_ref", quoted(length(p.number("qref"), p)));
            set("update_interval", format!("\"{}\"", seconds(p.number("rupd"))));
            set("mark_at", "\"departure\"".into());
            by_size(p, set);
        }
        "Vq" => {
            set("algorithm", "\"avq\"".into());
            set("phi", "0.15".into()); // a constant of ns-2's
            set("tau", p.text("vgamma").into());
            set("initial_capacity", p.text("vecnlim").into());
            set("buffer", quoted(length(p.number("buf"), p)));
        }
        other => return Err(format!("no algorithm of Quell's is ns-2's {other}")),
    }
    Ok(text)
}

/// The factor of byte mode, in which the probability is in proportion to a packet's size.
fn by_size(p: &Parameters, mut set: impl FnMut(&str, String)) {
    if p.is_set("bytes") {
        set("signal", "\"by-size\"".into());
    }
}

fn flows(p: &Parameters, events: &str, text: &mut String) -> Result<(), String> {
    let n = p.count("n");
    let from_start = if p.number("n0") < 0.0 { n } else { p.count("n0") };
    let start =
        format!("{{ between = [\"{}\", \"{}\"] }}", seconds(p.number("start0")), seconds(p.number("start1")));
    let rtts = rtts(n, p)?;
    let bulk = tcp(p, "pkt")?;
    let mut group = |lines: &[(&str, String)], tcp: &str| {
        text.push_str("\n[[flows]]\n");
        for (key, value) in lines {
            let _ = writeln!(text, "{key} = {value}");
        }
        text.push_str(tcp);
    };
    if from_start == n {
        let rtt = spread(p);
        group(
            &[("name", "\"ftp\"".into()), ("count", n.to_string()), ("rtt", rtt), ("start", start.clone())],
            &bulk,
        );
    } else {
        let (early, late) = rtts.split_at(from_start as usize);
        group(
            &[
                ("name", "\"ftp\"".into()),
                ("count", early.len().to_string()),
                ("rtt", list(early)),
                ("start", start.clone()),
            ],
            &bulk,
        );
        let (starts, stops) = lives(events, from_start, n, p)?;
        group(
            &[
                ("name", "\"ftp-late\"".into()),
                ("class", "\"ftp\"".into()),
                ("count", late.len().to_string()),
                ("rtt", list(late)),
                ("start", list(&starts)),
                ("stop", list(&stops)),
            ],
            &bulk,
        );
    }
    let nodes = spread(p);
    if p.is_set("nhttp") {
        if p.text("httpdist") != "exp" || p.is_set("httprttlo") || p.is_set("httprtthi") {
            return Err("only exponential transfers over the round-trip times of the long flows".into());
        }
        group(
            &[
                ("name", "\"http\"".into()),
                ("kind", "\"transfers\"".into()),
                ("count", p.text("nhttp").into()),
                ("rtt", nodes.clone()),
                ("start", format!("{{ between = [\"0 s\", \"{}\"] }}", seconds(p.number("httpspread")))),
                ("size", format!("{{ exponential = \"{} packets\" }}", p.text("httpmean"))),
                ("think", format!("{{ exponential = \"{}\" }}", seconds(p.number("think")))),
            ],
            &tcp(p, "httppkt")?,
        );
    }
    if p.is_set("nudp") {
        let period = |key| format!("{{ exponential = \"{}\" }}", seconds(p.number(key)));
        group(
            &[
                ("name", "\"udp\"".into()),
                ("kind", "\"udp\"".into()),
                ("count", p.text("nudp").into()),
                ("rtt", format!("\"{}\"", milliseconds(p.number("rttlo")))),
                ("start", "{ between = [\"0 s\", \"1 s\"] }".into()),
                ("packet", format!("\"{}\"", Bytes::new(p.count("udppkt").into()))),
                ("rate", format!("\"{}\"", rate(p.number("udprate")))),
                ("on_off", format!("{{ on = {}, off = {} }}", period("udpon"), period("udpoff"))),
            ],
            "",
        );
    }
    if p.is_set("nrev") {
        group(
            &[
                ("name", "\"reverse\"".into()),
                ("direction", "\"reverse\"".into()),
                ("count", p.text("nrev").into()),
                ("rtt", nodes),
                ("start", start),
            ],
            &bulk,
        );
    }
    if p.is_set("ncbr") {
        return Err("no case has constant bit rate".into());
    }
    Ok(())
}

/// The TCP of a kind of flow, whose packet size has this key.
fn tcp(p: &Parameters, packet: &str) -> Result<String, String> {
    let recovery = match p.text("tcp") {
        "Tahoe" => "tahoe",
        "Reno" => "reno",
        "Newreno" => "newreno",
        "Sack1" => "sack",
        other => return Err(format!("no TCP of Quell's is ns-2's {other}")),
    };
    let header = if p.is_set("hdr") { 40 } else { 0 };
    let mut text = format!(
        "tcp = {{ recovery = \"{recovery}\", packet = \"{}\", header = \"{}\", max_window = {}, min_rto = \"{}\", \
         granularity = \"{}\"",
        Bytes::new(p.count(packet).into()),
        Bytes::new(header),
        p.count("window"),
        seconds(p.number("minrto")),
        seconds(p.number("tick")),
    );
    if p.is_set("ecn") {
        text.push_str(", ecn = true, ecn_retransmissions = true");
    }
    text.push_str(" }\n");
    Ok(text)
}

/// The round-trip time of each of n flows.
fn rtts(n: u32, p: &Parameters) -> Result<Vec<Duration>, String> {
    let (low, high) = (p.number("rttlo"), p.number("rtthi"));
    let rtt = |i: u32| match p.text("rttmode") {
        "grid" => Ok(milliseconds(low + (high - low) * (f64::from(i) + 0.5) / f64::from(n))),
        "linear" => Ok(milliseconds(low + 2.0 * f64::from(i))),
        other => Err(format!("round-trip times \"{other}\" do not occur")),
    };
    (0..n).map(rtt).collect()
}

/// The round-trip times of a whole group.
fn spread(p: &Parameters) -> String {
    let (low, high) = (milliseconds(p.number("rttlo")), milliseconds(p.number("rtthi")));
    match p.text("rttmode") {
        "linear" => format!("{{ linear = {{ first = \"{low}\", step = \"2 ms\" }} }}"),
        _ if low == high => format!("\"{low}\""),
        _ => format!("{{ grid = [\"{low}\", \"{high}\"] }}"),
    }
}

/// The starts and stops of the flows from `first` to `n`: "time startone flow 0" and "time stopone flow 0"
/// in `events`.
fn lives(events: &str, first: u32, n: u32, p: &Parameters) -> Result<(Vec<Duration>, Vec<Duration>), String> {
    let count = (n - first) as usize;
    let mut starts = vec![None; count];
    let mut stops = vec![None; count];
    let words: Vec<&str> = events.split_whitespace().collect();
    for event in words.chunks(4) {
        let [at, what, flow, _] = event else { return Err("events come in fours".into()) };
        let at = seconds(at.parse().map_err(|_| format!("{at} is not a time"))?);
        let flow: u32 = flow.parse().map_err(|_| format!("{flow} is not a flow"))?;
        let times = match *what {
            "startone" => &mut starts,
            "stopone" => &mut stops,
            other => return Err(format!("the event {other} does not occur")),
        };
        let index = flow.checked_sub(first).ok_or("a flow that runs from the start is started")?;
        *times.get_mut(index as usize).ok_or("there is no such flow")? = Some(at);
    }
    let starts: Option<Vec<Duration>> = starts.into_iter().collect();
    let end = seconds(p.number("dur"));
    let stops = stops.into_iter().map(|s| s.unwrap_or(end)).collect();
    Ok((starts.ok_or("a flow never starts")?, stops))
}

fn list(times: &[Duration]) -> String {
    let each: Vec<String> = times.iter().map(|t| format!("\"{t}\"")).collect();
    format!("{{ list = [{}] }}", each.join(", "))
}

fn rate(bps: f64) -> BitRate {
    BitRate::from_bps(bps.round() as u64)
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn milliseconds(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns2;

    #[test]
    fn gaps_are_spread_as_in_ns_2() {
        let spacing = |name: &str| {
            let cases = ns2::cases();
            let case = cases.iter().find(|c| c.name.to_string().starts_with(name)).unwrap();
            let text = aqm(&case.parameters).unwrap();
            text.lines().find_map(|l| l.strip_prefix("spacing = ").map(str::to_string))
        };
        assert_eq!(spacing("X15 RED").as_deref(), Some("\"uniform-pseudocode\""));
        assert_eq!(spacing("R2 RED").as_deref(), Some("\"wait\""));
    }
}
