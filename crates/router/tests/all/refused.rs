//! What is refused, and what is noted.

use quell_router::{Can, Platform, Unwritable, write, write_port};
use quell_units::{BitRate, QueueSize};

use crate::{default, shaped, side, with};

#[test]
fn an_algorithm_that_is_not_there_is_refused_with_those_that_are() {
    for (platform, algorithm) in [
        (Platform::OpenWrt, "pi"),
        (Platform::RouterOs, "fq-pie"),
        (Platform::FreeBsd, "cake"),
        (Platform::Junos, "dualpi2"),
        (Platform::IosXe, "pi2"),
    ] {
        let said = write(platform, &shaped("docsis", default(algorithm))).unwrap_err();
        assert!(matches!(said, Unwritable::NotThere { .. }), "{said}");
        let text = said.to_string();
        assert!(
            text.contains(&format!("has no {algorithm}; it has ")) && text.contains("drop-tail")
                || platform == Platform::OpenWrt,
            "{text}"
        );
    }
    // Every router says so of an algorithm that none has but the gateway.
    for platform in Platform::all().filter(|p| *p != Platform::Gateway) {
        assert!(write(platform, &shaped("docsis", default("avq"))).is_err(), "{platform:?}");
    }
}

#[test]
fn a_device_cannot_bring_text_of_its_own() {
    for name in ["", "eth0; reboot", "eth0'", "a b", "-x", "eth0\nset", "e\u{301}th", &"e".repeat(65)] {
        for platform in Platform::all() {
            let mut link = shaped("docsis", default("fq-codel"));
            link.wan = name.into();
            let said = write(platform, &link).unwrap_err();
            assert!(matches!(said, Unwritable::Device { field: "wan", .. }), "{platform:?} {name}: {said}");
        }
    }
}

#[test]
fn a_rate_of_nothing_is_refused() {
    for platform in Platform::all() {
        let mut link = shaped("docsis", default("drop-tail"));
        link.up.link.rate = BitRate::from_bps(0);
        if platform.has(&link.up.aqm).is_some() {
            let said = write(platform, &link).unwrap_err().to_string();
            assert_eq!(said, "up: 0 bit/s is no rate to shape to; give at least 1 kbit/s");
        }
    }
}

#[test]
fn routers_with_one_algorithm_for_both_directions_say_so() {
    let mut link = shaped("docsis", default("cake"));
    link.up = side("docsis", "20 Mbit/s", default("fq-codel"));
    for platform in [Platform::OpenWrt, Platform::Gateway] {
        let said = write(platform, &link).unwrap_err();
        assert!(matches!(said, Unwritable::OneForBoth { down: "cake", up: "fq-codel", .. }), "{said}");
    }
    for platform in [Platform::Networkd, Platform::RouterOs] {
        write(platform, &link).unwrap();
    }
}

#[test]
fn a_router_that_shapes_downloads_at_the_hosts_needs_their_device() {
    let mut link = shaped("docsis", default("fq-codel"));
    link.lan = None;
    for platform in Platform::all() {
        let needs =
            [Platform::Networkd, Platform::RouterOs, Platform::Junos, Platform::IosXe].contains(&platform);
        let said = write(platform, &link);
        assert_eq!(matches!(said, Err(Unwritable::NeedsLan { .. })), needs, "{platform:?}");
    }
}

/// What has no word, and what goes beyond a limit, is said with its value.
#[test]
fn what_cannot_be_said_is_noted() {
    let notes = |platform, aqm| write(platform, &shaped("docsis", aqm)).unwrap().notes.join("\n");
    let said = notes(Platform::Networkd, with("pie", "target = \"20 ms\""));
    assert!(said.contains("target = 20 ms has no word in PIE"), "{said}");
    let said = notes(Platform::FreeBsd, with("fq-codel", "flows = 100000\nquantum = \"10 kB\""));
    assert!(said.contains("flows = 100000 becomes flows 65536, the limit there"), "{said}");
    assert!(said.contains("quantum = 10 kB becomes quantum 9000, the limit there"), "{said}");
    let said = notes(Platform::OpnSense, with("fq-codel", "target = \"500 us\""));
    assert!(said.contains("target = 500 us becomes (FlowQueue-)CoDel target 1, the limit there"), "{said}");
    let said = notes(Platform::RouterOs, with("cake", "ingress = true"));
    assert!(said.contains("ingress = true has no word in cake"), "{said}");
    let said = notes(Platform::OpenWrt, with("pie", "alpha = 0.3"));
    assert!(said.contains("alpha = 0.3 becomes alpha 5, the nearest there"), "{said}");
    let said = notes(Platform::Junos, default("codel"));
    assert!(said.contains("no CoDel") && said.contains("not the same: measure it"), "{said}");
    let said = notes(Platform::Gateway, default("codel"));
    assert!(said.contains("the overhead of 18 B a packet cannot be set"), "{said}");
}

#[test]
fn a_processor_that_is_too_slow_is_noted() {
    let link = shaped("docsis", default("cake"));
    let limit = |mbit: u64| BitRate::from_bps(mbit * 1_000_000);
    assert_eq!(Platform::OpenWrt.beyond(limit(120), &link), None);
    let said = Platform::OpenWrt.beyond(limit(100), &link).unwrap();
    assert!(said.contains("114 Mbit/s in both directions are more than the 100 Mbit/s"), "{said}");
    assert_eq!(Platform::Junos.beyond(limit(100), &link), None);
}

