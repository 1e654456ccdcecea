//! The rules that lead packets here, in the firewall that the host has.
//!
//! All of them are in chains or a table of the gateway's own, so that they go as they came. Each table's are added
//! in one transaction. The bits that they set in a packet's mark are gone before a rule of others sees it: many of those
//! compare the whole mark.

use std::io::Write as _;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use quell_units::text::named;

use crate::port::nfqueue::MarkBits;
use crate::sys;

/// The priority of the queues of nft: whatever filters does so before.
const BEHIND: i32 = 1000;
/// The same of what this host sends, behind the filters of postrouting: then `srcnat` follows, 100.
const BEFORE_NAT: i32 = 90;

/// The program that sets the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    /// iptables with its security table if it accepts the rules, else nft, else iptables without that table.
    #[default]
    Auto,
    /// iptables and ip6tables.
    Iptables,
    /// nft.
    Nft,
}

/// A firewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// iptables with its security table.
    Iptables,
    /// iptables without it: all is in mangle.
    Mangle,
    Nft,
}

impl Kind {
    /// Tells whether its programs are there.
    pub fn there(self) -> bool {
        match self {
            Kind::Iptables | Kind::Mangle => families().iter().flatten().all(|program| there(program)),
            Kind::Nft => there("nft"),
        }
    }

    /// Tells whether every packet that is to be marked goes through the chain of its queue again, not only the host's own.
    pub fn repeats(self) -> bool {
        self == Kind::Mangle
    }

    /// The kind of iptables that this kernel has.
    pub fn of_iptables() -> Self {
        let list = Call::new("iptables", &["-w", "5", "-t", "security", "-S"], String::new());
        if list.run(false).is_ok() { Kind::Iptables } else { Kind::Mangle }
    }
}

/// The rules of one gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rules {
    pub kind: Kind,
    /// The gateway's name.
    pub id: String,
    /// The device.
    pub wan: String,
    /// The queue of what goes out there; what comes in has the next one.
    pub queue: u16,
    /// Packets pass while nobody reads a queue.
    pub open: bool,
    /// The bits of packets' marks that are used.
    #[serde(default)]
    pub bits: MarkBits,
}

/// A program, its arguments and what it reads.
struct Call {
    program: &'static str,
    args: Vec<String>,
    input: String,
}

impl Call {
    fn new(program: &'static str, args: &[&str], input: String) -> Self {
        Call { program, args: args.iter().map(|a| a.to_string()).collect(), input }
    }

    /// Returns what it says on stdout, or on stderr if it fails. `scratch` runs it in a network namespace of its
    /// own, where nothing that it does matters.
    fn run(&self, scratch: bool) -> Result<String, String> {
        let mut command = Command::new(self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What is killed in the middle of a change must not go on to make it.
        sys::is_killed_with_its_parent(&mut command);
        if scratch {
            sys::in_network_of_its_own(&mut command);
        }
        let said = |e: std::io::Error| format!("{}: {e}", self.program);
        let mut child = command.spawn().map_err(said)?;
        if let Some(mut input) = child.stdin.take() {
            // A program that has failed does not read: what it says counts.
            let _ = input.write_all(self.input.as_bytes());
        }
        let done = child.wait_with_output().map_err(said)?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&done.stderr);
        let why: Vec<&str> = why.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        Err(format!("{}: {}", self.program, why.first().unwrap_or(&"failed")))
    }
}

/// Tells whether there is such a program.
fn there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
}

/// The families of iptables that this kernel has.
fn families() -> &'static [[&'static str; 2]] {
    const BOTH: [[&str; 2]; 2] = [["iptables", "iptables-restore"], ["ip6tables", "ip6tables-restore"]];
    let v6 = std::path::Path::new("/proc/thread-self/net/if_inet6").exists();
    if v6 { &BOTH } else { &BOTH[..1] }
}

/// The rules in one of the tables of iptables.
struct Table {
    name: &'static str,
    /// The chains of the gateway.
    chains: Vec<String>,
    /// From which chain of the kernel's what goes to which of the gateway's; `first` or last in it.
    jumps: Vec<Jump>,
    rules: Vec<String>,
}

/// A rule of a chain of the kernel's that leads to one of the gateway's.
struct Jump {
    from: &'static str,
    to: String,
    first: bool,
}

impl Table {
    /// The lines that add them.
    fn adding(&self) -> Vec<String> {
        let chains = self.chains.iter().map(|chain| format!(":{chain} - [0:0]"));
        let jumps = self.jumps.iter().map(|Jump { from, to, first }| {
            let how = if *first { "-I" } else { "-A" };
            format!("{how} {from} -j {to}")
        });
        chains.chain(self.rules.iter().cloned()).chain(jumps).collect()
    }

    /// The lines that undo exactly them.
    fn undoing(&self) -> Vec<String> {
        let jumps = self.jumps.iter().map(|Jump { from, to, .. }| format!("-D {from} -j {to}"));
        let chains = self.chains.iter().flat_map(|chain| [format!("-F {chain}"), format!("-X {chain}")]);
        jumps.chain(chains).collect()
    }

    /// These lines as what the programs read.
    fn text(&self, lines: &[String]) -> String {
        format!("*{}\n{}\nCOMMIT\n", self.name, lines.join("\n"))
    }

    /// Tells whether all of them are in what `-S` says, where they belong: a rule that comes after a queue does not see
    /// what comes back from there, and one that comes before the marks are cleared does see them.
    fn is_in(&self, said: &str) -> bool {
        let of = |chain: &str| {
            let begin = format!("-A {chain} ");
            said.lines().filter(move |line| line.starts_with(&begin))
        };
        let jumps = self.jumps.iter().all(|Jump { from, to, first }| {
            // One without a target still has a place.
            let there: Vec<String> =
                of(from).map(|line| target(line).unwrap_or_default().to_string()).collect();
            let is_it = |target: &String| target == to;
            // Other gateways want the same place.
            let is_ours = |target: &&String| target.starts_with("quell-");
            let found = there.iter().filter(|target| is_it(target)).count() == 1;
            let in_order = if *first {
                there.iter().take_while(is_ours).any(is_it)
            } else {
                there.iter().rev().take_while(is_ours).any(is_it)
            };
            found && in_order
        });
        let rules = self.chains.iter().all(|chain| {
            let begin = format!("-A {chain} ");
            of(chain).count() == self.rules.iter().filter(|rule| rule.starts_with(&begin)).count()
        });
        jumps && rules
    }
}

