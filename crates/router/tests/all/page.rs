//! The page docs/how-to/router-configurations.md, which has what the crate has.

use std::fmt::Write as _;

use quell_aqm::catalog::AqmConfig;
use quell_router::technology::{ALIASES, TECHNOLOGIES};
use quell_router::{Counts, Fit, Knob, Platform, Shaped, Side, Unit, Which, Words, technology, write};
use quell_units::{Framing, QueueSize};

use crate::with;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/router-configurations.md");
const MARK: &str = "<!-- routers -->";

/// Words that fit on a line of the page, whose code spans stay whole.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line, mut word) = (Vec::new(), String::new(), String::new());
    let mut code = false;
    for c in text.chars().chain([' ']) {
        code ^= c == '`';
        if c != ' ' || code {
            word.push(c);
            continue;
        }
        if !line.is_empty() && line.len() + 1 + word.len() > 120 - indent.len() {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&std::mem::take(&mut word));
    }
    lines.push(line);
    lines.join(&format!("\n{indent}"))
}

/// The link of the examples: VDSL2 of 50 and 10 Mbit/s, with Ethernet, as the devices of the examples have it.
fn example(platform: Platform) -> Shaped {
    let (wan, lan) = platform.devices();
    let has = |name: &str| platform.algorithms().contains(&name);
    let (down, up): (AqmConfig, AqmConfig) = if has("cake") && platform != Platform::Gateway {
        (
            with(
                "cake",
                "diffserv = \"besteffort\"\nisolation = \"dual-dsthost\"\ningress = true\nwash = true\nrtt = \"80 ms\"",
            ),
            with("cake", "isolation = \"dual-srchost\"\nack_filter = \"on\"\nrtt = \"80 ms\""),
        )
    } else {
        let fq = with("fq-codel", "interval = \"80 ms\"\nquantum = \"300 B\"");
        (fq.clone(), fq)
    };
    let side = |rate: &str, aqm| Side {
        link: technology::find("vdsl-bridged").unwrap().shaped(rate.parse().unwrap()),
        aqm,
        ecn: true,
        buffer: QueueSize::Packets(1000.0),
        range: None,
    };
    Shaped {
        wan: wan.into(),
        lan: Some(lan.into()),
        down: side("50 Mbit/s", down),
        up: side("10 Mbit/s", up),
        which: Which::Both,
    }
}

fn technologies(page: &mut String) {
    page.push_str("## Links\n\n");
    page.push_str("| name | link | bytes beside the IP packet | at least | framing | shaped to | varies |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for t in TECHNOLOGIES {
        let framing = match t.framing {
            Framing::None => "",
            Framing::Atm => "ATM",
            Framing::Ptm => "PTM",
        };
        let varies = if t.varies { "yes" } else { "" };
        let least = if t.smallest > 0 { format!("{} B", t.smallest) } else { String::new() };
        let share = t.share as f64 / 10.0;
        writeln!(
            page,
            "| `{}` | {} | {} ({}) | {least} | {framing} | {share}% | {varies} |",
            t.name, t.title, t.overhead, t.bytes
        )
        .unwrap();
    }
    page.push_str("\n| name | other names |\n| --- | --- |\n");
    for t in TECHNOLOGIES {
        let others =
            ALIASES.iter().filter(|(_, name)| *name == t.name).map(|(alias, _)| format!("`{alias}`"));
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            writeln!(page, "| `{}` | {} |", t.name, others.join(", ")).unwrap();
        }
    }
    page.push_str("\nWhat their rates count, why the share, and sources:\n\n");
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for t in TECHNOLOGIES {
        let instead = t.instead.map_or(String::new(), |instead| format!(" Better: {instead}."));
        let text = format!("The rate is {}. The share: {}.{instead} Source: {}.", t.counts, t.why, t.source);
        match said.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) => names.push(t.name),
            None => said.push((text, vec![t.name])),
        }
    }
    for (text, names) in said {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "{}", wrapped(&format!("- {}. {text}", names.join(", ")), "  ")).unwrap();
    }
}

/// How a parameter's values are written, and which there are.
fn values(knob: &Knob) -> String {
    let scale = match knob.unit {
        Unit::Milliseconds => 1e3,
        Unit::Counted(parts) => parts,
        _ => 1.0,
    };
    let range = format!("{} to {}", knob.least * scale, knob.most * scale);
    match knob.unit {
        Unit::Time => format!("whole us, to {} s", knob.most),
        Unit::Milliseconds => format!("whole ms, {range}"),
        Unit::Seconds => format!("whole s, {range}"),
        Unit::Whole => format!("whole number, {range}"),
        Unit::Parts(parts) => format!("number, in steps of 1/{parts}, {range}"),
        Unit::Counted(parts) => format!("number of 1/{parts}, {range}"),
        Unit::Flag(yes, no) => format!("`{yes}` or `{no}`"),
        Unit::Names(names) => {
            names.iter().map(|(_, theirs)| format!("`{theirs}`")).collect::<Vec<_>>().join(", ")
        }
    }
}

