//! Captures as commands read them.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::failure::Failure;
use crate::terminal::Meter;

/// The input, and its size if that is known.
pub fn open(path: &Path) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let cannot = |e: io::Error| bad_input!("{}: cannot read: {e}", quell_files::name(path));
    let file = quell_files::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    // A pipe has no size.
    Ok((Box::new(file), about.is_file().then_some(about.len())))
}

/// Shows how far the reading is, once it takes long, and ends it when asked to.
pub struct Watched<'a, R> {
    input: R,
    read: u64,
    size: Option<u64>,
    begun: Instant,
    meter: &'a Meter,
    stop: &'a AtomicBool,
}

impl<'a, R> Watched<'a, R> {
    /// Reads `input`, which has `size` bytes if that is known.
    pub fn new(input: R, size: Option<u64>, meter: &'a Meter, stop: &'a AtomicBool) -> Self {
        Watched { input, read: 0, size, begun: Instant::now(), meter, stop }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let n = self.input.read(buffer)?;
        self.read += n as u64;
        if let Some(size) = self.size.filter(|&size| size > 0) {
            self.meter.advance_since(self.begun, (self.read as f64 / size as f64).min(1.0));
        }
        Ok(n)
    }
}
