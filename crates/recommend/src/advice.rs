//! The texts to type for a recommendation, on the router that there is, and how to check it there.

use quell_router::{Platform, Shaped, Side, Which};
use quell_units::Bytes;
use serde::Serialize;

use crate::autorate::MODEL;
use crate::candidate::Candidate;
use crate::measure::Kind;
use crate::plan::Plan;
use crate::request::Request;
use crate::scenario::of_direction;
use crate::typed;
use crate::verdict::Judged;
use crate::way::{Direction, Shape, Way};
use crate::words::{of_rate, of_time};

/// The texts to type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Texts, and where each goes.
    pub parts: Vec<Text>,
    /// Remarks on what they do not say, and what else is to be done.
    pub notes: Vec<String>,
}

/// A text, and where it goes.
#[derive(Clone, Debug, Serialize)]
pub struct Text {
    /// A file, a shell, or a page of the router.
    pub place: String,
    /// The text.
    pub text: String,
}

/// The texts to type for a candidate.
pub(crate) fn of(request: &Request, plan: &Plan, candidate: &Candidate) -> Advice {
    let nothing = |why: String| Advice { parts: Vec::new(), notes: vec![why] };
    if candidate.shape == Shape::None {
        return nothing("there is nothing to type: the link stays as it is".to_string());
    }
    if let Some(instead) = request.technology.instead.filter(|_| request.technology.name != PORT) {
        return nothing(format!(
            "{}: {instead}; there is nothing to type for a shaper",
            request.technology.title
        ));
    }
    let platform = typed::platform(request, candidate);
    let mut advice =
        platform.map_or_else(Advice::default, |platform| written(request, plan, candidate, platform));
    match candidate.shape {
        Shape::Following => {
            let note = format!("{MODEL}; short flows, which make delays of their own, do not move it there");
            advice.notes.push(note);
        }
        Shape::AtLeast | Shape::AtMean => {
            let mut rows = plan.rows.iter().map(|row| &row.candidate);
            if let (Some(follows), Some(platform)) = (rows.find(|c| c.shape == Shape::Following), platform) {
                let parts = written(request, plan, follows, platform).parts.into_iter();
                advice.parts.extend(parts.filter(|part| part.place.contains("cake-autorate")).map(|part| {
                    Text {
                        place: format!("for {}, besides the lines above: {}", follows.name, part.place),
                        ..part
                    }
                }));
            }
        }
        _ => {}
    }
    advice
}

/// The technology whose own queue gets the algorithm.
const PORT: &str = "port";

/// A direction as routers are told.
fn side(request: &Request, candidate: &Candidate, way: &Way) -> Side {
    let link = candidate.shaper(way);
    Side {
        link,
        aqm: of_direction(request, candidate, way),
        ecn: true,
        buffer: candidate.queue(way),
        range: candidate.range(way),
    }
}

/// The device of PPP over Ethernet or ATM, where packets have no header of PPP yet.
fn of_ppp(technology: &str, platform: Platform) -> Option<&'static str> {
    match (platform, technology.contains("pppoe"), technology.contains("pppoa")) {
        (_, false, false) => None,
        (Platform::OpenWrt, true, _) => Some("pppoe-wan"),
        (Platform::OpenWrt, ..) => Some("pppoa-wan"),
        (Platform::RouterOs, true, _) => Some("pppoe-out1"),
        (Platform::Linux(_) | Platform::Networkd | Platform::Gateway, ..) => Some("ppp0"),
        // ppp(8), which is in the base system; mpd5 has ng0. Frames of PPPoE on the Ethernet below match no rule.
        (Platform::FreeBsd, ..) => Some("tun0"),
        _ => None,
    }
}

