//! Routers as data: what each one has, counts and needs.

use std::mem::discriminant;

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_tc::Kernel;
use quell_units::{BitRate, Bytes, Framing, LinkLayer};

use crate::counted::{Counts, signed, unframed};
use crate::offer::{Fit, Offer, Words};
use crate::offers;
use crate::shaped::{Shaped, Which};

/// A system that shapes a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux of a version, with tc.
    Linux(Kernel),
    /// OpenWrt with sqm-scripts.
    OpenWrt,
    /// systemd-networkd.
    Networkd,
    /// MikroTik RouterOS 7.
    RouterOs,
    /// FreeBSD with ipfw and dummynet.
    FreeBsd,
    /// OPNsense.
    OpnSense,
    /// pfSense.
    PfSense,
    /// `quell gateway` on Linux.
    Gateway,
    /// Juniper's Junos.
    Junos,
    /// Cisco's IOS XE.
    IosXe,
}

/// The kernel of Debian 13.
const DEBIAN: Kernel = Kernel::new(6, 12);

/// Description of a platform.
struct About {
    platform: Platform,
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
    offers: &'static [Offer],
    /// Bytes that its shaper counts.
    counts: Counts,
    /// The devices that it mostly has: toward the link, and toward the hosts.
    devices: (&'static str, &'static str),
    /// Limit of the processor that moves the packets; none where hardware moves them.
    processor: Option<&'static str>,
    /// Notes that always hold: about hardware that goes around the queue, and IPv6.
    notes: &'static [&'static str],
    source: &'static str,
}