impl Rules {
    /// The rules as text: what the programs of the firewall read.
    pub fn text(&self) -> String {
        match self.kind {
            Kind::Iptables | Kind::Mangle => {
                self.tables().iter().map(|table| table.text(&table.adding())).collect()
            }
            Kind::Nft => self.nft(),
        }
    }

    /// The rules of iptables.
    ///
    /// What is forwarded is queued in FORWARD of `security`, behind all filters. There it gets [`MarkBits::waits`],
    /// which is gone again before POSTROUTING of `mangle`, and no chain of iptables is between. `security` cannot set
    /// CE, and what the host itself sends would be routed again from its OUTPUT. So that is queued at the end of
    /// POSTROUTING of `mangle`, and what the host receives at the end of INPUT there, without a mark. The verdict about
    /// a packet of the host's own that is to be marked sends it through the chain again (`NF_REPEAT`) with both bits,
    /// and the first rule sets CE. No new packet has them: what others remembered of them, or who sends it set
    /// (SO_MARK), is cleared in PREROUTING and OUTPUT. The host's own always passes while nobody reads the queue, so
    /// that the router can still be reached and mended.
    fn tables(&self) -> Vec<Table> {
        if self.kind == Kind::Mangle {
            return vec![self.mangle_alone()];
        }
        let Rules { id, wan, queue: up, bits, .. } = self;
        let down = up + 1;
        let (waits, marks, both) = (bits.waits(), bits.marked(), bits.both());
        let bypass = if self.open { " --queue-bypass" } else { "" };
        let [waiting, leaving, repeated, sent, received, new] =
            ["q", "m", "c", "o", "i", "p"].map(|end| format!("quell-{id}-{end}"));
        let jump = |from: &'static str, to: &str, first: bool| Jump { from, to: to.into(), first };
        let own = format!("-A {sent} -o {wan}");
        let mangle = Table {
            name: "mangle",
            rules: vec![
                format!("-A {new} -j MARK --set-xmark 0x0/{both:#x}"),
                format!("-A {leaving} -m mark --mark {waits:#x}/{both:#x}"),
                // Whether one bit or both.
                format!(
                    "-A {leaving} -m mark --mark {marks:#x}/{marks:#x} -m tos ! --tos 0x00/0x03 -j TOS --or-tos 0x03"
                ),
                format!("-A {leaving} -m mark --mark {both:#x}/{both:#x} -g {repeated}"),
                format!("-A {leaving} -j MARK --set-xmark 0x0/{both:#x}"),
                format!("-A {repeated} -j MARK --set-xmark 0x0/{both:#x}"),
                // It has gone through the rules that follow.
                format!("-A {repeated} -j ACCEPT"),
                // What has a socket here may have the address of another host (TPROXY).
                format!("{own} -m addrtype --src-type LOCAL -j NFQUEUE --queue-num {up} --queue-bypass"),
                format!("{own} -m owner --socket-exists -j NFQUEUE --queue-num {up} --queue-bypass"),
                format!("-A {received} -i {wan} -j NFQUEUE --queue-num {down} --queue-bypass"),
            ],
            jumps: vec![
                jump("PREROUTING", &new, false),
                jump("OUTPUT", &new, false),
                jump("POSTROUTING", &leaving, true),
                jump("POSTROUTING", &sent, false),
                jump("INPUT", &leaving, true),
                jump("INPUT", &received, false),
            ],
            chains: vec![new, leaving, repeated, sent, received],
        };
        let security = Table {
            name: "security",
            rules: vec![
                format!("-A {waiting} -o {wan} -j MARK --set-xmark {waits:#x}/{both:#x}"),
                format!("-A {waiting} -o {wan} -j NFQUEUE --queue-num {up}{bypass}"),
                format!("-A {waiting} -i {wan} -j MARK --set-xmark {waits:#x}/{both:#x}"),
                format!("-A {waiting} -i {wan} -j NFQUEUE --queue-num {down}{bypass}"),
            ],
            jumps: vec![jump("FORWARD", &waiting, false)],
            chains: vec![waiting],
        };
        // What clears the marks is there before what sets them.
        vec![mangle, security]
    }

    /// The rules of iptables where there is no table `security`.
    ///
    /// Filters are between FORWARD and POSTROUTING of `mangle`, and would see a mark that a packet has while it waits. So
    /// there is none: what goes out is queued at the end of POSTROUTING, behind all filters, and what comes in at the end
    /// of FORWARD and INPUT. Every packet that is to be marked goes through its chain again, with both bits, which no new
    /// packet has: what others remembered of them, or who sends it set, is cleared in PREROUTING and OUTPUT.
    fn mangle_alone(&self) -> Table {
        let Rules { id, wan, queue: up, bits, .. } = self;
        let (down, both) = (up + 1, bits.both());
        let bypass = if self.open { " --queue-bypass" } else { "" };
        let [leaving, repeated, sent, received, forwarded, new] =
            ["m", "c", "o", "i", "f", "p"].map(|end| format!("quell-{id}-{end}"));
        let jump = |from: &'static str, to: &str, first: bool| Jump { from, to: to.into(), first };
        let own = format!("-A {sent} -o {wan}");
        Table {
            name: "mangle",
            rules: vec![
                format!("-A {new} -j MARK --set-xmark 0x0/{both:#x}"),
                format!("-A {leaving} -m mark --mark {both:#x}/{both:#x} -g {repeated}"),
                format!("-A {leaving} -j MARK --set-xmark 0x0/{both:#x}"),
                format!("-A {repeated} -m tos ! --tos 0x00/0x03 -j TOS --or-tos 0x03"),
                format!("-A {repeated} -j MARK --set-xmark 0x0/{both:#x}"),
                format!("-A {repeated} -j ACCEPT"),
                format!("{own} -m addrtype --src-type LOCAL -j NFQUEUE --queue-num {up} --queue-bypass"),
                format!("{own} -m owner --socket-exists -j NFQUEUE --queue-num {up} --queue-bypass"),
                format!("-A {sent} -o {wan} -j NFQUEUE --queue-num {up}{bypass}"),
                // What leaves where it came from waits once, on its way out.
                format!("-A {forwarded} -i {wan} ! -o {wan} -j NFQUEUE --queue-num {down}{bypass}"),
                format!("-A {received} -i {wan} -j NFQUEUE --queue-num {down} --queue-bypass"),
            ],
            jumps: vec![
                jump("PREROUTING", &new, false),
                jump("OUTPUT", &new, false),
                jump("FORWARD", &leaving, true),
                jump("FORWARD", &forwarded, false),
                jump("POSTROUTING", &leaving, true),
                jump("POSTROUTING", &sent, false),
                jump("INPUT", &leaving, true),
                jump("INPUT", &received, false),
            ],
            chains: vec![new, leaving, repeated, sent, forwarded, received],
        }
    }

