//! Ctrl-C: the first one asks for a clean stop, the second ends the program at once. A request to
//! terminate (as `timeout` and batch systems send it) does the same, and so does the end of the terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::terminal;

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static TERMINATED: AtomicBool = AtomicBool::new(false);
/// When the first request came.
static FIRST: Mutex<Option<Instant>> = Mutex::new(None);
/// Requests within this time are one: `timeout` signals its child, and then the group of processes that the child is in.
const ONE: Duration = Duration::from_millis(500);
/// Ctrl-C is a child's, however often it comes.
static LEFT: AtomicBool = AtomicBool::new(false);

/// The number that shells add to that of the signal that ended a program.
const SIGNALED: i32 = 128;

/// The exit code of a program that was interrupted, or asked to terminate.
pub fn code() -> i32 {
    SIGNALED + if terminated() { SIGTERM } else { SIGINT }
}

/// The exit code that shells give for a program that a signal has ended.
#[cfg(all(feature = "all", target_os = "linux"))]
pub fn signaled(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or(1, |signal| SIGNALED + signal)
}

/// True if this program was asked to terminate.
pub fn terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}

/// Listens, and leaves Ctrl-C to a child that has the terminal: what it means there this program cannot know.
#[cfg(all(feature = "all", target_os = "linux"))]
pub fn leave() -> &'static AtomicBool {
    LEFT.store(true, Ordering::Relaxed);
    listen()
}

/// True if this program was started to outlive its terminal (`nohup`).
#[cfg(target_os = "linux")]
fn hang_ups_are_ignored() -> bool {
    // proc(5): bit N - 1 is signal N. Where it cannot be read, hang-ups are left as they are.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask >> (signal_hook::consts::SIGHUP - 1) & 1 == 1)
}

/// Notes a request to stop. A second one ends the program at once.
fn asked(stop: &AtomicBool, what: &'static str, signal: i32) {
    stop.store(true, Ordering::Relaxed);
    if signal == SIGINT && LEFT.load(Ordering::Relaxed) {
        return;
    }
    if signal == SIGTERM {
        TERMINATED.store(true, Ordering::Relaxed);
    }
    let first = *FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    if first.elapsed() > ONE {
        // A terminal that is stopped (Ctrl-S), or a full pipe, does not hold the end up.
        let (second, line) = (Instant::now(), "twice; unfinished work is lost");
        let said = std::thread::spawn(move || terminal::complain(what, line));
        while !said.is_finished() && second.elapsed() < ONE {
            std::thread::sleep(ONE / 100);
        }
        std::process::exit(SIGNALED + signal);
    }
}

/// Listens to what asks this program to terminate. The end of its terminal does, too.
#[cfg(unix)]
fn listen_for_ends(stop: Arc<AtomicBool>) {
    #[cfg(target_os = "linux")]
    let hang_up = (!hang_ups_are_ignored()).then_some(signal_hook::consts::SIGHUP);
    #[cfg(not(target_os = "linux"))]
    let hang_up = None;
    let signals = std::iter::once(SIGTERM).chain(hang_up);
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) {
        std::thread::spawn(move || signals.forever().for_each(|_| asked(&stop, "terminated", SIGTERM)));
    }
}

/// Nothing asks for it elsewhere.
#[cfg(not(unix))]
fn listen_for_ends(_stop: Arc<AtomicBool>) {}

/// Begins to listen, and gives the flag that an interruption sets.
///
/// Where no handler can be installed, Ctrl-C ends the program as it always does: results are written
/// in one step, so nothing half-written is left.
pub fn listen() -> &'static AtomicBool {
    let stop = STOP.get_or_init(|| {
        let stop = Arc::new(AtomicBool::new(false));
        // Not signal-hook: it would call Python's handler too, where the command runs in Python.
        let on_interrupt = stop.clone();
        let _ = ctrlc::set_handler(move || asked(&on_interrupt, "interrupted", SIGINT));
        // Not ctrlc: it would listen to hang-ups too, and undo `nohup`.
        listen_for_ends(stop.clone());
        stop
    });
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    stop.store(false, Ordering::Relaxed);
    stop
}
