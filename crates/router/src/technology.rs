//! Technologies of links: what a packet takes of them, and how far below their rate to shape.

use quell_units::{BitRate, Bytes, Framing, LinkLayer};

/// A technology of links.
#[derive(Clone, Copy, Debug)]
pub struct Technology {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Bytes beside the IP packet.
    pub overhead: u64,
    /// Headers and trailers that make up these bytes.
    pub bytes: &'static str,
    /// The smallest packet with its overhead.
    pub smallest: u64,
    /// Framing of what that makes.
    pub framing: Framing,
    /// The largest IP packet.
    pub largest: u64,
    /// The advised rate of the shaper as parts of a thousand of the link's.
    pub share: u64,
    /// Reason for that share.
    pub why: &'static str,
    /// Meaning of the link's rate: the bytes that it counts, and who enforces it.
    pub counts: &'static str,
    /// The rate moves, so that no fixed one is right.
    pub varies: bool,
    /// A better way where a shaper does not help.
    pub instead: Option<&'static str>,
    /// Source of the figures.
    pub source: &'static str,
}

const MODEM: &str = "the queue then forms here and not in the modem, and what slips through drains; 95% of a measured \
                     rate is what bufferbloat.net advises (Setting up SQM), and 85% of one that is only advertised";
const OF_DSL: &str = "the synchronization rate is exact, and the rest lets the queue of the modem or of the DSLAM \
                      drain; the share is that of bufferbloat.net (Setting up SQM)";
const SYNC: &str = "that of the line's synchronization, in each direction";
const MOVES: &str = "the rate moves faster than a person can follow; where cake-autorate runs, it keeps CAKE below it; \
                     the share is chosen";
const OF_ATM: &str =
    "tc-cake(8); ITU-T I.361 (cells), I.363.5 (AAL5), RFC 2684 (LLC/SNAP and VC-MUX), RFC 2516 (PPPoE)";
const OF_PTM: &str =
    "tc-cake(8); ITU-T G.992.3 Annex N (64/65 octets), RFC 2516 (PPPoE), IEEE 802.3 and 802.1Q";
const HEADERS: &str = "at most as tc-cake(8) counts it";

/// A technology with cells of ATM.
const fn atm(
    name: &'static str,
    title: &'static str,
    overhead: u64,
    bytes: &'static str,
    largest: u64,
) -> Technology {
    let framing = Framing::Atm;
    Technology { name, title, overhead, bytes, framing, largest, source: OF_ATM, ..DSL }
}

/// A technology with code words of PTM.
const fn ptm(
    name: &'static str,
    title: &'static str,
    overhead: u64,
    bytes: &'static str,
    largest: u64,
) -> Technology {
    let framing = Framing::Ptm;
    Technology { name, title, overhead, bytes, framing, largest, source: OF_PTM, ..DSL }
}

/// Common part of lines of telephone cable.
const DSL: Technology = Technology {
    name: "",
    title: "",
    overhead: 0,
    bytes: HEADERS,
    smallest: 0,
    framing: Framing::None,
    largest: 1500,
    share: 950,
    why: OF_DSL,
    counts: SYNC,
    varies: false,
    instead: None,
    source: OF_PTM,
};