    /// The rules of nft: a queue behind all chains of others at each hook, and directly behind it a chain that sets CE
    /// and clears the marks. A new packet has none of them. What this host sends is queued where it has been routed and
    /// not translated: in output it would be routed again.
    fn nft(&self) -> String {
        let Rules { id, wan, queue: up, bits, .. } = self;
        let down = up + 1;
        let (waits, marks, both) = (bits.waits(), bits.marked(), bits.both());
        let others = !both;
        let queue = |which: &str, number: u16, bypass: bool| {
            let bypass = if bypass { " bypass" } else { "" };
            format!(
                "\t\t{which} \"{wan}\" meta mark set meta mark & {others:#x} | {waits:#x}\n\
                 \t\t{which} \"{wan}\" queue num {number}{bypass}\n"
            )
        };
        let hook = |hook: &str, priority: i32, queues: &[String]| {
            let behind = priority + 1;
            let queues = queues.concat();
            format!(
                "\tchain {hook}_queue {{\n\
                 \t\ttype filter hook {hook} priority {priority}; policy accept;\n\
                 \t\tmeta mark & {both:#x} == {both:#x} goto marked\n\
                 {queues}\
                 \t}}\n\
                 \tchain {hook}_leave {{\n\
                 \t\ttype filter hook {hook} priority {behind}; policy accept;\n\
                 \t\tmeta mark & {both:#x} == {waits:#x} counter\n\
                 \t\tmeta mark & {both:#x} == {marks:#x} goto marked\n\
                 \t\tmeta mark set meta mark & {others:#x}\n\
                 \t}}\n"
            )
        };
        let forward =
            hook("forward", BEHIND, &[queue("oifname", *up, self.open), queue("iifname", down, self.open)]);
        let input = hook("input", BEHIND, &[queue("iifname", down, true)]);
        let sent = hook("postrouting", BEFORE_NAT, &[queue("fib saddr type local oifname", *up, true)]);
        // A chain of this type does not route what is sent anew.
        let new = ["prerouting", "output"].map(|hook| {
            format!(
                "\tchain {hook}_new {{\n\
                 \t\ttype filter hook {hook} priority {BEHIND}; policy accept;\n\
                 \t\tmeta mark set meta mark & {others:#x}\n\
                 \t}}\n"
            )
        });
        let new = new.concat();
        format!(
            "table inet quell_{id} {{\n\
             \tchain marked {{\n\
             \t\tip ecn != not-ect ip ecn set ce\n\
             \t\tip6 ecn != not-ect ip6 ecn set ce\n\
             \t\tmeta mark set meta mark & {others:#x} accept\n\
             \t}}\n\
             {new}{forward}{input}{sent}}}\n"
        )
    }

    /// The programs that add them, in order.
    fn adding(&self) -> Vec<Call> {
        match self.kind {
            Kind::Iptables | Kind::Mangle => families()
                .iter()
                .map(|[_, restore]| Call::new(restore, &["-w", "5", "-n"], self.text()))
                .collect(),
            Kind::Nft => vec![Call::new("nft", &["-f", "-"], self.text())],
        }
    }

    /// The packets that these rules hide from those of another gateway of the host, or the other way around, if there are
    /// any.
    pub fn hidden_from(&self, other: &Rules) -> Option<String> {
        // A verdict ends the chain in which its packet waited, and only this kind has both gateways' queues in one.
        let one_chain = (self.kind, other.kind) == (Kind::Iptables, Kind::Iptables) && self.wan != other.wan;
        one_chain.then(|| {
            let Rules { id, wan, .. } = other;
            format!(
                "gateway \"{id}\" at {wan} has its queues in FORWARD of the table security too, so what is forwarded between {wan} and \
                 {} waits in only one of the two and passes the other unshaped: end one of the two",
                self.wan
            )
        })
    }

    /// Adds them.
    ///
    /// # Errors
    /// What the firewall says; then some may have been added.
    pub fn add(&self) -> Result<(), String> {
        self.adding().iter().try_for_each(|call| call.run(false).map(|_| ()))
    }

    /// Puts them in the place of those that another gateway of this name has left, in one transaction for each table
    /// where all of those are there: nothing passes between that did not pass before.
    ///
    /// # Errors
    /// What the firewall says.
    pub fn replace(&self) -> Result<(), String> {
        for call in self.adding() {
            let input = match self.kind {
                Kind::Iptables | Kind::Mangle => self
                    .tables()
                    .iter()
                    .map(|table| table.text(&[table.undoing(), table.adding()].concat()))
                    .collect(),
                Kind::Nft => self.nft_undoing() + &call.input,
            };
            if (Call { input, ..call }).run(false).is_err() {
                self.remove()?;
                return self.add();
            }
        }
        Ok(())
    }

    /// Adding first makes deleting right whether it is there or not; it is one transaction.
    fn nft_undoing(&self) -> String {
        let id = &self.id;
        format!("add table inet quell_{id}\ndelete table inet quell_{id}\n")
    }

    /// Counts the packets that have left without a verdict since the rules were added; `None` if some of the rules
    /// are gone or not in their place. iptables has a place for it that no other rule sees only behind the table
    /// security: what the host itself receives and sends is not counted there, and nothing without that table.
    ///
    /// # Errors
    /// If the firewall does not say.
    pub fn look(&self) -> Result<Option<u64>, String> {
        match self.kind {
            Kind::Iptables | Kind::Mangle => {
                let mut packets = 0;
                for [program, _] in families() {
                    for table in self.tables() {
                        let list = ["-w", "1", "-t", table.name, "-v", "-S"];
                        let said = of_table(Call::new(program, &list, String::new()).run(false))?;
                        if !table.is_in(&said) {
                            return Ok(None);
                        }
                        packets += self.counted(&said);
                    }
                }
                Ok(Some(packets))
            }
            Kind::Nft => {
                let list = |what: &[&str]| Call::new("nft", what, String::new()).run(false);
                let name = format!("quell_{}", self.id);
                if !list(&["list", "tables"])?.lines().any(|l| l == format!("table inet {name}")) {
                    return Ok(None);
                }
                let said = list(&["list", "table", "inet", &name])?;
                let rules = |text: &str| {
                    let all = text.lines().map(str::trim).filter(|l| !l.is_empty() && *l != "}");
                    all.count()
                };
                let there = rules(&said) == rules(&self.text());
                Ok(there.then(|| self.counted(&said)))
            }
        }
    }

