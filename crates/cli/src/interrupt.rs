//! Ctrl-C: the first one asks for a clean stop, the second ends the program at once. A request to
//! terminate (as `timeout` and batch systems send it) does the same, and so does the end of the terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::terminal;

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static TERMINATED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
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
    TERMINATED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
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

/// Begins to listen, and gives the flag that an interruption sets.
///
/// Where no handler can be installed, Ctrl-C ends the program as it always does: results are written
/// in one step, so nothing half-written is left.
pub fn listen() -> &'static AtomicBool {
    let stop = STOP.get_or_init(|| {
        let stop = Arc::new(AtomicBool::new(false));
        // Not signal-hook: it would call Python's handler too, where the command runs in Python.
        let on_interrupt = stop.clone();
        let _ = ctrlc::set_handler(move || {
            if on_interrupt.swap(true, Ordering::Relaxed) && !LEFT.load(Ordering::Relaxed) {
                terminal::complain("interrupted", "twice; unfinished work is lost");
                std::process::exit(SIGNALED + SIGINT);
            }
        });
        // Not ctrlc: it would listen to hang-ups too, and undo `nohup`.
        let terminated = TERMINATED.get_or_init(Arc::default);
        let _ = flag::register_conditional_shutdown(SIGTERM, SIGNALED + SIGTERM, stop.clone());
        let _ = flag::register(SIGTERM, terminated.clone());
        let _ = flag::register(SIGTERM, stop.clone());
        // A terminal that is gone ends this program, and what it has started with it.
        #[cfg(target_os = "linux")]
        if !hang_ups_are_ignored() {
            use signal_hook::consts::SIGHUP;
            let _ = flag::register_conditional_shutdown(SIGHUP, SIGNALED + SIGTERM, stop.clone());
            let _ = flag::register(SIGHUP, terminated.clone());
            let _ = flag::register(SIGHUP, stop.clone());
        }
        stop
    });
    stop.store(false, Ordering::Relaxed);
    stop
}