/// Every technology.
pub const TECHNOLOGIES: &[Technology] = &[
    Technology {
        name: "docsis",
        title: "cable (DOCSIS)",
        overhead: 18,
        bytes: "Ethernet header 14, FCS 4",
        smallest: 64,
        share: 950,
        why: MODEM,
        counts: "that of the service, enforced by the CMTS in both directions by a token bucket that counts Ethernet \
                 frames with their FCS; headers of DOCSIS are not counted",
        source: "tc-cake(8): docsis; CableLabs MULPI, Maximum Sustained Traffic Rate (not verified)",
        ..DSL
    },
    ptm("vdsl-pppoe", "VDSL2 with PPPoE", 30, "PPPoE and PPP 8, Ethernet header 14, FCS 4, PTM 4", 1492),
    ptm(
        "vdsl-pppoe-vlan",
        "VDSL2 with PPPoE in a VLAN",
        34,
        "PPPoE and PPP 8, VLAN 4, Ethernet header 14, FCS 4, PTM 4",
        1492,
    ),
    ptm("vdsl-bridged", "VDSL2 with Ethernet", 22, "Ethernet header 14, FCS 4, PTM 4", 1500),
    ptm(
        "vdsl-bridged-vlan",
        "VDSL2 with Ethernet in a VLAN",
        26,
        "VLAN 4, Ethernet header 14, FCS 4, PTM 4",
        1500,
    ),
    atm(
        "adsl-pppoe-llcsnap",
        "ADSL with PPPoE, LLC/SNAP",
        40,
        "PPPoE and PPP 8, Ethernet header 14, LLC/SNAP 10, AAL5 8",
        1492,
    ),
    atm(
        "adsl-pppoe-vcmux",
        "ADSL with PPPoE, VC-MUX",
        32,
        "PPPoE and PPP 8, Ethernet header 14, padding 2, AAL5 8",
        1492,
    ),
    atm("adsl-pppoa-llc", "ADSL with PPPoA, LLC", 14, "PPP 2, LLC 4, AAL5 8", 1500),
    atm("adsl-pppoa-vcmux", "ADSL with PPPoA, VC-MUX", 10, "PPP 2, AAL5 8", 1500),
    atm("adsl-ipoa-llcsnap", "ADSL with IPoA, LLC/SNAP", 16, "LLC/SNAP 8, AAL5 8", 1500),
    atm("adsl-ipoa-vcmux", "ADSL with IPoA, VC-MUX", 8, "AAL5 8", 1500),
    atm(
        "adsl-bridged-llcsnap",
        "ADSL with Ethernet, LLC/SNAP",
        32,
        "Ethernet header 14, LLC/SNAP 10, AAL5 8",
        1500,
    ),
    atm(
        "adsl-bridged-vcmux",
        "ADSL with Ethernet, VC-MUX",
        24,
        "Ethernet header 14, padding 2, AAL5 8",
        1500,
    ),
    Technology {
        name: "gpon",
        title: "passive optical fiber (GPON, XGS-PON)",
        overhead: 27,
        bytes: "Ethernet header 14, VLAN 4, FCS 4, GEM 5",
        smallest: 69,
        share: 950,
        why: MODEM,
        counts: "that of the service, mostly enforced by the OLT on Ethernet frames; the header of GEM is counted in \
                 case it is enforced on the fiber",
        source: "IEEE 802.3 and 802.1Q; ITU-T G.984.3, GEM (not verified)",
        ..DSL
    },
    Technology {
        name: "ethernet",
        title: "Ethernet to another router that limits it",
        overhead: 38,
        bytes: "Ethernet header 14, FCS 4, preamble 8, gap 12",
        smallest: 84,
        share: 950,
        why: MODEM,
        counts: "that of the wire, with preambles and gaps",
        source: "IEEE 802.3; tc-cake(8): ethernet",
        ..DSL
    },
    Technology {
        name: "port",
        title: "a port of a switch or a server, at its own rate",
        overhead: 38,
        bytes: "Ethernet header 14, FCS 4, preamble 8, gap 12",
        smallest: 84,
        share: 1000,
        why: "the queue is already before this port, so nothing is shaped",
        counts: "that of the wire, with preambles and gaps",
        instead: Some("give the port's own queue the algorithm, without a shaper"),
        source: "IEEE 802.3; tc-cake(8): ethernet",
        ..DSL
    },
    Technology {
        name: "wifi",
        title: "Wi-Fi",
        overhead: 38,
        bytes: "counted as an Ethernet frame; a frame of Wi-Fi costs air time, which no overhead in bytes says",
        smallest: 84,
        share: 800,
        why: "rates change with each station and each frame, so any fixed rate is a guess; the share is chosen",
        counts: "one of air time, which stations share",
        varies: true,
        instead: Some(
            "the queue belongs into the driver: FQ-CoDel of mac80211 with air-time fairness, no shaper",
        ),
        source: "RFC 8290 section 6.1; Høiland-Jørgensen et al., Ending the Anomaly, USENIX ATC 2017",
        ..DSL
    },
    Technology {
        name: "lte",
        title: "LTE",
        overhead: 6,
        bytes: "about: PDCP 2, RLC 2, MAC 2",
        share: 850,
        why: MOVES,
        counts: "what the cell grants at the moment",
        varies: true,
        source: "3GPP TS 36.321, 36.322, 36.323 (not verified)",
        ..DSL
    },
    Technology {
        name: "5g",
        title: "5G",
        overhead: 9,
        bytes: "about: SDAP 1, PDCP 3, RLC 3, MAC 2",
        share: 850,
        why: MOVES,
        counts: "what the cell grants at the moment",
        varies: true,
        source: "3GPP TS 37.324, 38.321, 38.322, 38.323 (not verified)",
        ..DSL
    },
    Technology {
        name: "satellite",
        title: "geostationary satellite",
        overhead: 10,
        bytes: "GSE: 4 with lengths and protocol, label 6",
        share: 900,
        why: "coding follows the weather, so the rate is lower at times; the share is chosen",
        counts: "that of the service, mostly enforced by the gateway; proxies (PEP) may end connections before the \
                 link",
        source: "ETSI TS 102 606-1, GSE (not verified); RFC 3135 (PEP)",
        ..DSL
    },
    Technology {
        name: "starlink",
        title: "low satellites (Starlink)",
        overhead: 38,
        bytes: "counted as an Ethernet frame; what the air adds is not published",
        smallest: 84,
        share: 850,
        why: MOVES,
        counts: "what the satellite grants; it changes every 15 s",
        varies: true,
        source: "cake-autorate, Example_Starlink_config.sh; IEEE 802.3",
        ..DSL
    },
];