    /// The packets that the rules in `said` have counted.
    fn counted(&self, said: &str) -> u64 {
        let number = |line: &str, word: &str| -> Option<u64> {
            let mut words = line.split_whitespace().skip_while(|w| *w != word).skip(1);
            words.next()?.parse().ok()
        };
        match self.kind {
            Kind::Iptables | Kind::Mangle => {
                let chain = format!("-A quell-{}-m ", self.id);
                let waits = format!("--mark {:#x}/{:#x}", self.bits.waits(), self.bits.both());
                said.lines()
                    .filter(|l| l.starts_with(&chain) && l.contains(&waits))
                    .filter_map(|l| number(l, "-c"))
                    .sum()
            }
            Kind::Nft => said.lines().filter_map(|l| number(l, "packets")).sum(),
        }
    }

    /// Tells whether any rule of this name is there.
    ///
    /// # Errors
    /// If the firewall does not say.
    pub fn left(&self) -> Result<bool, String> {
        match self.kind {
            Kind::Iptables | Kind::Mangle => {
                let mut left = false;
                for [program, _] in families() {
                    for table in self.tables() {
                        left |= !self.removing(&self.rules_in(program, &table)?).is_empty();
                    }
                }
                Ok(left)
            }
            Kind::Nft => {
                let tables = Call::new("nft", &["list", "tables"], String::new()).run(false)?;
                Ok(tables.lines().any(|l| l == format!("table inet quell_{}", self.id)))
            }
        }
    }

    /// What this table of this family of iptables has.
    fn rules_in(&self, program: &'static str, table: &Table) -> Result<String, String> {
        of_table(Call::new(program, &["-w", "5", "-t", table.name, "-S"], String::new()).run(false))
    }

    /// The lines that remove what is there of this name, whichever rules they are: another version of this program, or
    /// one that found other tables, may have added them.
    fn removing(&self, said: &str) -> Vec<String> {
        let begin = format!("quell-{}-", self.id);
        let ours = |line: &&str| {
            let mut words = line.split_whitespace();
            let (what, chain) = (words.next(), words.next().unwrap_or_default());
            let to = words.last().unwrap_or_default();
            what == Some("-A") && !chain.starts_with(&begin) && to.starts_with(&begin)
        };
        let jumps = said.lines().filter(ours).map(|line| line.replacen("-A", "-D", 1));
        let chains: Vec<&str> =
            said.lines().filter_map(|l| l.strip_prefix("-N ")).filter(|c| c.starts_with(&begin)).collect();
        // All are empty before the first goes: one may lead to another.
        let emptied = chains.iter().map(|chain| format!("-F {chain}"));
        jumps.chain(emptied).chain(chains.iter().map(|chain| format!("-X {chain}"))).collect()
    }

    /// Removes them, whichever of them are there.
    ///
    /// # Errors
    /// If some are still there.
    pub fn remove(&self) -> Result<(), String> {
        let id = &self.id;
        match self.kind {
            Kind::Iptables | Kind::Mangle => {
                for [program, restore] in families() {
                    // What sets marks goes before what clears them.
                    for table in self.tables().iter().rev() {
                        // Others may change the table between the look and the change, which then fails as a whole.
                        let mut tries = 3;
                        loop {
                            let said = self.rules_in(program, table)?;
                            let lines = self.removing(&said);
                            if lines.is_empty() {
                                break;
                            }
                            let undo = Call::new(restore, &["-w", "5", "-n"], table.text(&lines));
                            if let Err(why) = undo.run(false)
                                && tries == 0
                            {
                                return Err(format!("chains quell-{id}-* cannot be removed: {why}"));
                            }
                            tries -= 1;
                        }
                    }
                }
                Ok(())
            }
            Kind::Nft => Call::new("nft", &["-f", "-"], self.nft_undoing()).run(false).map(|_| ()),
        }
    }

    /// Tells whether this kernel takes them; nothing is changed to find out.
    ///
    /// # Errors
    /// What the firewall says.
    pub fn tried(&self) -> Result<(), String> {
        match self.kind {
            Kind::Nft => Call::new("nft", &["-c", "-f", "-"], self.text()).run(false).map(|_| ()),
            Kind::Iptables | Kind::Mangle => self.adding().iter().try_for_each(|call| {
                if rustix::thread::capabilities(None)
                    .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN))
                {
                    return call.run(true).map(|_| ());
                }
                // Without the right to a namespace only the text can be tried.
                let args = [&["-t"], &*call.args.iter().map(String::as_str).collect::<Vec<_>>()].concat();
                Call::new(call.program, &args, call.input.clone()).run(false).map(|_| ())
            }),
        }
    }

    /// Finds the firewall for the rules of a gateway.
    ///
    /// # Errors
    /// Why none takes them, and what would help.
    pub fn find(choice: Choice, rules: impl Fn(Kind) -> Rules) -> Result<Rules, String> {
        const INSTALL: &str = "apt-get install iptables (on OpenWrt: apk add nftables kmod-nft-queue)";
        let kinds: &[Kind] = match choice {
            // nft counts what passes without a verdict, and queues what comes in behind the filters.
            Choice::Auto => &[Kind::Iptables, Kind::Nft, Kind::Mangle],
            Choice::Iptables => &[Kind::Iptables, Kind::Mangle],
            Choice::Nft => &[Kind::Nft],
        };
        let mut why = Vec::new();
        for kind in kinds.iter().filter(|kind| kind.there()) {
            let rules = rules(*kind);
            match rules.tried() {
                Ok(()) => return Ok(rules),
                // Both kinds of iptables may lack the same.
                Err(e) if why.contains(&e) => {}
                Err(e) => why.push(e),
            }
        }
        if why.is_empty() {
            let missing = match choice {
                Choice::Auto => "neither iptables with ip6tables nor nft is installed",
                Choice::Iptables => "iptables, ip6tables or one of their -restore is missing",
                Choice::Nft => "there is no nft",
            };
            return Err(format!("{missing}: {INSTALL}"));
        }
        Err(format!(
            "the firewall does not take the rules ({}): modprobe -a xt_NFQUEUE xt_mark xt_dscp xt_DSCP xt_owner xt_addrtype, or nft_queue for nft",
            why.join("; ")
        ))
    }
}

/// What iptables says of a table. One that is not there, since its module has gone, has no rules.
fn of_table(said: Result<String, String>) -> Result<String, String> {
    match said {
        Err(why) if why.contains("Table does not exist") || why.contains("' does not exist") => {
            Ok(String::new())
        }
        said => said,
    }
}