const ABOUT: &[About] = &[
    About {
        platform: Platform::Linux(DEBIAN),
        name: "linux",
        aliases: &["tc", "debian"],
        title: "Linux with tc",
        offers: &[],
        counts: Counts::Link,
        devices: ("eth0", "eth1"),
        processor: Some("one core shapes one direction: watch `mpstat -P ALL 1` for %soft during a download"),
        notes: &[
            "turn off flow tables of nftables (flowtable, hardware offload), whose packets go around the queue",
            "IPv4 and IPv6 share the queue",
        ],
        source: "tc(8) and the pages of each qdisc; docs/how-to/tc.md",
    },
    About {
        platform: Platform::OpenWrt,
        name: "openwrt",
        aliases: &["sqm", "lede", "uci"],
        title: "OpenWrt with sqm-scripts",
        offers: offers::OPENWRT,
        counts: Counts::Link,
        devices: ("wan", "br-lan"),
        processor: Some("one core shapes one direction: watch `top` for sirq during a download"),
        notes: &[
            "turn off hardware and software flow offloading (Network > Firewall), whose packets go around the queue",
            "IPv4 and IPv6 share the queue",
        ],
        source: "sqm-scripts: run-openwrt.sh, layer_cake.qos, piece_of_cake.qos, simplest.qos, defaults.sh; tc-cake(8)",
    },
    About {
        platform: Platform::Networkd,
        name: "networkd",
        aliases: &["systemd", "systemd-networkd"],
        title: "systemd-networkd",
        offers: offers::NETWORKD,
        counts: Counts::Overhead { header: 14, least: 0, most: 4_294_967_295, step: 1, cells: false },
        devices: ("eth0", "eth1"),
        processor: Some("one core shapes one direction: watch `mpstat -P ALL 1` for %soft during a download"),
        notes: &[
            "downloads are shaped where they leave to the hosts, so that what the router itself downloads is not; \
             files of networkd have no action that would redirect what comes in",
            "with several devices toward hosts, put them into a bridge",
            "turn off flow tables of nftables with hardware offload, whose packets go around the queue",
            "IPv4 and IPv6 share the queue",
        ],
        source: "systemd.network(5), systemd 252; RTTSec= and AckFilter= of [CAKE] came later",
    },
    About {
        platform: Platform::RouterOs,
        name: "routeros",
        aliases: &["mikrotik", "routeros-7", "ros"],
        title: "MikroTik RouterOS 7",
        offers: offers::ROUTEROS,
        counts: Counts::Fixed { header: 14 },
        devices: ("ether1", "ether2"),
        processor: Some("one core shapes one direction: watch `/tool profile` for queuing during a download"),
        notes: &[
            "downloads are shaped where they leave to the hosts, so that what the router itself downloads is not",
            "bridge ports with hardware offload do not pass the queue of the bridge from one port to another",
            "FastTrack passes simple queues by, but not the queues of interfaces that are used here",
            "IPv4 and IPv6 share the queue",
        ],
        source: "manual.mikrotik.com: Queues, CLI reference of /queue/type (RouterOS 7)",
    },
    About {
        platform: Platform::FreeBsd,
        name: "freebsd",
        aliases: &["ipfw", "dummynet", "dnctl"],
        title: "FreeBSD with ipfw and dummynet",
        offers: offers::FREEBSD,
        counts: Counts::Fixed { header: 0 },
        devices: ("em0", "em1"),
        processor: Some("one thread (dummynet) shapes all: watch `top -SH` for it during a download"),
        notes: &[
            "turn off LRO and TSO of the devices (`ifconfig em0 -lro -tso`), whose merged packets dummynet counts as \
             one",
            "the rules take IPv4 and IPv6 into the same queue",
            "the clock of dummynet ticks at kern.hz (1000): packets leave in bursts of 1 ms",
        ],
        source: "ipfw(8); FreeBSD, sys/netpfil/ipfw/dn_sched_fq_codel.c, dn_sched_fq_pie.c (limits)",
    },
    About {
        platform: Platform::OpnSense,
        name: "opnsense",
        aliases: &[],
        title: "OPNsense",
        offers: offers::OPNSENSE,
        counts: Counts::Fixed { header: 0 },
        devices: ("WAN", "LAN"),
        processor: Some("one thread (dummynet) shapes all: watch System Activity for it during a download"),
        notes: &[
            "turn off hardware LRO and TSO (Interfaces > Settings), whose merged packets dummynet counts as one",
            "the rules take IPv4 and IPv6 (protocol ip) into the same queue",
            "the clock of dummynet ticks at kern.hz (1000): packets leave in bursts of 1 ms",
        ],
        source: "OPNsense, model of the shaper (TrafficShaper.xml, version 1.0.3); names of its fields: not verified; \
                 ipfw(8)",
    },
    About {
        platform: Platform::PfSense,
        name: "pfsense",
        aliases: &[],
        title: "pfSense",
        offers: offers::PFSENSE,
        counts: Counts::Fixed { header: 0 },
        devices: ("WAN", "LAN"),
        processor: Some(
            "one thread (dummynet) shapes all: watch Diagnostics > System Activity for it during a download",
        ),
        notes: &[
            "turn off hardware LRO and TSO (System > Advanced > Networking), whose merged packets dummynet counts as \
             one",
            "the rule below is for IPv4: add the same for IPv6, into the same limiters",
        ],
        source: "pfSense's documentation: Traffic Shaper, Limiters (names of fields: not verified); ipfw(8)",
    },
    About {
        platform: Platform::Gateway,
        name: "gateway",
        aliases: &["quell", "quell-gateway"],
        title: "quell gateway on Linux",
        offers: &[],
        counts: Counts::Fixed { header: 0 },
        devices: ("eth0", "eth1"),
        processor: Some("`quell gateway check` measures what this machine moves"),
        notes: &[
            "turn off flow tables and LRO: `quell gateway check` names them",
            "IPv4 and IPv6 share the queue",
        ],
        source: "docs/gateway.md",
    },
    About {
        platform: Platform::Junos,
        name: "junos",
        aliases: &["juniper"],
        title: "Junos",
        offers: offers::JUNOS,
        counts: Counts::Overhead { header: 18, least: -120, most: 124, step: 4, cells: true },
        devices: ("ge-0/0/0", "ge-0/0/1"),
        processor: None,
        notes: &[
            "packets are dropped in hardware, in all families; traffic-control-profiles need an interface with \
             hierarchical or per-unit schedulers",
            "what comes in is shaped where it leaves to the hosts",
        ],
        source: "Junos OS 12.2 and 13.1, Class of Service: RED drop profiles, schedulers (buffer-size temporal), \
                 overhead-accounting (frame-mode, cell-mode)",
    },
    About {
        platform: Platform::IosXe,
        name: "ios-xe",
        aliases: &["iosxe", "ios", "cisco"],
        title: "IOS XE",
        offers: offers::IOS_XE,
        counts: Counts::Overhead { header: 14, least: -63, most: 63, step: 1, cells: true },
        devices: ("GigabitEthernet0/0/0", "GigabitEthernet0/0/1"),
        processor: None,
        notes: &[
            "the policy takes IPv4 and IPv6 into the same queue",
            "what comes in is shaped where it leaves to the hosts",
        ],
        source: "Cisco, command references of IOS (random-detect: 1 to 4096 packets, exponent 1 to 16); Cisco \
                 10000 Series, Quality of Service Configuration Guide, chapter 10 (account user-defined, atm); limits of \
                 queue-limit, and whether other series have the same: not verified",
    },
];

