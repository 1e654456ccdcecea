//! Scenarios with real packets, for the commands that run some.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use quell_gateway::THERE_ALREADY;
use quell_gateway::wire::{in_user_namespace, may_make_namespaces, terminate};
use quell_lab::Results;
use quell_live::{How, Live, LiveError, Measured};

use crate::failure::Failure;
use crate::folder::Place;
use crate::interrupt;
use crate::keep::{interrupted, keep};
use crate::selection::{self, Selection};
use crate::terminal::{self, Meter};

/// Set in the process that is root in a user namespace.
const INSIDE: &str = "QUELL_WIRE_INSIDE";

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Scenario(why) => Failure::BadInput(why),
            LiveError::Log { file, error } => no_log(&file, &error),
            LiveError::Failed(why) => Failure::Failed(why),
        }
    }
}

/// The failure of a log that cannot be made.
pub fn no_log(file: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AlreadyExists => bad_input!("--log {}: {error}", quell_files::name(file)),
        _ => Failure::cannot(format!("write {}", quell_files::name(file)), error),
    }
}

/// Runs a scenario with real packets and shows how far it is.
pub fn measure(
    live: &Live,
    log: Option<&Path>,
    packet_sockets: bool,
    quiet: bool,
    line: Vec<String>,
) -> Result<Measured, Failure> {
    let logs = log.map(|log| live.logs(log)).unwrap_or_default();
    if let Some(log) = logs.iter().find(|log| log.is_file()) {
        return Err(bad_input!("--log {}: {THERE_ALREADY}", quell_files::name(log)));
    }
    let (meter, began) = (Meter::new(quiet), Instant::now());
    let how = How {
        log,
        packet_sockets,
        stop: interrupt::listen(),
        progress: &|p| {
            let left = terminal::span(p.left);
            let text = format!("run {} of {}: {} with seed {}  {left} left", p.run, p.of, p.label, p.seed);
            meter.advance(p.share, began.elapsed(), &text);
        },
        note: &terminal::note,
    };
    let measured = live.measure(&how, line)?;
    meter.finish();
    measured
        .ok_or_else(|| Failure::Interrupted("before the first replication finished; nothing was kept".into()))
}

/// Keeps results and prints their tables, and says where everything is.
pub fn show(place: Place, results: &Results, selection: &Selection, logs: &[PathBuf]) -> Result<(), Failure> {
    let kept = keep(Some(place), results, true, true);
    let mut text = selection::text(results, selection) + &kept.places();
    match logs {
        [] => {}
        [log] => text.push_str(&format!("log      {}\n", quell_files::name(log))),
        [first, .., last] => {
            let n = logs.len();
            text.push_str(&format!(
                "logs     {} to {} ({n} files)\n",
                quell_files::name(first),
                quell_files::name(last)
            ));
        }
    }
    terminal::print(&text)?;
    match kept.failure {
        Some(failure) => Err(failure),
        None => interrupted(results, kept.folder.as_deref(), false),
    }
}

/// Runs this program again in a user namespace, unless it is there or needs none; whether all is done by that. Where that
/// run fails, so does this one.
pub fn outside() -> Result<bool, Failure> {
    if std::env::var_os(INSIDE).is_some() || may_make_namespaces() {
        return Ok(false);
    }
    let program = std::env::current_exe().map_err(|e| Failure::cannot("find this program", e))?;
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Ctrl-C reaches both; the one inside ends first.
    interrupt::leave();
    let mut command = Command::new(program);
    command.args(args).env(INSIDE, "1");
    let mut inside = in_user_namespace(&mut command).spawn().map_err(|e| {
        let namespaces = quell_gateway::wire::NAMESPACES;
        Failure::Failed(format!("a user namespace is not allowed here: {e}; {namespaces}"))
    })?;
    let mut told = false;
    let status = loop {
        if let Some(status) = inside.try_wait().map_err(|e| Failure::cannot("wait for this program", e))? {
            break status;
        }
        if interrupt::terminated() && !told {
            told = true;
            terminate(&inside).map_err(|e| Failure::cannot("end this program", e))?;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    match status.code() {
        Some(0) => Ok(true),
        // It has said why.
        code => std::process::exit(code.unwrap_or(1)),
    }
}
