//! Whole texts, as they are typed.

use quell_router::{Platform, Range, Shaped, Which, Written, write};
use quell_units::BitRate;

use crate::{default, shaped, side, with};

/// A text with everything around it.
fn shown(written: &Written) -> String {
    let mut all = String::new();
    for part in &written.parts {
        all.push_str(&format!("== {}\n{}", part.place, part.text));
    }
    for note in &written.notes {
        all.push_str(&format!("- {note}\n"));
    }
    all
}

#[test]
fn texts_are_these() {
    let cake = || {
        with(
            "cake",
            "diffserv = \"diffserv4\"\nisolation = \"dual-dsthost\"\nrtt = \"80 ms\"\ningress = true",
        )
    };
    let up = || {
        with(
            "cake",
            "diffserv = \"diffserv4\"\nisolation = \"dual-srchost\"\nrtt = \"80 ms\"\nack_filter = \"on\"",
        )
    };
    let red = || {
        with("red", "min_th = \"30 kB\"\nmax_th = \"90 kB\"\nmax_p = 0.02\nweight = 0.002\ngentle = false")
    };
    for platform in Platform::all() {
        let mut links = Vec::new();
        if platform.has(&default("cake")).is_some() {
            let mut link = shaped("vdsl-pppoe", cake());
            link.up.aqm = up();
            links.push(("cake", link));
        }
        let interval = with("fq-codel", "interval = \"80 ms\"\nquantum = \"300 B\"");
        links.push(("fq-codel", shaped("docsis", interval)));
        if platform.has(&red()).is_some() {
            links.push(("red", shaped("ethernet", red())));
        }
        for (name, mut link) in links {
            link.wan = platform.devices().0.into();
            link.lan = Some(platform.devices().1.into());
            let text = shown(&write(platform, &link).unwrap());
            insta::with_settings!({ prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(format!("{}-{name}", platform.name()), text);
            });
        }
    }
}

/// Cells of ATM, which two routers can count: an IP packet with 40 B is 26 B longer than an Ethernet frame without FCS, and
/// 22 B longer than one with it, which becomes 24, a multiple of 4.
#[test]
fn cells_are_counted_where_that_can_be_said() {
    let link = |platform: Platform| {
        let mut link = shaped("adsl-pppoe-llcsnap", default("red"));
        (link.wan, link.lan) = (platform.devices().0.into(), Some(platform.devices().1.into()));
        let written = write(platform, &link).unwrap();
        assert!(
            !written.notes.iter().any(|note| note.contains("cells of ATM cannot be set")),
            "{:?}",
            written.notes
        );
        written.parts[0].text.clone()
    };
    let text = link(Platform::IosXe);
    assert!(text.contains("  shape average 19000000 account user-defined 26 atm\n"), "{text}");
    let text = link(Platform::Junos);
    assert!(
        text.contains("quell-up shaping-rate 19000000\n") && text.contains("cell-mode bytes 24\n"),
        "{text}"
    );
    assert!(text.contains("interfaces ge-0/0/0 unit 0 output-traffic-control-profile quell-up\n"), "{text}");
}

