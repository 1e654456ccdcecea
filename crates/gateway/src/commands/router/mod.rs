//! `quell gateway run`, `check`, `reload` and `clean`: the router mode.
//!
//! Two processes: a supervisor that may set rules and sees no packet, and a worker that sees packets and may do nothing
//! else. The second is this program once more, so that it has one thread when it gives up its rights.

mod channel;
mod check;
mod file;
mod firewall;
mod journal;
mod lock;
mod notify;
mod settings;
mod supervisor;
mod user;
mod worker;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration as Wait, Instant};

use clap::Args;
use quell_units::{BitRate, QueueSize};

use super::algorithm::named_algorithm;
use super::failure::Failure;
use super::run_dir::{file, replace};
use super::text::print;
use crate::port::nfqueue::MarkBits;
use firewall::{Kind, Rules};
use journal::{Journal, JournalError, forget};
use lock::Lock;
pub use settings::RunArgs;
use settings::{assignment, id};
use supervisor::Change;

pub(super) const RUN_HELP: &str = "\
Packets that leave or enter through DEVICE, both forwarded ones and this host's own, wait in the kernel (NFQUEUE) \
until the line of their direction has sent them. If this program dies, they pass unshaped; with --on-exit closed, \
forwarded traffic stops.

  quell gateway run --wan eth0 --up 18Mbit/s --down 95Mbit/s --aqm codel --ecn
  quell gateway run --config /etc/quell/gateway.toml
  quell gateway check --wan eth0 --up 18Mbit/s --down 95Mbit/s";

/// Which gateway.
#[derive(Clone, Debug, Args)]
pub struct CleanArgs {
    /// The --id given to `run`; default: the only gateway that was killed, else 0.
    #[arg(long, value_name = "ID", value_parser = id)]
    id: Option<String>,
}

/// Another configuration for a gateway that runs.
#[derive(Clone, Debug, Args)]
pub struct ReloadArgs {
    /// The --id given to `run`; default: the one in the --config file, else the only running gateway, else 0.
    #[arg(long, value_name = "ID", value_parser = id)]
    id: Option<String>,
    /// Read this file; without any option, the file given to `run`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["up", "down", "buffer", "aqm"])]
    config: Option<PathBuf>,
    /// Rate to the device; default: unchanged.
    #[arg(long, value_name = "RATE")]
    up: Option<BitRate>,
    /// Rate from the device; default: unchanged.
    #[arg(long, value_name = "RATE")]
    down: Option<BitRate>,
    /// Buffer of each direction; default: unchanged.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// The algorithm of both directions; default: unchanged, with its parameters.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// Set a parameter of the algorithm. With --aqm, its other parameters have their defaults; otherwise they are
    /// unchanged.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment, conflicts_with = "config")]
    set: Vec<(String, String)>,
}

/// Runs a gateway; `words` lead to the gateway's commands on the command line of this program.
pub(super) fn run(args: &RunArgs, words: &[&str]) -> Result<(), Failure> {
    supervisor::run(args, words)
}

/// The addresses of gateways that run, and the names of those that were killed and not cleaned up.
pub(super) fn answering() -> (Vec<SocketAddr>, Vec<String>) {
    let (alive, dead): (Vec<_>, Vec<_>) = Journal::all().into_iter().partition(|j| j.supervisor.alive());
    let addresses = alive.into_iter().filter_map(|journal| journal.metrics).collect();
    (addresses, dead.into_iter().map(|journal| journal.rules.id).collect())
}

/// Reads packets for a supervisor.
pub(super) fn work() -> Result<(), Failure> {
    worker::run()
}

/// Says what `run` would need and do.
pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
    let settings = args.settings()?;
    let mut text = String::new();
    for line in &settings.lines {
        let (name, aqm) = (&line.name, line.aqm.name());
        let leaves = line.classes.as_ref().map_or(String::new(), |classes| {
            let names: Vec<&str> = classes.classes.iter().map(|class| class.name.as_str()).collect();
            format!(" in each of the classes {}", names.join(", "))
        });
        let burst =
            line.shaper.as_ref().map_or(String::new(), |shaper| format!(", bursts of {}", shaper.burst));
        let (rate, buffer) = (line.capacity(), line.buffer);
        text.push_str(&format!("{name}: {aqm} at {rate}{burst}, {buffer} of buffer{leaves}\n"));
    }
    let found = check::look(&settings);
    if let Some(rules) = &found.rules {
        let program = match rules.kind {
            Kind::Iptables | Kind::Mangle => "iptables-restore -n and ip6tables-restore -n",
            Kind::Nft => "nft -f",
        };
        text.push_str(&format!("rules that would be added ({program}):\n"));
        for line in rules.text().lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    for note in &found.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    print(&text)?;
    if found.refused.is_empty() {
        print("ready to run: no problems found\n")
    } else {
        Err(Failure::Failed(found.refused.join("\n  ")))
    }
}

/// The name of the only gateway of whose journal `is` holds; 0 if there is none.
fn the_only(what: &str, is: impl Fn(Result<Journal, JournalError>) -> bool) -> Result<String, Failure> {
    let mut ids = Journal::ids();
    ids.retain(|id| Journal::read(id).transpose().is_some_and(&is));
    match &ids[..] {
        [] => Ok("0".into()),
        [one] => Ok(one.clone()),
        more => {
            let names: Vec<String> = more.iter().map(|id| format!("--id {id}")).collect();
            Err(Failure::BadInput(format!("more than one gateway {what}: add {}", names.join(" or "))))
        }
    }
}

