//! Ctrl-C: the first one asks for a clean stop, the second ends the program at once. A request to
//! terminate (as `timeout` and batch systems send it) does the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGTERM;
use signal_hook::flag;

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The exit code of a program that ended at once.
const CODE: i32 = 130;

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
            if on_interrupt.swap(true, Ordering::Relaxed) {
                std::process::exit(CODE);
            }
        });
        // Not ctrlc: it would listen to hang-ups too, and undo `nohup`.
        let _ = flag::register_conditional_shutdown(SIGTERM, CODE, stop.clone());
        let _ = flag::register(SIGTERM, stop.clone());
        stop
    });
    stop.store(false, Ordering::Relaxed);
    stop
}