fn written(request: &Request, plan: &Plan, candidate: &Candidate, platform: Platform) -> Advice {
    let (usual, lan) = platform.devices();
    let is_modem = matches!(request.technology.name, "lte" | "5g") && platform == Platform::OpenWrt;
    let usual = if is_modem { "wwan0" } else { usual };
    let ppp = of_ppp(request.technology.name, platform);
    let wan = request.device.as_deref().or(ppp).unwrap_or(usual);
    let shaped = Shaped {
        wan: wan.to_string(),
        lan: Some(lan.to_string()),
        down: side(request, candidate, &plan.down),
        up: side(request, candidate, &plan.up),
        which: match candidate.alone {
            None => Which::Both,
            Some(Direction::Down) => Which::Down,
            Some(Direction::Up) => Which::Up,
        },
    };
    let on_ppp = ppp.is_some() && wan.starts_with("ppp");
    let at_link = candidate.shape == Shape::AtLink;
    let beyond = request.cpu_limit.filter(|_| !at_link).and_then(|limit| platform.beyond(limit, &shaped));
    let mut notes: Vec<String> = beyond.into_iter().collect();
    if request.technology.name.contains("pppoe") && !on_ppp {
        notes.extend(request.technology.notes());
    }
    if !at_link && candidate.up.name() == "cake" && platform != Platform::Gateway {
        let note = "CAKE ignores and clears the DSCPs that come in (besteffort, wash), as sqm-scripts do and \
                    tc-cake(8) advises where they cannot be trusted; if you trust your provider's, give downloads the tins of \
                    uploads (diffserv3) without wash";
        notes.push(note.into());
    }
    if request.device.is_none() {
        notes.push(format!("the device is taken to be {wan}: put yours in its place, which --dev names"));
    }
    let made = match at_link {
        true => quell_router::write_port(platform, wan, &shaped.up),
        false => quell_router::write(platform, &shaped),
    };
    if at_link {
        notes.push("what comes in waits at the other end of the link: do the same there".to_string());
    }
    match made {
        Ok(written) => {
            let parts = written.parts.into_iter().map(|part| Text { place: part.place, text: part.text });
            // CAKE's own limit is the smaller one.
            notes.extend(written.notes.into_iter().filter(|note| {
                // On the device of PPP there is none to leave out.
                let of_header = on_ppp && note.contains("leaves out the 14 B of Ethernet's header");
                !of_header && !note.contains("cake has a limit of memory alone")
            }));
            Advice { parts: parts.collect(), notes }
        }
        Err(why) => {
            notes.push(why.to_string());
            Advice { parts: Vec::new(), notes }
        }
    }
}

/// Commands that measure the real link, and the figures to expect of them: TCP's goodput through the shapers alone, and the
/// delay of calls under the load that was simulated.
pub(crate) fn check(request: &Request, plan: &Plan, candidate: &Candidate, best: &Judged) -> Text {
    let alone = |way: &Way| {
        let (shaper, largest) = (candidate.shaper(way), Bytes::new(request.technology.largest));
        let typed = match candidate.shape {
            Shape::None | Shape::AtLink => shaper,
            _ if !candidate.queues(way.direction) => shaper,
            _ => typed::shaper(request, candidate, way).0,
        };
        // What the shaper lets through may be more than the link carries where it cannot count what the link adds.
        let carried = typed.of_packets(largest).min(request.carried(way.mean)).bps() as f64;
        of_rate(carried * (1.0 - TCP_HEADERS / request.technology.largest as f64))
    };
    let delay = |up: bool| {
        let mut all = plan.columns.iter().zip(&best.cells);
        let found = all.find(|(column, _)| column.kind == Kind::Call && column.is_up() == up);
        found.and_then(|(_, cell)| Some(cell.as_ref()?.estimate.mean))
    };
    let mut text = format!(
        "iperf3 -c SERVER -t 60 -P 4 -R    # down: up to {} without other traffic\niperf3 -c SERVER -t 60 -P 4       # up: \
         up to {} without other traffic\n",
        alone(&plan.down),
        alone(&plan.up)
    );
    if let (Some(down), Some(up)) = (delay(false), delay(true)) {
        text.push_str(&format!(
            "flent rrul -H SERVER -l 60        # the ping's P99 is about {} longer than its shortest, down and up together, \
             under the load that was simulated; rrul is more\n",
            of_time(down + up)
        ));
    }
    Text { place: "to check it, on a host behind the router".to_string(), text }
}

/// Headers of IPv4 and TCP with timestamps, in bytes.
const TCP_HEADERS: f64 = 52.0;

#[cfg(test)]
mod tests {
    use quell_router::{Can, Counts};

    use super::*;
    use crate::goal::Goal;
    use crate::load::Load;
    use crate::plan::plan;

    fn request(link: &str, up: &str, device: Option<&str>, can: Can) -> Request {
        Request {
            technology: quell_router::technology::find(link).unwrap(),
            down: "50Mbit/s".parse().unwrap(),
            up: up.parse().unwrap(),
            rtt: "10..60ms".parse().unwrap(),
            hosts: 1,
            load: Load::named("home").unwrap(),
            goal: "call P99 < 20 ms".parse::<Goal>().unwrap(),
            can,
            device: device.map(str::to_string),
            cpu_limit: None,
            trace: None,
        }
    }

    /// The lines for FQ-CoDel on a link, and the notes.
    fn lines(link: &str, device: Option<&str>, can: Can) -> Advice {
        let request = request(link, "10Mbit/s", device, can);
        let plan = plan(&request).unwrap();
        of(&request, &plan, &plan.rows[1].candidate)
    }

