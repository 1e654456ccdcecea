//! Long work while Python stays responsive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// Does `work` in its own thread, without the interpreter. Meanwhile this thread listens for Ctrl-C and calls
/// `tick` a few times a second; an exception from either sets `stop`, which the work must heed, and is
/// returned beside the work's result.
pub fn attend<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    tick: impl Fn(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<PyErr>) {
    py.detach(move || {
        std::thread::scope(|scope| {
            let (sender, over) = channel::<()>();
            let worker = scope.spawn(move || {
                let outcome = work();
                drop(sender);
                outcome
            });
            let mut raised = None;
            while over.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = Python::attach(|py| py.check_signals().and_then(|()| tick(py))) {
                    raised.get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), raised)
        })
    })
}

/// The same for work that is useless unless it is finished: raises what Ctrl-C raises.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    match attend(py, &stop, |_| Ok(()), || work(&stop)) {
        (outcome, None) => Ok(outcome),
        (_, Some(raised)) => Err(raised),
    }
}