/// Other names of technologies, each with the name that it stands for.
pub const ALIASES: &[(&str, &str)] = &[
    ("cable", "docsis"),
    ("vdsl", "vdsl-pppoe"),
    ("vdsl2", "vdsl-pppoe"),
    ("vdsl-ptm", "vdsl-pppoe"),
    ("pppoe-ptm", "vdsl-pppoe"),
    ("bridged-ptm", "vdsl-bridged"),
    ("adsl", "adsl-pppoe-llcsnap"),
    ("adsl-atm", "adsl-pppoe-llcsnap"),
    ("fiber", "gpon"),
    ("fibre", "gpon"),
    ("ftth", "gpon"),
    ("xgs-pon", "gpon"),
    ("wlan", "wifi"),
    ("4g", "lte"),
    ("nr", "5g"),
    ("sat", "satellite"),
    ("geo", "satellite"),
    ("leo", "starlink"),
];

/// The technology of a name, or of one of its other names.
pub fn find(name: &str) -> Option<&'static Technology> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
    TECHNOLOGIES.iter().find(|t| t.name == name)
}

/// The technology of a name.
///
/// # Errors
/// Says which one may be meant, and lists all.
pub fn named(name: &str) -> Result<&'static Technology, String> {
    find(name).ok_or_else(|| {
        let names = || TECHNOLOGIES.iter().map(|t| t.name);
        let nearest = quell_names::nearest(name, names().chain(ALIASES.iter().map(|(alias, _)| *alias)));
        let known = format!("known: {}", names().collect::<Vec<_>>().join(", "));
        quell_names::suggest("unknown technology", nearest.as_deref(), Some(&known))
    })
}

impl Technology {
    /// A link of this technology at a rate.
    pub fn link(&self, rate: BitRate) -> LinkLayer {
        LinkLayer {
            overhead: Bytes::new(self.overhead),
            smallest: Bytes::new(self.smallest),
            framing: self.framing,
            ..LinkLayer::plain(rate)
        }
    }