/// A link that varies, with cake-autorate.
#[test]
fn a_varying_link_has_limits() {
    let mut link = shaped("lte", default("cake"));
    link.wan = "wwan0".into();
    let rate = |mbit: u64| BitRate::from_bps(mbit * 1_000_000);
    link.down = side("lte", "20 Mbit/s", default("cake"));
    link.down.range = Some(Range { least: rate(4), most: rate(51) });
    let written = write(Platform::OpenWrt, &link).unwrap();
    let text = &written.parts.iter().find(|part| part.text.contains("dl_if=")).unwrap().text;
    for line in [
        "dl_if=ifb4wwan0",
        "ul_if=wwan0",
        "adjust_dl_shaper_rate=1",
        "min_dl_shaper_rate_kbps=4000",
        "base_dl_shaper_rate_kbps=17000",
        "max_dl_shaper_rate_kbps=51000",
        "adjust_ul_shaper_rate=0",
        "min_ul_shaper_rate_kbps=17000",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
    // cake-autorate's setup.sh: other places on OpenWrt than with systemd, whose unit must not read /root and is bound to
    // the device. networkd has downloads on the device toward the hosts.
    for (platform, config, down, start) in [
        (
            Platform::OpenWrt,
            "/root/cake-autorate/config.primary.sh",
            "ifb4wwan0",
            "service cake-autorate enable\n",
        ),
        (
            Platform::find("linux").unwrap(),
            "/etc/cake-autorate/config.wwan0.sh",
            "ifb4wwan0",
            "systemctl enable --now ",
        ),
        (Platform::Networkd, "/etc/cake-autorate/config.wwan0.sh", "eth1", "systemctl enable --now "),
    ] {
        let parts = write(platform, &link).unwrap().parts;
        let of = |word: &str| parts.iter().position(|part| part.text.contains(word)).expect(word);
        let (install, settings, started) = (of("lynxthecat/cake-autorate"), of("dl_if="), of(start));
        assert!(install < settings && settings < started, "{platform:?}");
        assert_eq!(parts[settings].place, config);
        assert!(parts[settings].text.starts_with(&format!("dl_if={down}\nul_if=wwan0\n")), "{platform:?}");
        // The answer tells them from the rest by this word.
        assert!([install, settings, started].iter().all(|n| parts[*n].place.contains("cake-autorate")));
    }
    let other = write(Platform::FreeBsd, &{
        let mut link = link.clone();
        (link.down.aqm, link.up.aqm) = (default("fq-codel"), default("fq-codel"));
        link
    });
    assert!(other.unwrap().notes.iter().any(|note| note.contains("cake-autorate")));
}

/// A direction that is not shaped has no line: neither its rate nor its queue is anywhere, and nothing else changes.
#[test]
fn one_direction_alone_has_the_lines_of_that_one() {
    for platform in Platform::all() {
        let of = |which| {
            let mut link = shaped("docsis", default("fq-codel"));
            (link.wan, link.lan) = (platform.devices().0.into(), Some(platform.devices().1.into()));
            write(platform, &Shaped { which, ..link })
                .map(|written| written.parts.iter().map(|part| part.text.as_str()).collect::<String>())
        };
        let (both, down, up) = (of(Which::Both).unwrap(), of(Which::Down), of(Which::Up));
        if platform == Platform::Gateway {
            assert!(up.unwrap_err().to_string().contains("shapes both directions; shape both"));
            continue;
        }
        let (down, up) = (down.unwrap(), up.unwrap());
        let lacks = |text: &str, line: &&str| !text.lines().any(|own| own == *line);
        let lines = |of: &dyn Fn(&&str) -> bool| both.lines().filter(of).count();
        assert!(lines(&|line| lacks(&up, line)) > 0 && lines(&|line| lacks(&down, line)) > 0, "{platform:?}");
        // Together they have all lines but that of pfSense which names both limiters.
        let neither = lines(&|line| lacks(&up, line) && lacks(&down, line));
        assert_eq!(neither, usize::from(platform == Platform::PfSense), "{platform:?}: {up}{down}");
        assert!(!up.contains("quell-down") && !down.contains("quell-up"), "{platform:?}: {up}{down}");
    }
    let up =
        write(Platform::OpenWrt, &Shaped { which: Which::Up, ..shaped("docsis", default("cake")) }).unwrap();
    assert!(up.parts[0].text.contains("sqm.@queue[0].download='0'"), "{}", up.parts[0].text);
}

/// FreeBSD's rc.firewall adds `100 pass all from any to any via lo0`, 200 and 300, and NAT as 50. Undoing must leave
/// them, and they must still decide: ipfw(8) accepts what leaves a queue unless one_pass is 0.
#[test]
fn the_firewall_of_freebsd_stays() {
    for (which, aqm) in [(Which::Both, "fq-codel"), (Which::Up, "codel"), (Which::Down, "fq-pie")] {
        let written = write(Platform::FreeBsd, &Shaped { which, ..shaped("docsis", default(aqm)) }).unwrap();
        let [lines, undo] = [0, 1].map(|number| written.parts[number].text.as_str());
        let at = |word: &str| lines.find(word).unwrap_or_else(|| panic!("{word}: {lines}"));
        // Accepting comes before loading, and all of it before the first rule.
        let order = [
            "default_to_accept=1",
            "kldload ipfw",
            "kldload -n dummynet",
            "one_pass=0",
            "delete set 7",
            "ipfw add ",
        ];
        assert!(order.map(at).is_sorted(), "{lines}");
        for rule in lines.lines().filter_map(|line| line.strip_prefix("ipfw add ")) {
            let (number, rest) = rule.split_once(' ').unwrap();
            assert!(number.parse::<u32>().unwrap() < 50 && rest.starts_with("set 7 "), "{rule}");
        }
        // What is deleted is the set, and the pipes that were made.
        assert!(undo.starts_with("ipfw delete set 7\n"), "{undo}");
        for line in undo.lines().skip(1) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, kind, "delete", number] = words[..] else { panic!("{line}") };
            assert!(lines.contains(&format!("ipfw {kind} {number} config ")), "{line}");
        }
    }
}