impl Platform {
    /// Every platform.
    pub fn all() -> impl Iterator<Item = Platform> {
        ABOUT.iter().map(|about| about.platform)
    }

    /// Whether cake-autorate runs on it, which keeps CAKE's rate below that of a varying link: it moves any CAKE that tc
    /// shows.
    pub fn follows(self) -> bool {
        matches!(self, Platform::OpenWrt | Platform::Linux(_) | Platform::Networkd)
    }

    fn about(self) -> &'static About {
        // Every variant has one, which a test checks.
        let is_own = |about: &&About| discriminant(&about.platform) == discriminant(&self);
        ABOUT.iter().find(is_own).unwrap_or(&ABOUT[0])
    }

    /// Its name, as `--can` takes it.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// Other names of it.
    pub fn aliases(self) -> &'static [&'static str] {
        self.about().aliases
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        self.about().title
    }

    /// Bytes of a packet that its shaper counts.
    pub fn counts(self) -> Counts {
        self.about().counts
    }

    /// Whether CAKE sets the rate there by itself, so that it needs no shaper above it.
    pub fn leaves_rates_to_cake(self) -> bool {
        self != Platform::Gateway
    }

    /// Bytes of a packet that its shaper counts on a device: Linux counts the header that packets have there.
    pub(crate) fn counts_on(self, device: Option<&str>) -> Counts {
        match (self.counts(), self) {
            (Counts::Overhead { least, most, step, cells, .. }, Platform::Networkd) => {
                let header = signed(quell_tc::header(device));
                Counts::Overhead { header, least, most, step, cells }
            }
            (counts, _) => counts,
        }
    }

    /// The shaper of a link as it is typed there for an algorithm that has none itself: its rate, and what a packet takes
    /// of it. `device` is the one that leads to the link.
    pub fn typed(self, link: &LinkLayer, device: Option<&str>) -> LinkLayer {
        let header = quell_tc::header(device);
        match (self, link.framing) {
            // htb has no framing of PTM, and counts a device's header at least.
            (Platform::Linux(_), framing) => {
                let is_ptm = framing == Framing::Ptm;
                let rate = if is_ptm { BitRate::from_bps(link.rate.bps() / 65 * 64) } else { link.rate };
                let framing = if is_ptm { Framing::None } else { framing };
                let overhead = Bytes::new(link.overhead.get() + u64::from(is_ptm)).max(header);
                LinkLayer { rate, overhead, framing, ..*link }
            }
            (Platform::OpenWrt, Framing::Ptm) => {
                let (rate, _, _) = unframed(link);
                let overhead = Bytes::new(link.overhead.get() + 1);
                LinkLayer { rate, overhead, framing: Framing::None, ..*link }
            }
            _ => self.counts_on(device).typed(link),
        }
    }

    /// The devices that it mostly has: toward the link, and toward the hosts.
    pub fn devices(self) -> (&'static str, &'static str) {
        self.about().devices
    }

    /// Notes that always hold.
    pub fn notes(self) -> &'static [&'static str] {
        self.about().notes
    }

    /// Sources of this description.
    pub fn source(self) -> &'static str {
        self.about().source
    }

    /// The algorithms that it has, or comes near to.
    pub fn offers(self) -> Vec<Offer> {
        let all = |algorithm, native| Offer {
            algorithm,
            native,
            since: "",
            fit: Fit::Same,
            words: Words::All,
            note: None,
        };
        match self {
            Platform::Gateway => CATALOG.iter().map(|entry| all(entry.name, entry.name)).collect(),
            Platform::Linux(kernel) => {
                let there = |qdisc: &str| quell_tc::defaults::of_qdisc(qdisc, kernel).is_some();
                let own = quell_tc::QDISCS.iter().filter(|(_, qdisc)| there(qdisc));
                own.map(|(name, qdisc)| all(name, qdisc)).collect()
            }
            _ => self.about().offers.to_vec(),
        }
    }

    /// The algorithms that it has, as the catalog names them.
    pub fn algorithms(self) -> Vec<&'static str> {
        self.offers().iter().filter(|offer| offer.fit == Fit::Same).map(|offer| offer.algorithm).collect()
    }

    /// The Linux in it, if there is one: what its queues do beside what they are told.
    pub fn kernel(self) -> Option<Kernel> {
        match self {
            Platform::Linux(kernel) => Some(kernel),
            // OpenWrt 24.10 has 6.6; RouterOS 7 has 5.6, whose queues are those of the oldest that is known.
            Platform::OpenWrt => Some(Kernel::new(6, 6)),
            Platform::Networkd => Some(DEBIAN),
            Platform::RouterOs => Some(Kernel::OLDEST),
            _ => None,
        }
    }

    /// The offer for an algorithm, if there is one.
    pub fn has(self, config: &AqmConfig) -> Option<Offer> {
        self.offers().into_iter().find(|offer| offer.algorithm == config.name())
    }

    /// A note if a router's processor shapes at most `limit`, both directions together, and this is more.
    pub fn beyond(self, limit: BitRate, shaped: &Shaped) -> Option<String> {
        let processor = self.about().processor?;
        let [down, up] = [&shaped.down, &shaped.up].map(|side| side.link.rate);
        let both = match shaped.which {
            Which::Both => BitRate::from_bps(down.bps().saturating_add(up.bps())),
            Which::Down => down,
            Which::Up => up,
        };
        (both > limit).then(|| {
            format!(
                "{both} in both directions are more than the {limit} that this router can shape: it would then become \
                 the bottleneck, with queues of its own; shape the slower direction alone, lower the rates, or use a \
                 faster router ({processor})"
            )
        })
    }

    /// The processor's part in shaping, if it has one.
    pub(crate) fn processor(self) -> Option<&'static str> {
        self.about().processor
    }

    /// The platform of a name. A version after it (`linux-7.2`) counts for Linux, and changes nothing elsewhere.
    pub fn find(name: &str) -> Option<Platform> {
        let exact = |name: &str| {
            let found = ABOUT.iter().find(|about| about.name == name || about.aliases.contains(&name));
            found.map(|about| about.platform)
        };
        let is_version =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let versioned = || {
            let (name, version) = name.rsplit_once('-').filter(|(_, version)| is_version(version))?;
            match exact(name)? {
                Platform::Linux(_) => version.parse().ok().map(Platform::Linux),
                other => Some(other),
            }
        };
        exact(name).or_else(versioned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::catalog::find;

    #[test]
    fn each_has_its_own_description() {
        for about in ABOUT {
            assert_eq!(about.platform.name(), about.name);
            assert_eq!(Platform::find(about.name), Some(about.platform));
        }
        assert_eq!(Platform::find("openwrt-24.10"), Some(Platform::OpenWrt));
        assert_eq!(Platform::find("openwrt-x"), None);
        assert_eq!(Platform::find("linux"), Some(Platform::Linux(DEBIAN)));
        assert_eq!(Platform::find("linux-7.2"), Some(Platform::Linux(Kernel::NEWEST)));
        assert!(!Platform::Linux(DEBIAN).algorithms().contains(&"dualpi2"));
        assert!(Platform::Linux(Kernel::NEWEST).algorithms().contains(&"dualpi2"));
        assert_eq!(Platform::find("mikrotik"), Some(Platform::RouterOs));
    }

    /// What is offered is in the catalog, and what is said of its parameters are some of them.
    #[test]
    fn offers_are_of_the_catalog() {
        for platform in Platform::all() {
            for offer in platform.offers() {
                let entry = find(offer.algorithm).unwrap();
                let own: Vec<&str> = (entry.params)().iter().map(|p| p.name).collect();
                let Words::These(knobs) = offer.words else { continue };
                for knob in knobs {
                    let of_side = ["ecn", "limit", "memory_limit"].contains(&knob.ours);
                    assert!(
                        of_side || own.contains(&knob.ours),
                        "{platform:?} {} {}",
                        offer.algorithm,
                        knob.ours
                    );
                }
            }
        }
    }
}