    /// The link as a shaper of it should count: with the margin, rounded down to 10 kbit/s from 1 Mbit/s on.
    pub fn shaped(&self, rate: BitRate) -> LinkLayer {
        let bps = u128::from(rate.bps()) * u128::from(self.share) / 1000;
        let bps = u64::try_from(bps).unwrap_or(u64::MAX);
        self.link(BitRate::from_bps(bps / step(bps) * step(bps)))
    }

    /// The rate of IP packets of one size that a rate of this technology carries.
    pub fn carried(&self, rate: BitRate, packet: Bytes) -> BitRate {
        self.link(rate).of_packets(packet)
    }

    /// What is to be known of such links whatever the router: where to shape, and what helps more than a shaper.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.name.contains("pppoe") {
            notes.push(
                "shape the device of PPP (pppoe-wan, ppp0, pppoe-out1; on FreeBSD tun0 of ppp(8) or ng0 of mpd5), where packets \
                 have no header of PPPoE yet. On the Ethernet below it, ipfw finds no IP packets, and CAKE would count \
                 those 8 B twice. Shapers that count Ethernet's 14 B themselves do not find them on the device of PPP: add \
                 14 B to their overhead there"
                    .into(),
            );
        }
        if let Some(instead) = self.instead {
            notes.push(format!("{}: {instead}", self.why));
        }
        if self.varies {
            notes.push("the rate varies, so a fixed one is too high at times and too low at others".into());
        }
        notes
    }

    /// The rate for a shaper, with its margin, in sentences.
    pub fn sentence(&self, rate: BitRate) -> String {
        let shaped = self.shaped(rate);
        let margin = match self.share {
            1000 => format!("{}, unshaped: {}", megabits(rate), self.why),
            _ => self.margin(shaped.rate, rate, self.why),
        };
        format!("{margin}. {}", self.carries(shaped.rate))
    }

    /// The rate of a shaper beside that of its link, and the reason for it: "90.2 Mbit/s of 95.0 Mbit/s (95%): why".
    pub fn margin(&self, shaped: BitRate, rate: BitRate, why: &str) -> String {
        let share = 100.0 * shaped.bps() as f64 / rate.bps().max(1) as f64;
        let share = libm::round(10.0 * share) / 10.0;
        format!("{} of {} ({share}%): {why}", megabits(shaped), megabits(rate))
    }

    /// What a rate carries of IP, in a sentence.
    pub fn carries(&self, rate: BitRate) -> String {
        let (full, small) = (Bytes::new(self.largest), Bytes::new(52));
        let carries = |packet| megabits(self.link(rate).of_packets(packet));
        let unit = match self.framing {
            Framing::None => "on the wire",
            Framing::Atm => "of ATM cells",
            Framing::Ptm => "of PTM",
        };
        format!(
            "These {} {unit} carry {} of IP in packets of {full}, {} in packets of {small} ({}).",
            megabits(rate),
            carries(full),
            carries(small),
            self.bytes
        )
    }
}

/// The step of the rates that are told.
pub(crate) fn step(bps: u64) -> u64 {
    if bps >= 1_000_000 { 10_000 } else { 1 }
}

