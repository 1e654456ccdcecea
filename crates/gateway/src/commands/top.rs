//! `quell gateway top`: a running gateway, looked at once a second.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wait, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use quell_units::text::visible;

use super::failure::Failure;
use super::status::{Source, show};
use super::text::{bit_rate, bytes, long, percent, plain, print_on, seconds, wrap, write};
use crate::metrics::Status;
use crate::unix_s;

/// Shows a running gateway once a second; q or Ctrl-C ends it. In a pipe, it prints a line of text per second for each
/// line of the gateway.
#[derive(Clone, Debug, clap::Args)]
pub struct TopArgs {
    /// Where it answers.
    #[command(flatten)]
    pub source: Source,
    /// End after this many seconds.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

const SECOND: Wait = Wait::from_secs(1);

/// Shows it until it is ended.
///
/// # Errors
/// If no gateway answers at first; later ones are shown and asked again.
pub fn run(args: &TopArgs) -> Result<(), Failure> {
    let mut status = Ok(args.source.status()?);
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, ended.clone())
            .map_err(|e| Failure::Failed(format!("cannot listen for signals: {e}")))?;
    }
    let mut screen = if io::stdout().is_terminal() { Some(Screen::enter()) } else { None };
    let mut next = Instant::now();
    for shown in 1.. {
        let listens = match &mut screen {
            Some(screen) => screen.draw(&status)?,
            None => match &status {
                Ok(status) => print_on(&lines(status))?,
                Err(failure) => print_on(&format!("{}\n", plain(&failure.to_string())))?,
            },
        };
        next += SECOND;
        if !listens || args.count.is_some_and(|count| shown >= count) || waits(&screen, next, &ended) {
            break;
        }
        // After a stop one does not hurry.
        next = next.max(Instant::now());
        status = args.source.status();
    }
    Ok(())
}

/// Waits until `next`; true if the user has had enough.
fn waits(screen: &Option<Screen>, next: Instant, ended: &AtomicBool) -> bool {
    let mut listens = screen.as_ref().is_some_and(|s| s.before.is_some());
    loop {
        let left = next.saturating_duration_since(Instant::now());
        if ended.load(Ordering::Relaxed) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let stdin = io::stdin();
        let mut keys = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        // A signal ends this; what it means is looked at above.
        let ready = poll(if listens { &mut keys } else { &mut [] }, Some(&wait)).unwrap_or(0);
        if ready > 0 {
            let mut key = [0; 16];
            match rustix::io::read(&stdin, &mut key) {
                // q, Ctrl-C, Ctrl-D.
                Ok(n) if key[..n].iter().any(|k| matches!(k, b'q' | b'Q' | 3 | 4)) => return true,
                Ok(0) | Err(_) => listens = false,
                Ok(_) => {}
            }
        }
    }
}

/// The terminal while it shows the gateway; leaves it as it was.
struct Screen {
    before: Option<Termios>,
}

impl Screen {
    fn enter() -> Self {
        // Keys come as they are pressed, Ctrl-C among them.
        let stdin = io::stdin();
        let before = tcgetattr(&stdin).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            raw.output_modes = before.output_modes;
            let _ = tcsetattr(&stdin, OptionalActions::Now, &raw);
        }
        // The other screen, without a cursor.
        let _ = write("\x1b[?1049h\x1b[?25l");
        Screen { before }
    }

    fn draw(&mut self, status: &Result<Status, Failure>) -> Result<bool, Failure> {
        let size = tcgetwinsize(io::stdout()).ok().filter(|s| s.ws_col > 0 && s.ws_row > 0);
        let (columns, rows) = size.map_or((80, 24), |s| (usize::from(s.ws_col), usize::from(s.ws_row)));
        let text = match status {
            Ok(status) => show(status, Some(columns), unix_s()),
            Err(failure) => wrap(&plain(&failure.to_string()), columns),
        };
        write(&page(&text, rows))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Lines from the top of the screen; what is not overwritten is erased.
fn page(text: &[String], rows: usize) -> String {
    let shown: Vec<_> = text.iter().take(rows).map(|line| visible(line)).collect();
    format!("\x1b[H{}\x1b[K\x1b[J", shown.join("\x1b[K\r\n"))
}

/// A line of text for each line of the gateway, and for what is wrong.
pub fn lines(status: &Status) -> String {
    let mut text = String::new();
    let up = long(status.up_s);
    for line in &status.lines {
        let recent = &line.recent;
        let queue = line.queue.as_ref().map_or(0, |q| q.counts.now.bytes);
        text.push_str(&format!(
            "{up}  {} {}: in {}, out {}, queue {}, delay {}, P99 {}, dropped {}, marked {}\n",
            plain(&line.direction),
            line.algorithm(),
            bit_rate(recent.in_bps),
            bit_rate(Some(recent.out_bps)),
            bytes(queue),
            seconds(recent.delay.as_ref().map(|q| q.p50)),
            seconds(recent.delay.as_ref().map(|q| q.p99)),
            percent(recent.dropped),
            percent(recent.marked),
        ));
    }
    for anomaly in &status.anomalies {
        let line = anomaly.direction.as_deref().map(|d| format!("{}: ", plain(d))).unwrap_or_default();
        text.push_str(&format!("{up}  ! {line}{}\n", plain(&anomaly.says)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_overwrites_the_one_before() {
        let text = ["one", "two", "three"].map(String::from);
        assert_eq!(page(&text, 2), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
    }
}