/// Flow tables of the firewall: forwarded packets that bypass its rules, and so the gateway.
pub(super) fn flow_tables() -> Vec<String> {
    let mut found = Vec::new();
    let list =
        |program, args: &[&str]| Call::new(program, args, String::new()).run(false).unwrap_or_default();
    let tables = list("nft", &["list", "flowtables"]);
    let mut table = String::new();
    for line in tables.lines().map(|l| l.trim().trim_end_matches('{').trim()) {
        // The tables of iptables are in what iptables-save says.
        if let Some(name) = line.strip_prefix("table ") {
            table = name.to_string();
        } else if let Some(name) = line.strip_prefix("flowtable ") {
            found.push(format!(
                "packets of flow table \"{name}\" bypass this: nft delete flowtable {table} {name} (its rules first), \
                 on OpenWrt: uci set firewall.@defaults[0].flow_offloading=0; service firewall restart"
            ));
        }
    }
    for [program, _] in families() {
        for rule in list(program, &["-w", "5", "-S"]).lines().filter(|l| l.contains("FLOWOFFLOAD")) {
            let rule = rule.replacen("-A ", "-D ", 1);
            found.push(format!("packets of a flow table bypass this: {program} {rule}"));
        }
    }
    found
}

/// The rules of others that do not get on with these: they use the same bits of the mark, or may see a packet while it
/// has these.
pub(super) fn collisions(rules: &Rules) -> Vec<String> {
    let list =
        |program, args: &[&str]| Call::new(program, args, String::new()).run(false).unwrap_or_default();
    let mut found = Vec::new();
    for program in ["iptables-save", "ip6tables-save"] {
        let said = list(program, &[]);
        found.extend(colliding_rules(program, &said, rules.bits));
        found.extend(ending_rules(program, &said, rules.kind));
    }
    found.extend(colliding_chains(&list("nft", &["list", "ruleset"]), rules));
    found
}

/// A number as firewalls write it.
fn number(text: &str) -> Option<u32> {
    let text = text.trim_end_matches(';');
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())
}

/// The words of a rule of iptables; what is in quotation marks is none of them, since a comment may hold anything.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut begin, mut quoted, mut escaped) = (None, false, false);
    for (at, c) in line.char_indices() {
        let is_quote = c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        if is_quote || quoted || c.is_whitespace() {
            quoted ^= is_quote;
            words.extend(begin.take().map(|begin| &line[begin..at]));
        } else {
            begin.get_or_insert(at);
        }
    }
    words.extend(begin.map(|begin| &line[begin..]));
    words
}

/// Where a rule of iptables sends a packet.
fn target(line: &str) -> Option<&str> {
    words(line).windows(2).find(|pair| ["-j", "-g"].contains(&pair[0])).map(|pair| pair[1])
}

/// Those in what iptables-save says.
fn colliding_rules(program: &str, said: &str, bits: MarkBits) -> Vec<String> {
    const VALUES: [&str; 6] =
        ["--mark", "--set-mark", "--set-xmark", "--or-mark", "--xor-mark", "--restore-mark"];
    const MASKS: [&str; 3] = ["--mask", "--nfmask", "--ctmask"];
    let uses = |option: &str, value: &str| {
        let value = number(value.split('/').next().unwrap_or_default()).unwrap_or(0);
        let whole = value == u32::MAX;
        (VALUES.contains(&option) || MASKS.contains(&option) && !whole) && value & bits.both() != 0
    };
    let (mut table, mut found) = ("", Vec::new());
    for line in said.lines().filter(|line| !words(line).iter().any(|word| word.starts_with("quell-"))) {
        match line.strip_prefix('*') {
            Some(name) => table = name,
            None if words(line).windows(2).any(|pair| uses(pair[0], pair[1])) => {
                let (program, line) = (program.trim_end_matches("-save"), named(line));
                found.push(format!("rule \"{program} -t {table} {line}\" {}", uses_a_bit(bits)));
            }
            None => {}
        }
    }
    found
}

/// The rules in what iptables-save says that accept packets in mangle before the end of a chain, where the gateway's
/// are: in that chain, or in one that it leads to.
fn ending_rules(program: &str, said: &str, kind: Kind) -> Vec<String> {
    let program = program.trim_end_matches("-save");
    const QUEUE: &str = "ends the chain before the gateway's queue, so what it accepts is not shaped";
    const BITS: &str = "ends the chain before the gateway clears its bits of the mark, so what it accepts may pass as marked already";
    let hooks: &[(&str, &str)] = match kind {
        Kind::Iptables => &[("INPUT", QUEUE), ("POSTROUTING", QUEUE), ("PREROUTING", BITS), ("OUTPUT", BITS)],
        Kind::Mangle => &[
            ("INPUT", QUEUE),
            ("FORWARD", QUEUE),
            ("POSTROUTING", QUEUE),
            ("PREROUTING", BITS),
            ("OUTPUT", BITS),
        ],
        Kind::Nft => &[],
    };
    let mangle = said.lines().skip_while(|line| *line != "*mangle").take_while(|line| *line != "COMMIT");
    // The chain, the target, and the rule.
    let rules: Vec<(&str, &str, &str)> = mangle
        .filter_map(|line| {
            let words = words(line);
            (words.first() == Some(&"-A")).then_some(())?;
            Some((*words.get(1)?, target(line)?, line))
        })
        .filter(|(chain, target, _)| ![chain, target].iter().any(|name| name.starts_with("quell-")))
        .collect();
    // The chains that each hook leads to; a chain that several lead to is told of for the first.
    let mut reached: Vec<(&str, &str)> = Vec::new();
    for (hook, why) in hooks {
        let mut new = vec![*hook];
        while let Some(chain) = new.pop() {
            if reached.iter().all(|(known, _)| *known != chain) {
                reached.push((chain, *why));
                new.extend(rules.iter().filter(|(from, ..)| *from == chain).map(|(_, to, _)| *to));
            }
        }
    }
    let ends = |(chain, target, line): &(&str, &str, &str)| {
        let (_, why) = reached.iter().find(|(known, _)| known == chain).filter(|_| *target == "ACCEPT")?;
        let line = named(line);
        Some(format!(
            "rule \"{program} -t mangle {line}\" {why}: put such rules into a chain of their own, with RETURN in place of ACCEPT"
        ))
    };
    rules.iter().filter_map(ends).collect()
}

fn uses_a_bit(bits: MarkBits) -> String {
    let lowest = bits.waits().trailing_zeros();
    let next = lowest + 1;
    format!(
        "uses bit {lowest} or {next} of the mark, which the gateway clears: choose two others with --mark-bit"
    )
}