/// Undoes what a killed gateway has left.
pub(super) fn clean(args: &CleanArgs) -> Result<(), Failure> {
    let id = &match &args.id {
        Some(id) => id.clone(),
        None => the_only("was killed", |journal| !journal.is_ok_and(|journal| journal.supervisor.alive()))?,
    };
    // From here on none of this name starts.
    let lock = Lock::take(id).map_err(|e| Failure::Failed(format!("cannot hold the name \"{id}\": {e}")))?;
    let journal = Journal::read(id);
    match &journal {
        Ok(Some(journal)) if journal.supervisor.alive() => {
            let pid = journal.supervisor.pid;
            return Err(Failure::Failed(format!(
                "gateway \"{id}\" is running as process {pid}; kill {pid} ends it and its rules"
            )));
        }
        _ if lock.is_none() => {
            return Err(Failure::Failed(format!(
                "gateway \"{id}\" is starting or ending right now; try again"
            )));
        }
        _ => {}
    }
    user::forget();
    match journal {
        Ok(None) => {
            // The journal is there before the rules and longer than they are. Who has removed it by hand may still
            // ask for them to go.
            let found = remove_by_name(id)?;
            forget(id);
            print(&match found {
                false => format!("gateway \"{id}\" has left nothing behind\n"),
                true => format!("there was no journal; the rules of gateway \"{id}\" are gone\n"),
            })
        }
        Ok(Some(journal)) => {
            journal.undo().map_err(Failure::Failed)?;
            print(&format!("the rules of gateway \"{id}\" are gone\n"))
        }
        Err(JournalError::Closed(why)) => Err(Failure::Failed(why)),
        Err(JournalError::Damaged(damage)) => {
            remove_by_name(id)?;
            forget(id);
            print(&format!("the journal was damaged ({damage}); the rules of gateway \"{id}\" are gone\n"))
        }
    }
}

/// Removes rules of this name, in whichever firewall; whether there were any.
fn remove_by_name(id: &str) -> Result<bool, Failure> {
    let mut found = false;
    for kind in [Kind::of_iptables(), Kind::Nft].into_iter().filter(|kind| kind.there()) {
        let rules =
            Rules { kind, id: id.into(), wan: "lo".into(), queue: 0, open: true, bits: MarkBits::default() };
        found |= rules.left().map_err(Failure::Failed)?;
        rules.remove().map_err(Failure::Failed)?;
    }
    Ok(found)
}

/// The time that a gateway may take to answer.
const PATIENCE: Wait = Wait::from_secs(10);

/// Gives a running gateway another configuration; what waits stays.
pub(super) fn reload(args: &ReloadArgs) -> Result<(), Failure> {
    if let Some(path) = args.config.as_ref().filter(|path| quell_files::is_given(path)) {
        let path = quell_files::name(path);
        return Err(Failure::BadInput(format!(
            "--config: {path} is a descriptor of this process, which the gateway cannot read; name a file"
        )));
    }
    let id = &match (&args.id, &args.config) {
        (Some(id), _) => id.clone(),
        (None, Some(path)) => settings::id_of(path)?,
        (None, None) => the_only("runs", |journal| journal.is_ok_and(|journal| journal.supervisor.alive()))?,
    };
    let running = |journal: &Journal| journal.supervisor.alive();
    let Some(journal) = Journal::read(id).map_err(|e| Failure::Failed(e.to_string()))?.filter(running) else {
        return Err(Failure::Failed(format!(
            "gateway \"{id}\" is not running; start it with `quell gateway run`"
        )));
    };
    let aqm = args.aqm.as_ref().map(|name| named_algorithm("--aqm", name, &args.set)).transpose()?;
    let config = match &args.config {
        // The gateway may be in another folder.
        Some(path) => {
            Some(std::path::absolute(path).map_err(|e| Failure::BadInput(format!("--config: {e}")))?)
        }
        None => None,
    };
    let set = if aqm.is_some() { Vec::new() } else { args.set.clone() };
    let values =
        aqm.is_some() || !set.is_empty() || args.up.is_some() || args.down.is_some() || args.buffer.is_some();
    let order = crate::random_seed().map_err(|e| Failure::Failed(e.to_string()))?.max(1);
    let change = Change {
        order,
        read: !values,
        file: config,
        up: args.up,
        down: args.down,
        buffer: args.buffer,
        aqm,
        set,
        given: args.set.iter().map(|(key, _)| key.clone()).collect(),
    };
    let cannot = |e: std::io::Error| Failure::Failed(format!("cannot ask gateway \"{id}\": {e}; try sudo"));
    let bytes = serde_json::to_vec(&change).map_err(|e| cannot(e.into()))?;
    replace(&file(id, "order"), &bytes).map_err(cannot)?;
    journal.supervisor.signal(rustix::process::Signal::HUP).map_err(cannot)?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let said = Journal::read(id).ok().flatten().and_then(|journal| journal.answer);
        match said.filter(|answer| answer.order == order).map(|answer| answer.said) {
            Some(Ok(holds)) => return print(&format!("gateway \"{id}\" continues with {holds}\n")),
            Some(Err(why)) => {
                return Err(Failure::BadInput(format!("{why}; the gateway continues unchanged")));
            }
            None => std::thread::sleep(Wait::from_millis(20)),
        }
    }
    Err(Failure::Failed(format!("gateway \"{id}\" does not answer")))
}