    /// What a router is told does something there: of FQ-PIE, Linux counts memory beyond the limit, and drops nothing.
    #[test]
    fn fq_pie_has_no_limit_of_memory() {
        let request = request("vdsl-pppoe", "10Mbit/s", None, Can::Algorithms(vec!["fq-pie"]));
        let plan = plan(&request).unwrap();
        let row = plan.rows.iter().find(|row| row.candidate.down.name() == "fq-pie").unwrap();
        for config in [&row.candidate.down, &row.candidate.up] {
            assert!(config.changed().iter().all(|(name, _)| *name != "memory_limit"), "{config:?}");
        }
        assert!(row.candidate.reasons.iter().all(|why| !why.contains("memory_limit")));
    }

    /// By tc-stab(8) and the kernel: a packet on a device of Ethernet has 14 B of its header there, which count, and one on
    /// the device of PPP has none. By hand: DOCSIS adds 18 B, VDSL2 with PPPoE 30 B and the byte of PTM that a
    /// packet begins, PPPoA with VC-MUX 10 B.
    #[test]
    fn shapers_count_what_the_link_adds() {
        let fq_codel = || Can::Algorithms(vec!["fq-codel"]);
        for (link, device, words) in [
            (
                "docsis",
                None,
                "dev eth0 parent 1: classid 1:10 htb rate 9500kbit ceil 9500kbit burst 3036 cburst 3036 quantum 1514 \
                 overhead 4 ",
            ),
            ("vdsl-pppoe", None, "overhead 31"),
            ("vdsl-pppoe", None, "dev ppp0 "),
            ("vdsl-pppoe", Some("ppp7"), "dev ppp7 "),
            ("vdsl-pppoe", Some("eth3"), "overhead 17"),
            ("adsl-pppoa-vcmux", None, "overhead 10 linklayer atm"),
            ("adsl-pppoa-vcmux", None, "dev ppp0 "),
        ] {
            let text = &lines(link, device, fq_codel()).parts[0].text;
            assert!(text.contains(words), "{link}: {words}: {text}");
        }
    }

    /// tc's writer notes each parameter that the kernel fixes at another value than was simulated.
    #[test]
    fn the_kernel_has_what_was_simulated() {
        for name in ["codel", "fq-codel", "pie", "fq-pie", "sfq", "cake", "drop-tail"] {
            let advice = lines("docsis", None, Can::Algorithms(vec![name]));
            assert!(!advice.parts.is_empty(), "{name}");
            let other = advice.notes.iter().find(|note| note.contains("the kernel has"));
            assert_eq!(other, None, "{name}");
        }
    }

    /// CAKE counts from the IP packet on, on any device.
    #[test]
    fn cake_is_told_the_whole_overhead_and_the_directions() {
        let text = lines("vdsl-pppoe", None, Can::parse("linux").unwrap()).parts[0].text.clone();
        let [up, down] = text.lines().filter(|line| line.contains(" cake ")).collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        for line in [up, down] {
            assert!(line.contains("overhead 30") && line.contains("ptm") && line.contains(" nat"), "{line}");
        }
        assert!(up.contains("dual-srchost") && !up.contains("ingress"), "{up}");
        assert!(down.contains("dual-dsthost") && down.contains("ingress"), "{down}");
        // tc-cake(8): what comes in may be marked by anyone.
        assert!(down.contains(" besteffort ") && down.contains(" wash "), "{down}");
        assert!(!up.contains("besteffort") && !up.contains("wash"), "{up}");
    }

    /// pppd makes a new device, and Debian's then runs the script with its name in PPP_IFACE.
    #[test]
    fn a_device_of_ppp_gets_its_queue_with_each_connection() {
        let advice = lines("vdsl-pppoe", None, Can::parse("linux").unwrap());
        let [script, once, undo, ..] = &advice.parts[..] else { panic!("{:?}", advice.parts) };
        assert!(script.place.starts_with("/etc/ppp/ip-up.d/quell,"), "{}", script.place);
        assert!(
            script.text.starts_with("#!/bin/sh\n[ \"$PPP_IFACE\" = ppp0 ] || exit 0\n"),
            "{}",
            script.text
        );
        assert_eq!(once.text, "PPP_IFACE=ppp0 /etc/ppp/ip-up.d/quell\n");
        assert!(undo.text.contains("rm /etc/ppp/ip-up.d/quell\n"), "{}", undo.text);
        let notes = |can: &str| lines("vdsl-pppoe", None, Can::parse(can).unwrap()).notes.join("\n");
        assert!(notes("openwrt").contains("start again with each connection"));
        assert!(notes("networkd").contains("KeepConfiguration=yes"));
    }