/// Those in what nft lists.
fn colliding_chains(said: &str, rules: &Rules) -> Vec<String> {
    let bits = rules.bits;
    let mut found = Vec::new();
    let (mut table, mut chain, mut between, mut others) = ("", "", false, true);
    for line in said.lines().map(str::trim) {
        // The tables of iptables are in what iptables-save says.
        if let Some(name) = line.strip_prefix("table ") {
            table = name.trim_end_matches(" {");
            let mut words = table.split_whitespace();
            let family = words.next().unwrap_or_default();
            let managed =
                ["filter", "nat", "mangle", "raw", "security"].contains(&words.next().unwrap_or_default());
            let of_iptables = managed && ["ip", "ip6"].contains(&family);
            others = !of_iptables && !table.contains("quell_");
        } else if let Some(name) = line.strip_prefix("chain ") {
            (chain, between) = (name.trim_end_matches(" {"), false);
        } else if line == "}" {
            chain = "";
        } else if let Some((hook, priority)) = hook(line) {
            between = match (rules.kind, hook) {
                (Kind::Iptables, "forward") => priority >= 50,
                (Kind::Iptables, "postrouting") => priority <= -150,
                (Kind::Nft, "forward" | "input") => priority >= BEHIND,
                (Kind::Nft, "postrouting") => (BEFORE_NAT..=BEFORE_NAT + 1).contains(&priority),
                _ => false,
            };
        } else if others && line.split_whitespace().any(|word| word == "mark") {
            let words: Vec<&str> = line.split_whitespace().collect();
            // A mask says which bits stay as they are.
            let value = |pair: &[&str]| {
                !["&", "and"].contains(&pair[0]) && number(pair[1]).is_some_and(|n| n & bits.both() != 0)
            };
            if words.windows(2).any(value) {
                found.push(format!("rule \"{line}\" of chain {chain} in table {table} {}", uses_a_bit(bits)));
            } else if between {
                let mask = !bits.both();
                found.push(format!(
                    "rule \"{line}\" of chain {chain} in table {table} is between the gateway's queue and the rule that \
                     clears its bits: compare meta mark & {mask:#x} there, or give the chain a priority before the queue's"
                ));
            }
        }
    }
    found
}

