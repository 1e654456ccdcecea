//! Ctrl-C: the first one asks for a clean stop, the second ends the program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();

/// Begins to listen for Ctrl-C (and for a request to terminate), and gives the flag that it sets.
///
/// Where no handler can be installed, Ctrl-C ends the program as it always does: results are written
/// in one step, so nothing half-written is left.
pub fn listen() -> &'static AtomicBool {
    STOP.store(false, Ordering::Relaxed);
    let _ = INSTALLED.get_or_init(|| ctrlc::set_handler(on_signal).map_err(|e| e.to_string()));
    &STOP
}

fn on_signal() {
    if STOP.swap(true, Ordering::Relaxed) {
        std::process::exit(130);
    }
}