/// A rate with three digits, in Mbit/s or another unit.
pub(crate) fn megabits(rate: BitRate) -> String {
    let bps = rate.bps() as f64;
    let (value, unit) = match rate.bps() {
        1_000_000_000.. => (bps / 1e9, "Gbit/s"),
        1_000_000.. => (bps / 1e6, "Mbit/s"),
        1_000.. => (bps / 1e3, "kbit/s"),
        _ => (bps, "bit/s"),
    };
    format!("{} {unit}", quell_units::text::three_digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(x: f64) -> BitRate {
        BitRate::from_bps((x * 1e6) as u64)
    }

    /// By hand: 1492 + 30 = 1522 bytes take 24 code words, so 1546; 52 + 30 = 82 take 84. With the margin of 5%,
    /// 9.5 Mbit/s carry 9.168 and 5.881 Mbit/s; without it, 10 Mbit/s carry 9.651 and 6.190.
    #[test]
    fn vdsl_carries_what_arithmetic_says() {
        let line = find("vdsl-pppoe").unwrap();
        let shaped = line.shaped(mbit(10.0));
        assert_eq!(shaped.rate, mbit(9.5));
        let of = |rate, bytes| line.carried(rate, Bytes::new(bytes)).bps();
        assert_eq!((of(shaped.rate, 1492), of(shaped.rate, 52)), (9_168_176, 5_880_952));
        assert_eq!((of(mbit(10.0), 1492), of(mbit(10.0), 52)), (9_650_712, 6_190_476));
    }

    /// By hand: a frame of DOCSIS has 18 bytes more and 64 at least; 1532 bytes of an ADSL line with PPPoE are 32
    /// cells of 53, and 92 are 2.
    #[test]
    fn others_carry_what_arithmetic_says() {
        let of = |name: &str, bytes| find(name).unwrap().carried(mbit(10.0), Bytes::new(bytes)).bps();
        assert_eq!(of("docsis", 1500), 9_881_423);
        assert_eq!(of("docsis", 40), 6_250_000);
        assert_eq!(of("adsl-pppoe-llcsnap", 1492), 8_797_170);
        assert_eq!(of("adsl-pppoe-llcsnap", 52), 4_905_660);
        assert_eq!(of("ethernet", 1500), 9_752_926);
        assert_eq!(of("gpon", 1500), 9_823_183);
    }

    /// The words of tc-cake(8) that mean the same.
    #[test]
    fn figures_are_those_of_cake() {
        for (ours, cake) in [
            ("docsis", "docsis"),
            ("vdsl-pppoe", "pppoe-ptm"),
            ("vdsl-bridged", "bridged-ptm"),
            ("ethernet", "ethernet"),
            ("adsl-pppoe-llcsnap", "pppoe-llcsnap"),
            ("adsl-pppoe-vcmux", "pppoe-vcmux"),
            ("adsl-pppoa-llc", "pppoa-llc"),
            ("adsl-pppoa-vcmux", "pppoa-vcmux"),
            ("adsl-ipoa-llcsnap", "ipoa-llcsnap"),
            ("adsl-ipoa-vcmux", "ipoa-vcmux"),
            ("adsl-bridged-llcsnap", "bridged-llcsnap"),
            ("adsl-bridged-vcmux", "bridged-vcmux"),
        ] {
            assert_eq!(
                Some(find(ours).unwrap().link(mbit(1.0))),
                LinkLayer::named(cake, mbit(1.0)),
                "{ours}"
            );
        }
    }

    /// What the bytes are said to be adds up to the overhead.
    #[test]
    fn bytes_add_up() {
        for t in TECHNOLOGIES.iter().filter(|t| !t.bytes.contains("counted as")) {
            let sum: u64 =
                t.bytes.split(' ').filter_map(|w| w.trim_end_matches(',').parse::<u64>().ok()).sum();
            assert_eq!(sum, t.overhead, "{}: {}", t.name, t.bytes);
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        assert!(find("cable").is_some_and(|t| t.name == "docsis"));
        let said = named("docsiss").unwrap_err();
        assert!(said.contains("did you mean \"docsis\"?") && said.contains("vdsl-pppoe"), "{said}");
        for t in TECHNOLOGIES {
            assert_eq!(named(t.name).unwrap().name, t.name);
        }
    }

    #[test]
    fn notes_are_those_of_the_link() {
        let notes = |name: &str| find(name).unwrap().notes().join("\n");
        assert!(notes("vdsl-pppoe").contains("the device of PPP") && notes("docsis").is_empty());
        assert!(notes("lte").contains("varies") && notes("port").contains("without a shaper"));
    }

    #[test]
    fn the_sentence_has_the_figures() {
        let said = find("vdsl-pppoe").unwrap().sentence(mbit(10.0));
        assert!(
            said.contains("9.50 Mbit/s of PTM carry 9.17 Mbit/s of IP in packets of 1492 B, 5.88 Mbit/s"),
            "{said}"
        );
    }
}
