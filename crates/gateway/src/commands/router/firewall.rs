//! The rules that lead packets here, in the firewall that the host has.
//!
//! All of them are in chains or a table of the gateway's own, so that they go as they came. Each family's are added
//! in one transaction: a kill leaves all of them or none.

use std::io::Write as _;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::port::nfqueue::{MARKED, WAITS};
use crate::sys;

/// The program that sets the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    /// iptables if it takes the rules, else nft.
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
    Iptables,
    Nft,
}

impl Kind {
    /// Tells whether its programs are there.
    pub fn there(self) -> bool {
        match self {
            Kind::Iptables => families().iter().flatten().all(|program| there(program)),
            Kind::Nft => there("nft"),
        }
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

impl Rules {
    /// The rules as text: what the programs of the firewall read.
    pub fn text(&self) -> String {
        let Rules { id, wan, queue: up, .. } = self;
        let down = up + 1;
        let both = MARKED | WAITS;
        let others = !both;
        match self.kind {
            Kind::Iptables => {
                let bypass = if self.open { " --queue-bypass" } else { "" };
                // Last in FORWARD, since a packet that comes back from a queue skips the rules that follow; first in
                // POSTROUTING, where others may accept it for good or save its mark.
                format!(
                    "*mangle\n\
                     :quell-{id}-q - [0:0]\n\
                     -A quell-{id}-q -o {wan} -j MARK --set-xmark {WAITS:#x}/{both:#x}\n\
                     -A quell-{id}-q -o {wan} -j NFQUEUE --queue-num {up}{bypass}\n\
                     -A quell-{id}-q -i {wan} -j MARK --set-xmark {WAITS:#x}/{both:#x}\n\
                     -A quell-{id}-q -i {wan} -j NFQUEUE --queue-num {down}{bypass}\n\
                     -A FORWARD -j quell-{id}-q\n\
                     :quell-{id}-m - [0:0]\n\
                     -A quell-{id}-m -m mark --mark {WAITS:#x}/{both:#x}\n\
                     -A quell-{id}-m -m mark --mark {MARKED:#x}/{both:#x} -m tos ! --tos 0x00/0x03 -j TOS --or-tos 0x03\n\
                     -A quell-{id}-m -j MARK --set-xmark 0x0/{both:#x}\n\
                     -I POSTROUTING -j quell-{id}-m\n\
                     COMMIT\n"
                )
            }
            Kind::Nft => {
                let bypass = if self.open { " bypass" } else { "" };
                format!(
                    "table inet quell_{id} {{\n\
                     \tchain queues {{\n\
                     \t\ttype filter hook forward priority mangle; policy accept;\n\
                     \t\toifname \"{wan}\" meta mark set meta mark & {others:#x} | {WAITS:#x}\n\
                     \t\toifname \"{wan}\" queue num {up}{bypass}\n\
                     \t\tiifname \"{wan}\" meta mark set meta mark & {others:#x} | {WAITS:#x}\n\
                     \t\tiifname \"{wan}\" queue num {down}{bypass}\n\
                     \t}}\n\
                     \tchain marks {{\n\
                     \t\ttype filter hook postrouting priority mangle - 10; policy accept;\n\
                     \t\tmeta mark & {both:#x} == {WAITS:#x} counter\n\
                     \t\tmeta mark & {both:#x} == {MARKED:#x} ip ecn != not-ect ip ecn set ce\n\
                     \t\tmeta mark & {both:#x} == {MARKED:#x} ip6 ecn != not-ect ip6 ecn set ce\n\
                     \t\tmeta mark set meta mark & {others:#x}\n\
                     \t}}\n\
                     }}\n"
                )
            }
        }
    }

    /// The programs that add them, in order.
    fn adding(&self) -> Vec<Call> {
        match self.kind {
            Kind::Iptables => families()
                .iter()
                .map(|[_, restore]| Call::new(restore, &["-w", "5", "-n"], self.text()))
                .collect(),
            Kind::Nft => vec![Call::new("nft", &["-f", "-"], self.text())],
        }
    }

    /// Adds them.
    ///
    /// # Errors
    /// What the firewall says; then some may have been added.
    pub fn add(&self) -> Result<(), String> {
        self.adding().iter().try_for_each(|call| call.run(false).map(|_| ()))
    }

    /// Puts them in the place of those that another gateway of this name has left, in one transaction where all of
    /// those are there: nothing passes between that did not pass before.
    ///
    /// # Errors
    /// What the firewall says.
    pub fn replace(&self) -> Result<(), String> {
        for call in self.adding() {
            let undone = match self.kind {
                Kind::Iptables => {
                    let [head, rest] = ["*mangle\n", self.undoing().join("\n").as_str()].map(String::from);
                    call.input.replacen(&head, &format!("{head}{rest}\n"), 1)
                }
                Kind::Nft => self.undoing().join("\n") + "\n" + &call.input,
            };
            if (Call { input: undone, ..call }).run(false).is_err() {
                self.remove()?;
                return self.add();
            }
        }
        Ok(())
    }

    /// The text that undoes them, line by line.
    fn undoing(&self) -> Vec<String> {
        let id = &self.id;
        match self.kind {
            Kind::Iptables => vec![
                format!("-D FORWARD -j quell-{id}-q"),
                format!("-D POSTROUTING -j quell-{id}-m"),
                format!("-F quell-{id}-q"),
                format!("-X quell-{id}-q"),
                format!("-F quell-{id}-m"),
                format!("-X quell-{id}-m"),
            ],
            // Adding first makes deleting right whether it is there or not; it is one transaction.
            Kind::Nft => vec![format!("add table inet quell_{id}"), format!("delete table inet quell_{id}")],
        }
    }

    /// Counts the packets that have left without a verdict since the rules were added; `None` if some of the rules
    /// are gone.
    ///
    /// # Errors
    /// If the firewall does not say.
    pub fn look(&self) -> Result<Option<u64>, String> {
        let mut packets = 0;
        let texts: Vec<String> = match self.kind {
            Kind::Iptables => families()
                .iter()
                .map(|[program, _]| {
                    let args = ["-w", "1", "-t", "mangle", "-v", "-S"];
                    Call::new(program, &args, String::new()).run(false)
                })
                .collect::<Result<_, _>>()?,
            Kind::Nft => {
                let list = |what: &[&str]| Call::new("nft", what, String::new()).run(false);
                let name = format!("quell_{}", self.id);
                if !list(&["list", "tables"])?.lines().any(|l| l == format!("table inet {name}")) {
                    return Ok(None);
                }
                vec![list(&["list", "table", "inet", &name])?]
            }
        };
        for text in &texts {
            match self.counted(text) {
                Some(count) => packets += count,
                None => return Ok(None),
            }
        }
        Ok(Some(packets))
    }

    /// The count of the rules in `text`, if all are there.
    fn counted(&self, text: &str) -> Option<u64> {
        let number = |line: &str, word: &str| -> Option<u64> {
            let mut words = line.split_whitespace().skip_while(|w| *w != word).skip(1);
            words.next()?.parse().ok()
        };
        match self.kind {
            Kind::Iptables => {
                let (q, m) = (format!("quell-{}-q", self.id), format!("quell-{}-m", self.id));
                let of = |chain: &str, target: &str| -> Vec<&str> {
                    let begin = format!("-A {chain} ");
                    let end = |l: &&str| l.split_whitespace().any(|word| word == target);
                    text.lines().filter(|l| l.starts_with(&begin)).filter(end).collect()
                };
                let there = of("FORWARD", &q).len() == 1
                    && of("POSTROUTING", &m).len() == 1
                    && of(&q, "NFQUEUE").len() == 2
                    && of(&q, "MARK").len() == 2
                    && of(&m, "TOS").len() == 1
                    && of(&m, "MARK").len() == 1;
                let waits = format!("{WAITS:#x}/{:#x}", MARKED | WAITS);
                of(&m, &waits).first().filter(|_| there).and_then(|line| number(line, "-c"))
            }
            Kind::Nft => {
                let lines = |what: &str| text.lines().filter(|l| l.contains(what)).count();
                let there = (lines("ifname"), lines("ecn set ce")) == (4, 2) && lines("meta mark set") == 3;
                text.lines()
                    .find(|l| l.contains(" counter packets "))
                    .filter(|_| there)
                    .and_then(|l| number(l, "packets"))
            }
        }
    }

    /// Tells whether any rule of this name is there.
    ///
    /// # Errors
    /// If the firewall does not say.
    pub fn left(&self) -> Result<bool, String> {
        match self.kind {
            Kind::Iptables => {
                let mut left = false;
                for [program, _] in families() {
                    left |= self.left_of(program)?;
                }
                Ok(left)
            }
            Kind::Nft => {
                let tables = Call::new("nft", &["list", "tables"], String::new()).run(false)?;
                Ok(tables.lines().any(|l| l == format!("table inet quell_{}", self.id)))
            }
        }
    }

    /// Tells whether any chain of this name is in this family of iptables.
    fn left_of(&self, program: &'static str) -> Result<bool, String> {
        let list = Call::new(program, &["-w", "5", "-t", "mangle", "-S"], String::new());
        list.run(false).map(|text| text.contains(&format!("quell-{}-", self.id)))
    }

    /// Removes them, whichever of them are there.
    ///
    /// # Errors
    /// If some are still there.
    pub fn remove(&self) -> Result<(), String> {
        let id = &self.id;
        let undo = self.undoing();
        match self.kind {
            Kind::Iptables => {
                for [program, restore] in families() {
                    let all = format!("*mangle\n{}\nCOMMIT\n", undo.join("\n"));
                    if Call::new(restore, &["-w", "5", "-n"], all).run(false).is_ok() {
                        continue;
                    }
                    // Some are missing. Those that are there go one by one.
                    if !self.left_of(program)? {
                        continue;
                    }
                    for line in &undo {
                        let args = ["-w", "5", "-t", "mangle"].into_iter().chain(line.split(' '));
                        let _ = Call::new(program, &args.collect::<Vec<_>>(), String::new()).run(false);
                    }
                    if self.left_of(program)? {
                        return Err(format!("{program}: chains quell-{id}-* cannot be removed"));
                    }
                }
                Ok(())
            }
            Kind::Nft => {
                let text = undo.join("\n") + "\n";
                Call::new("nft", &["-f", "-"], text).run(false).map(|_| ())
            }
        }
    }

    /// Tells whether this kernel takes them; nothing is changed to find out.
    ///
    /// # Errors
    /// What the firewall says.
    pub fn tried(&self) -> Result<(), String> {
        match self.kind {
            Kind::Nft => Call::new("nft", &["-c", "-f", "-"], self.text()).run(false).map(|_| ()),
            Kind::Iptables => self.adding().iter().try_for_each(|call| {
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
            Choice::Auto => &[Kind::Iptables, Kind::Nft],
            Choice::Iptables => &[Kind::Iptables],
            Choice::Nft => &[Kind::Nft],
        };
        let mut why = Vec::new();
        for kind in kinds.iter().filter(|kind| kind.there()) {
            let rules = rules(*kind);
            match rules.tried() {
                Ok(()) => return Ok(rules),
                Err(e) => why.push(e),
            }
        }
        if why.is_empty() {
            let missing = match choice {
                Choice::Auto => "there is neither iptables with ip6tables nor nft",
                Choice::Iptables => "iptables, ip6tables or one of their -restore is missing",
                Choice::Nft => "there is no nft",
            };
            return Err(format!("{missing}: {INSTALL}"));
        }
        Err(format!(
            "the firewall does not take the rules ({}): modprobe -a xt_NFQUEUE xt_mark xt_dscp xt_DSCP, or nft_queue for nft",
            why.join("; ")
        ))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(kind: Kind, open: bool) -> Rules {
        Rules { kind, id: "7".into(), wan: "eth0".into(), queue: 5100, open }
    }

    #[test]
    fn the_rules_name_the_device_the_queues_and_what_becomes_of_packets() {
        let text = rules(Kind::Iptables, true).text();
        assert!(text.contains("-o eth0 -j NFQUEUE --queue-num 5100 --queue-bypass\n"), "{text}");
        assert!(text.contains("-i eth0 -j NFQUEUE --queue-num 5101 --queue-bypass\n"), "{text}");
        assert!(!rules(Kind::Iptables, false).text().contains("bypass"));
        let text = rules(Kind::Nft, true).text();
        assert!(text.contains("oifname \"eth0\" queue num 5100 bypass\n"), "{text}");
        assert!(text.contains("iifname \"eth0\" queue num 5101 bypass\n"), "{text}");
        assert!(!rules(Kind::Nft, false).text().contains("bypass"));
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
            let queues = ["5100", "5101"].map(|n| format!("queue num {n} bypass"));
            let text = queues.iter().fold(whole.text(), |text, queue| text.replace(queue, "accept"));
            let nft = |text: &str| Call::new("nft", &["-f", "-"], text.into()).run(false).unwrap();
            assert_eq!(whole.look(), Ok(None));
            nft(&text);
            assert_eq!(whole.look(), Ok(Some(0)));
            // A packet that left without a verdict still has the mark of one that waits.
            Call::new("ip", &["link", "set", "lo", "up"], String::new()).run(false).unwrap();
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket2::SockRef::from(&socket).set_mark(WAITS).unwrap();
            socket.send_to(b"packet", socket.local_addr().unwrap()).unwrap();
            assert_eq!(whole.look(), Ok(Some(1)));
            nft("flush chain inet quell_7 queues\n");
            assert_eq!(whole.look(), Ok(None), "a chain without rules");
            whole.remove().unwrap();
            assert_eq!(whole.look(), Ok(None));
            // Whether a rule is missing shows, whichever it is.
            let text: Vec<&str> = text.lines().collect();
            let is_rule = |line: &str| ["name \"lo\"", "meta mark"].iter().any(|word| line.contains(word));
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