    /// FreeBSD's handbook, chapter PPP: ppp(8) has its IP packets on tun0. The Ethernet below carries PPPoE, no IP.
    #[test]
    fn freebsd_has_the_rules_where_ip_packets_are() {
        let advice = lines("vdsl-pppoe", None, Can::parse("freebsd").unwrap());
        let text = &advice.parts[0].text;
        assert!(text.contains("in recv tun0\n") && text.contains("out xmit tun0\n"), "{text}");
        assert!(advice.notes.join("\n").contains("ng0 of mpd5"), "{:?}", advice.notes);
        let own = lines("vdsl-pppoe", Some("ng0"), Can::parse("freebsd").unwrap());
        assert!(own.parts[0].text.contains("in recv ng0\n"), "{}", own.parts[0].text);
    }

    /// The bursts that a text names behind a word.
    fn bursts(text: &str, word: &str) -> Vec<u64> {
        let number = |rest: &str| {
            rest.trim_start_matches(['"', ' ']).split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        text.split(word).skip(1).filter_map(number).collect()
    }

    /// The lines have the bursts of the scenario that was simulated.
    #[test]
    fn bursts_are_those_that_were_simulated() {
        for link in ["docsis", "vdsl-pppoe", "adsl-pppoa-vcmux"] {
            for (up, device) in [("50Mbit/s", "eth3"), ("3Mbit/s", "ppp0")] {
                let request = request(link, up, Some(device), Can::Algorithms(vec!["fq-codel"]));
                let plan = plan(&request).unwrap();
                let (row, advice) = (&plan.rows[1], of(&request, &plan, &plan.rows[1].candidate));
                let text = advice.parts[0].text.as_str();
                let (simulated, typed) = (bursts(&row.text, " burst = "), bursts(text, " burst "));
                // Of the scenario, the router comes first, and then the modem.
                assert_eq!((simulated.len(), typed.len()), (4, 2), "{}{text}", row.text);
                for (simulated, typed) in simulated.iter().zip(&typed) {
                    assert!(
                        typed.abs_diff(*simulated) <= 1,
                        "{link}: {typed}, and {simulated} were simulated"
                    );
                }
                assert_eq!(bursts(text, " cburst "), typed);
            }
        }
    }

    /// The rates of the router's shapers in a scenario, and what they count: up first. CAKE's own are left out.
    fn shapers(text: &str) -> Vec<(u64, String)> {
        let of_router = text.split("# The modem").next().unwrap();
        let after = of_router.split("shaper = { rate = \"").skip(1);
        let each = after.map(|rest| {
            let (rate, rest) = rest.split_once('"').unwrap();
            let counted = rest.split_once("overhead").unwrap().1.split('}').next().unwrap();
            (rate.parse::<quell_units::BitRate>().unwrap().bps(), format!("overhead{counted}"))
        });
        each.collect()
    }

    /// What is simulated is what is typed: the rates that each router is told are those of the scenario. By hand, a router that
    /// counts IP packets alone gets 1000/1166 of 95% of 800 kbit/s for ADSL, because 1040 B take 22 cells of 53 B.
    #[test]
    fn each_router_is_told_what_was_simulated() {
        for platform in Platform::all() {
            for (link, up) in [("docsis", "10Mbit/s"), ("vdsl-pppoe", "10Mbit/s"), ("adsl", "800kbit/s")] {
                let request = request(link, up, None, Can::Platform(platform));
                let plan = plan(&request).unwrap();
                for row in plan.rows.iter().filter(|row| row.candidate.shape == Shape::Shaped) {
                    let what = format!("{} {link} {}", platform.name(), row.candidate.name);
                    let advice = of(&request, &plan, &row.candidate);
                    let typed: String = advice.parts.iter().map(|part| format!("{}\n", part.text)).collect();
                    let found = shapers(&row.text);
                    let by_cake = row.candidate.up.name() == "cake" && platform != Platform::Gateway;
                    assert_eq!(found.len(), if by_cake { 0 } else { 2 }, "{what}: {}", row.text);
                    for (rate, counted) in found {
                        let forms = [
                            rate.to_string(),
                            (rate / 1000).to_string(),
                            quell_units::BitRate::from_bps(rate).to_string(),
                        ];
                        assert!(forms.iter().any(|form| typed.contains(form)), "{what}: {rate} in {typed}");
                        if let Counts::Fixed { header } = platform.counts() {
                            assert_eq!(counted, format!("overhead = \"{header} B\" "), "{what}");
                        }
                    }
                }
            }
        }
        let request = request("adsl", "800kbit/s", None, Can::Platform(Platform::FreeBsd));
        let of_ip = shapers(&plan(&request).unwrap().rows[1].text);
        assert_eq!(of_ip[0], (651_801, "overhead = \"0 B\" ".to_string()));
    }

    #[test]
    fn wi_fi_has_no_shaper_to_type() {
        let advice = lines("wifi", None, Can::parse("linux").unwrap());
        assert!(
            advice.parts.is_empty() && advice.notes[0].contains("nothing to type for a shaper"),
            "{advice:?}"
        );
    }
}
