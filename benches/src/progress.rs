//! The progress and how long the rest takes, on stderr.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on a terminal; elsewhere a line now and then.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    said: Instant,
    done: usize,
    all: usize,
}

const LINE_EVERY: Duration = Duration::from_secs(15);

impl Progress {
    pub fn new(all: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr());
        // The template is a constant that indicatif accepts; its default would do too.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {eta} left  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let now = Instant::now();
        Progress { bar, begun: now, said: now, done: 0, all }
    }

    /// Says what is run next.
    pub fn next(&mut self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.set_position(self.done as u64);
        if self.bar.is_hidden() && self.said.elapsed() >= LINE_EVERY {
            self.said = Instant::now();
            let left = self.begun.elapsed().mul_f64((self.all - self.done) as f64 / self.done.max(1) as f64);
            eprintln!("{}/{}  {:.0} s left  {what}", self.done, self.all, left.as_secs_f64());
        }
        self.done = (self.done + 1).min(self.all);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