/// The hook and the priority of a chain of nft, if the line has them.
fn hook(line: &str) -> Option<(&str, i32)> {
    let (hook, rest) = line.strip_prefix("type ")?.split_once(" hook ")?.1.split_once(' ')?;
    let hook = hook.trim();
    let (_, priority) = rest.split_once("priority ")?;
    let words: Vec<&str> = priority.split(';').next()?.split_whitespace().collect();
    let named = |name: &str| {
        let named = match name {
            "raw" => -300,
            "mangle" => -150,
            "dstnat" => -100,
            "filter" => 0,
            "security" => 50,
            "srcnat" => 100,
            number => return number.parse().ok(),
        };
        Some(named)
    };
    let priority = match words[..] {
        [name] => named(name)?,
        [name, "+", more] => named(name)? + more.parse::<i32>().ok()?,
        [name, "-", less] => named(name)? - less.parse::<i32>().ok()?,
        _ => return None,
    };
    Some((hook, priority))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(kind: Kind, open: bool) -> Rules {
        Rules { kind, id: "7".into(), wan: "eth0".into(), queue: 5100, open, bits: MarkBits::default() }
    }

    #[test]
    fn the_rules_name_the_device_the_queues_and_what_becomes_of_packets() {
        let text = rules(Kind::Iptables, true).text();
        assert!(text.contains("-o eth0 -j NFQUEUE --queue-num 5100 --queue-bypass\n"), "{text}");
        assert!(text.contains("-i eth0 -j NFQUEUE --queue-num 5101 --queue-bypass\n"), "{text}");
        let text = rules(Kind::Nft, true).text();
        assert!(text.contains("oifname \"eth0\" queue num 5100 bypass\n"), "{text}");
        assert!(text.contains("iifname \"eth0\" queue num 5101 bypass\n"), "{text}");
        // What the host itself receives and sends always passes while nobody reads.
        for kind in [Kind::Iptables, Kind::Mangle, Kind::Nft] {
            let [open, closed] =
                [true, false].map(|open| rules(kind, open).text().matches("bypass\n").count());
            let own = if kind == Kind::Nft { 2 } else { 3 };
            assert_eq!((open, closed), (own + 2, own));
        }
    }

    #[test]
    fn two_gateways_whose_queues_are_in_one_chain_are_told() {
        let [ours, nft, mangle] = [Kind::Iptables, Kind::Nft, Kind::Mangle].map(|kind| rules(kind, true));
        let other = Rules { wan: "eth1".into(), id: "8".into(), queue: 5200, ..ours.clone() };
        let said = ours.hidden_from(&other).unwrap();
        assert!(
            said.contains("\"8\" at eth1") && said.contains("between eth1 and eth0 waits in only one"),
            "{said}"
        );
        assert!(ours.hidden_from(&nft).is_none() && nft.hidden_from(&other).is_none());
        assert!(mangle.hidden_from(&Rules { kind: Kind::Mangle, ..other }).is_none());
    }

    /// Who sends a packet may set the bits of its mark (SO_MARK), and others remember them.
    #[test]
    fn a_new_packet_has_none_of_the_bits() {
        for kind in [Kind::Iptables, Kind::Mangle] {
            let mut tables = rules(kind, true).tables();
            let mangle = tables.remove(0);
            let clears = |chain: &str| {
                let rule = format!("-A {chain} -j MARK --set-xmark 0x0/0x60000000");
                mangle.rules.iter().find(|rule| rule.starts_with(&format!("-A {chain} "))) == Some(&rule)
            };
            for hook in ["PREROUTING", "OUTPUT"] {
                let jump = mangle.jumps.iter().find(|jump| jump.from == hook).unwrap();
                assert!(!jump.first && clears(&jump.to), "{kind:?} {hook}");
            }
        }
        let text = rules(Kind::Nft, true).text();
        for hook in ["prerouting", "output"] {
            let chain = format!(
                "type filter hook {hook} priority 1000; policy accept;\n\t\tmeta mark set meta mark & 0x9fffffff\n"
            );
            assert!(text.contains(&chain), "{text}");
        }
    }

    /// A rule that is missing or not in its place is noticed, whichever it is.
    #[test]
    fn rules_that_are_gone_or_out_of_order_show() {
        let said = |table: &Table| {
            let hooks = ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"];
            let mut lines: Vec<String> = hooks.iter().map(|c| format!("-P {c} ACCEPT -c 0 0")).collect();
            let counted = |line: &str| line.replacen(" -j", " -c 3 210 -j", 1);
            let foreign = |chain: &str| format!("-A {chain} -p tcp -c 1 60 -j TCPMSS --clamp-mss-to-pmtu");
            for chain in hooks {
                let to = |first| table.jumps.iter().filter(move |j| j.first == first && j.from == chain);
                lines.extend(to(true).map(|j| format!("-A {chain} -c 3 210 -j {}", j.to)));
                lines.push(foreign(chain));
                lines.extend(to(false).map(|j| format!("-A {chain} -c 3 210 -j {}", j.to)));
            }
            lines.extend(table.rules.iter().map(|rule| counted(rule)));
            lines
        };
        for table in [Kind::Iptables, Kind::Mangle].into_iter().flat_map(|kind| rules(kind, true).tables()) {
            let lines = said(&table);
            assert!(table.is_in(&lines.join("\n")), "{}", lines.join("\n"));
            let ours = |line: &&String| line.contains("quell-7-");
            assert!(lines.iter().filter(ours).count() >= 5);
            for missing in lines.iter().filter(ours) {
                let rest: Vec<&str> = lines.iter().filter(|l| *l != missing).map(String::as_str).collect();
                assert!(!table.is_in(&rest.join("\n")), "{missing}");
            }
            for Jump { from, to, first } in &table.jumps {
                let at = lines
                    .iter()
                    .position(|l| l.starts_with(&format!("-A {from} ")) && l.contains(to))
                    .unwrap();
                let mut moved = lines.clone();
                let other = if *first { at + 1 } else { at - 1 };
                moved.swap(at, other);
                assert!(!table.is_in(&moved.join("\n")), "{to} in {from}");
                // A rule that only counts has a place too.
                let mut counting = lines.clone();
                counting.insert(if *first { at } else { at + 1 }, format!("-A {from} -p tcp -c 1 60"));
                assert!(!table.is_in(&counting.join("\n")), "{to} in {from}");
                // Another gateway's may be where this one's would be.
                let mut shared = lines.clone();
                shared.insert(if *first { at } else { at + 1 }, format!("-A {from} -c 0 0 -j quell-8-x"));
                assert!(table.is_in(&shared.join("\n")), "{to} in {from}");
            }
        }
    }

    #[test]
    fn a_table_that_is_not_there_has_no_rules() {
        let gone = "iptables: iptables v1.8.10 (legacy): can't initialize iptables table `security': Table does not exist \
                    (do you need to insmod?)";
        assert_eq!(of_table(Err(gone.into())), Ok(String::new()));
        let forbidden = "iptables: iptables v1.8.10 (legacy): can't initialize iptables table `security': Permission denied \
                         (you must be root)";
        assert_eq!(of_table(Err(forbidden.into())), Err(forbidden.into()));
        let rules = rules(Kind::Iptables, true);
        assert!(rules.removing(&of_table(Err(gone.into())).unwrap()).is_empty());
        assert!(rules.tables().iter().all(|table| !table.is_in("")));
    }

    #[test]
    fn rules_that_use_the_same_bits_are_found() {
        let bits = MarkBits::default();
        let said = "*mangle\n:PREROUTING ACCEPT [0:0]\n\
            -A PREROUTING -j MARK --set-xmark 0x40000000/0x40000000\n\
            -A PREROUTING -j CONNMARK --restore-mark --nfmask 0xff000000 --ctmask 0xff000000\n\
            -A PREROUTING -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff\n\
            -A PREROUTING -j MARK --set-xmark 0x1/0xffffffff\n\
            -A quell-0-m -m mark --mark 0x20000000/0x60000000\nCOMMIT\n*filter\n\
            -A FORWARD -m mark --mark 0x2000000/0x2000000 -j ACCEPT\n\
            -A FORWARD -m comment --comment \"a --mark 0x20000000 \\\" --mark 0x20000000 \" -j ACCEPT\n\
            -A FORWARD -m comment --comment \"not quell-0-m\" -m mark --mark 536870912 -j ACCEPT\n";
        let found = colliding_rules("iptables-save", said, bits);
        let rule = |text: &'_ String| text["rule \"".len()..text.rfind("\" uses bit").unwrap()].to_string();
        let rules: Vec<String> = found.iter().map(rule).collect();
        let expected = [
            "iptables -t mangle -A PREROUTING -j MARK --set-xmark 0x40000000/0x40000000",
            "iptables -t mangle -A PREROUTING -j CONNMARK --restore-mark --nfmask 0xff000000 --ctmask 0xff000000",
            "iptables -t filter -A FORWARD -m comment --comment \"not quell-0-m\" -m mark --mark 536870912 -j ACCEPT",
        ];
        assert_eq!(rules, expected);
        assert!(
            found[0].ends_with("which the gateway clears: choose two others with --mark-bit"),
            "{}",
            found[0]
        );
        assert!(colliding_rules("iptables-save", said, MarkBits::from(3).unwrap()).is_empty());
    }

    #[test]
    fn rules_that_end_a_chain_before_the_queue_are_found() {
        let said = "*mangle\n:INPUT ACCEPT [0:0]\n-A INPUT -p udp -j ACCEPT\n-A FORWARD -j ACCEPT\n-A PREROUTING -j ACCEPT\n\
            -A zone -j ACCEPT\n-A INPUT -j zone\n-A FORWARD -g deep\n-A deep -j deeper\n-A deeper -j ACCEPT\n\
            -A deeper -j deep\n-A unused -j ACCEPT\n-A quell-8-c -j ACCEPT\n-A INPUT -j quell-8-c\n\
            -A INPUT -m comment --comment \"a -j ACCEPT\"\nCOMMIT\n*filter\n-A INPUT -j ACCEPT\nCOMMIT\n";
        let of = |kind| {
            let found = ending_rules("ip6tables-save", said, kind);
            found.iter().map(|f| f.split('"').nth(1).unwrap().to_string()).collect::<Vec<_>>()
        };
        let [input, forward, prerouting, zone, deeper] =
            ["-A INPUT -p udp", "-A FORWARD", "-A PREROUTING", "-A zone", "-A deeper"]
                .map(|r| format!("ip6tables -t mangle {r} -j ACCEPT"));
        assert_eq!(of(Kind::Mangle), [&input[..], &forward, &prerouting, &zone, &deeper]);
        assert_eq!(of(Kind::Iptables), [&input[..], &prerouting, &zone]);
        assert!(of(Kind::Nft).is_empty());
    }

    #[test]
    fn chains_that_see_the_bits_are_found() {
        let said = "table inet fw {\n\
            \tset names {\n\t\ttype ifname\n\t}\n\n\
            \tchain early {\n\t\ttype filter hook forward priority filter; policy drop;\n\t\tmeta mark 0x00000001 accept\n\t}\n\n\
            \tchain late {\n\t\ttype filter hook forward priority security + 10; policy drop;\n\t\tmeta mark 0x00000001 accept\n\t}\n\n\
            \tchain unmarked {\n\t\ttype filter hook forward priority 1200; policy accept;\n\t\ttcp dport 22 accept\n\t}\n\n\
            \tchain leaving {\n\t\ttype nat hook postrouting priority mangle - 5; policy accept;\n\t\tmeta mark & 0x60000000 == 0x00000002 accept\n\t}\n\n\
            \tchain own {\n\t\ttype filter hook output priority 1001; policy accept;\n\t\tmeta mark set 0x40000000\n\t}\n\
            }\n\
            table inet quell_0 {\n\tchain forward_queue {\n\t\ttype filter hook forward priority 1000; policy accept;\n\
            \t\toifname \"g1\" meta mark set meta mark & 0x9fffffff | 0x20000000\n\t}\n}\n\
            # Warning: table ip mangle is managed by iptables-nft, do not touch!\n\
            table ip mangle {\n\tchain FORWARD {\n\t\ttype filter hook forward priority 60; policy accept;\n\
            \t\tmeta mark set 0x40000000\n\t}\n}\n\
            table inet more {\n\tchain late {\n\t\ttype filter hook forward priority 1000; policy drop;\n\t\tmeta mark 0x3 accept\n\t}\n}\n";
        let of = |kind| {
            let found = colliding_chains(said, &rules(kind, true));
            let place = |text: &String| {
                let chain = text.split(" of chain ").nth(1).unwrap();
                let words: Vec<&str> = chain.split_whitespace().take(5).collect();
                format!("{} {}", words[0], words[4])
            };
            found.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(of(Kind::Iptables), ["late fw", "leaving fw", "own fw", "late more"]);
        assert_eq!(of(Kind::Nft), ["own fw", "late more"]);
    }

    /// `nft -c` asks the kernel; where it has no queue statement, as here, the rest of the text is what can be tried.
    #[test]
    fn nft_reads_the_rules() {
        if !there("nft") || !rustix::process::geteuid().is_root() {
            println!("skipped: there is no nft, or no right to it");
            return;
        }
        let whole = rules(Kind::Nft, true);
        if whole.tried().is_err() {
            let rest: String =
                whole.text().lines().filter(|l| !l.contains("queue num")).map(|l| format!("{l}\n")).collect();
            Call::new("nft", &["-c", "-f", "-"], rest).run(false).unwrap();
            println!("the queue statement is not tried: this kernel has none");
        }
        whole.remove().unwrap();
    }

    /// What nft lists is what is looked for. Where the kernel has no queue statement, another one stands for it: only the
    /// rest is counted and looked at.
    #[test]
    fn nft_shows_whether_its_rules_are_there() {
        let looked = std::thread::spawn(|| {
            if !there("nft") || !there("ip") || crate::sys::unshare_network().is_err() {
                println!("skipped: there is no nft, no ip, or no right to a network namespace");
                return;
            }
            let whole = Rules { wan: "lo".into(), ..rules(Kind::Nft, true) };
            let queues = ["5100 bypass", "5101 bypass"].map(|n| format!("queue num {n}"));
            let text = queues.iter().fold(whole.text(), |text, queue| text.replace(queue, "accept"));
            let nft = |text: &str| Call::new("nft", &["-f", "-"], text.into()).run(false).unwrap();
            assert_eq!(whole.look(), Ok(None));
            nft(&text);
            assert_eq!(whole.look(), Ok(Some(0)));
            // A packet that left without a verdict still has the mark of one that waits: here once when it is sent and
            // once when it is received. No rule of others sees it, nor does who receives it.
            nft(
                "table inet other {\nchain input { type filter hook input priority 900; meta mark != 0 counter drop; }\n\
                 chain output { type filter hook output priority 900; meta mark != 0 counter drop; }\n\
                 chain post { type filter hook postrouting priority -900; meta mark != 0 counter drop; }\n}\n",
            );
            Call::new("ip", &["link", "set", "lo", "up"], String::new()).run(false).unwrap();
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
            socket.send_to(b"packet", socket.local_addr().unwrap()).unwrap();
            socket.recv(&mut [0; 10]).unwrap();
            assert_eq!(whole.look(), Ok(Some(2)));
            // One that comes back from its queue to be marked gets CE, and one whose sender has set the bits does not.
            nft("delete table inet other\n");
            nft(
                "table inet other {\nchain input { type filter hook input priority 2000; ip ecn ce counter drop; }\n}\n",
            );
            socket2::SockRef::from(&socket).set_mark(MarkBits::default().both()).unwrap();
            rustix::net::sockopt::set_ip_tos(&socket, 2).unwrap();
            socket.send_to(b"packet", socket.local_addr().unwrap()).unwrap();
            socket.recv(&mut [0; 10]).unwrap();
            let marked = MarkBits::default().marked();
            nft(&format!(
                "table inet other {{\nchain post {{ type filter hook postrouting priority {BEFORE_NAT}; meta mark set {marked:#x}; }}\n}}\n"
            ));
            rustix::net::sockopt::set_ip_tos(&socket, 2).unwrap();
            socket.send_to(b"packet", socket.local_addr().unwrap()).unwrap();
            let said =
                Call::new("nft", &["list", "table", "inet", "other"], String::new()).run(false).unwrap();
            assert!(said.contains("counter packets 1 "), "{said}");
            nft("flush chain inet quell_7 forward_queue\n");
            assert_eq!(whole.look(), Ok(None), "a chain without rules");
            whole.remove().unwrap();
            assert_eq!(whole.look(), Ok(None));
            // Whether a rule is missing shows, whichever it is.
            let text: Vec<&str> = text.lines().collect();
            let is_rule =
                |line: &str| ["name \"lo\"", "meta mark", " ecn "].iter().any(|word| line.contains(word));
            for missing in (0..text.len()).filter(|n| is_rule(text[*n])) {
                let rest = text.iter().enumerate().filter(|(n, _)| *n != missing);
                nft(&rest.map(|(_, line)| format!("{line}\n")).collect::<String>());
                assert_eq!(whole.look(), Ok(None), "{}", text[missing]);
                whole.remove().unwrap();
            }
        });
        looked.join().unwrap();
    }
}