fn platform(page: &mut String, platform: Platform) {
    let about = match platform.counts() {
        Counts::Link => "what the link counts: overhead, smallest packet and framing".to_string(),
        Counts::Overhead { header, least, most, step, cells } => {
            let range =
                if least == 0 { "an overhead".into() } else { format!("an overhead of {least} to {most} B") };
            let step = if step == 1 { String::new() } else { format!(" in steps of {step} B") };
            let cells = if cells { ", and cells of ATM" } else { "" };
            format!("the IP packet, {header} B, {range} that can be set{step}{cells}")
        }
        Counts::Fixed { header: 0 } => "the IP packet alone".into(),
        Counts::Fixed { header } => format!("the IP packet and {header} B"),
    };
    let offer = platform.has(&with("cake", "")).filter(|offer| matches!(offer.words, Words::These(_)));
    let cake = platform.counts() != Counts::Link && offer.is_some();
    let cake = if cake { "; its CAKE counts what the link does" } else { "" };
    let aliases: Vec<String> = platform.aliases().iter().map(|alias| format!("`{alias}`")).collect();
    let aliases =
        if aliases.is_empty() { String::new() } else { format!(", also called {}", aliases.join(", ")) };
    let says = format!("`--can {}`{aliases}. Its shaper counts {about}{cake}.", platform.name());
    writeln!(page, "\n## {}\n\n{}\n", platform.title(), wrapped(&says, "")).unwrap();
    writeln!(page, "{}\n", wrapped(&format!("Source: {}.", platform.source()), "")).unwrap();
    let offers = platform.offers();
    if offers.iter().any(|offer| matches!(offer.words, Words::All)) {
        let names: Vec<String> = offers.iter().map(|offer| format!("`{}`", offer.algorithm)).collect();
        let text = match platform {
            Platform::Gateway => {
                "It has every algorithm with every parameter, as scenarios have them.".to_string()
            }
            _ => format!(
                "It has {}; [the lines of tc](tc.md) say what each of them can say.",
                names.join(", ")
            ),
        };
        writeln!(page, "{}\n", wrapped(&text, "")).unwrap();
    } else {
        page.push_str("| algorithm | there | since | parameter | there | values |\n");
        page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    }
    for offer in &offers {
        let near = if offer.fit == Fit::Nearest { " (near)" } else { "" };
        let own = format!("| `{}`{near} | {} | {} ", offer.algorithm, offer.native, offer.since);
        match offer.words {
            Words::All => {}
            Words::Curve => writeln!(page, "{own}| thresholds and probability | curve | |").unwrap(),
            Words::These([]) => writeln!(page, "{own}| | | |").unwrap(),
            Words::These(knobs) => {
                for (number, knob) in knobs.iter().enumerate() {
                    let first = if number == 0 { own.as_str() } else { "| | | " };
                    let theirs =
                        if knob.theirs.is_empty() { String::new() } else { format!("`{}`", knob.theirs) };
                    writeln!(page, "{first}| `{}` | {theirs} | {} |", knob.ours, values(knob)).unwrap();
                }
            }
        }
    }
    if !offers.iter().any(|offer| matches!(offer.words, Words::All)) {
        page.push('\n');
    }
    let written = write(platform, &example(platform)).unwrap();
    for part in &written.parts {
        writeln!(
            page,
            "{}\n\n```text\n{}```\n",
            wrapped(&format!("Place: {}.", part.place), ""),
            part.text.replace('\t', "    ")
        )
        .unwrap();
    }
    page.push_str("Notes:\n\n");
    for note in &written.notes {
        writeln!(page, "{}", wrapped(&format!("- {note}"), "  ")).unwrap();
    }
}

#[test]
fn the_page_has_what_the_crate_has() {
    let mut page = String::new();
    technologies(&mut page);
    for one in Platform::all() {
        platform(&mut page, one);
    }
    let text = std::fs::read_to_string(PATH).unwrap();
    let (head, _) = text.split_once(MARK).expect("the page has its mark");
    let fresh = format!("{head}{MARK}\n\n{page}");
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &fresh).unwrap();
    }
    assert!(
        std::fs::read_to_string(PATH).unwrap() == fresh,
        "docs/how-to/router-configurations.md is stale; QUELL_UPDATE_DOCS=1 cargo test -p quell-router writes it again"
    );
}