#[test]
fn what_a_router_can_is_what_it_writes() {
    for platform in Platform::all() {
        for name in Can::Platform(platform).algorithms() {
            let mut link = shaped("vdsl-pppoe", default(name));
            link.wan = platform.devices().0.into();
            link.lan = Some(platform.devices().1.into());
            let written = write(platform, &link).unwrap();
            assert!(
                !written.parts.is_empty() && written.parts.iter().all(|p| p.text.ends_with('\n')),
                "{platform:?} {name}"
            );
        }
    }
}

/// A port at its own rate has the queue and no shaper.
#[test]
fn a_port_is_not_shaped() {
    let aqm = with("fq-codel", "target = \"500 us\"\ninterval = \"5 ms\"\nce_threshold = \"100 us\"");
    let port = side("port", "10 Gbit/s", aqm);
    let text = |platform: Platform| write_port(platform, "eth0", &port).map(|w| w.parts[0].text.clone());
    let linux = text(Platform::find("linux").unwrap()).unwrap();
    // sch_mq.c: each class is a queue of the card, and a qdisc at the root would be one for all.
    let leaf = " fq_codel ";
    assert!(linux.starts_with(
        "tc qdisc del dev eth0 root 2>/dev/null || true\ntc qdisc add dev eth0 root handle 1: mq\n"
    ));
    let line = linux.lines().find(|line| line.contains(leaf)).unwrap();
    assert!(line.contains(" parent \"$class\" fq_codel ") && !line.contains(" root "), "{line}");
    assert!(line.contains(" target 500us ") && line.contains(" ce_threshold 100us"), "{line}");
    let one = write_port(Platform::find("linux").unwrap(), "eth0", &port).unwrap().parts[1].text.clone();
    assert!(one.starts_with("tc qdisc replace dev eth0 root fq_codel ") && one.lines().count() == 1, "{one}");
    assert_eq!(line.split(leaf).nth(1), one.trim_end().split(leaf).nth(1));
    let notes = write_port(Platform::Networkd, "eth0", &port).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("no mq")), "{notes:?}");
    let networkd = text(Platform::Networkd).unwrap();
    assert!(
        networkd.starts_with("[FairQueueingControlledDelay]\nParent=root\nTargetSec=500us\n"),
        "{networkd}"
    );
    for platform in Platform::all() {
        match write_port(platform, "swp1", &port) {
            Ok(written) => {
                let text = &written.parts[0].text;
                assert!(
                    !["shap", "Rate=", "max-limit", "bandwidth", "htb"].iter().any(|w| text.contains(w)),
                    "{text}"
                );
            }
            Err(said) => assert!(matches!(said, Unwritable::NoPort { .. }), "{platform:?}: {said}"),
        }
    }
    let said = write_port(Platform::Junos, "a b", &port).unwrap_err();
    assert!(matches!(said, Unwritable::Device { .. }), "{said}");
}

/// Rates, buffers and overheads that nobody has are answered all the same.
#[test]
fn extremes_are_answered() {
    let sizes =
        [QueueSize::Packets(0.0), QueueSize::Packets(1e12), QueueSize::Bytes(1.0), QueueSize::Bytes(1e15)];
    for platform in Platform::all() {
        for offer in platform.offers() {
            for (rate, link) in [(1_000, "adsl-pppoe-llcsnap"), (u64::MAX, "docsis"), (600_000, "satellite")]
            {
                for buffer in sizes {
                    let mut shaped = shaped(link, default(offer.algorithm));
                    (shaped.down.link.rate, shaped.up.link.rate) =
                        (BitRate::from_bps(rate), BitRate::from_bps(1_000));
                    (shaped.down.buffer, shaped.up.buffer) = (buffer, buffer);
                    let written = write(platform, &shaped);
                    let text = written.map(|w| w.parts.into_iter().map(|p| p.text).collect::<String>());
                    // Linux refuses what its words cannot have, with the rule.
                    assert!(
                        matches!(&text, Ok(text) if !text.contains("NaN") && !text.contains("inf"))
                            || matches!(&text, Err(Unwritable::NotInLinux(_))),
                        "{platform:?} {} {rate} {buffer}: {text:?}",
                        offer.algorithm
                    );
                }
            }
        }
    }
}

/// The printed loop in a shell, with a tc that answers as iproute2 does for a card of 12 queues: `class mq 1:a root`.
#[test]
fn the_loop_over_the_queues_of_a_card_is_plain_sh() {
    let port = side("port", "100 Gbit/s", default("sfq"));
    let text = write_port(Platform::find("linux").unwrap(), "eth0", &port).unwrap().parts[0].text.clone();
    let shown: String = (1..=12).map(|n| format!("class mq 1:{n:x} root leaf 80{n:02}: \n")).collect();
    let tc = format!(
        "tc() {{\nif [ \"$1 $2\" = 'class show' ]; then printf '{}class fq_codel 8001:12c parent 8001: \\n'; else echo tc \
         \"$@\"; fi\n}}\n",
        shown.replace('\n', "\\n")
    );
    let ran = std::process::Command::new("sh").arg("-euc").arg(tc + &text).output().unwrap();
    let lines = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{:?}", ran.stderr);
    let parents: Vec<&str> =
        lines.lines().filter_map(|l| l.split(" parent ").nth(1)?.split(' ').next()).collect();
    let wanted: Vec<String> = (1..=12).map(|n| format!("1:{n:x}")).collect();
    assert_eq!(parents, wanted, "{lines}");
}
