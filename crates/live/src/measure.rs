//! A replication in real time.

use std::path::Path;
use std::sync::atomic::Ordering;

use quell_gateway::traffic::{Traffic, address};
use quell_gateway::wire::{Wire, WireConfig};
use quell_gateway::{Delays, LogHeader, Recorder, create_log};
use quell_units::{Duration, Time};

use crate::hosts::{HostView, Look};
use crate::job::{How, Job, LiveError};
use crate::wiring::{Crowd, Wiring};

/// The interval at which connections are looked at: the round-trip times that they tell change about as often.
const LOOK: Duration = Duration::from_millis(50);

impl Job<'_> {
    /// Runs it and keeps the log; `None` if it was interrupted. `show` is told how far it is.
    pub fn measure(
        &self,
        known: &[String],
        log: &Path,
        how: &How<'_>,
        show: &dyn Fn(Duration),
    ) -> Result<Option<HostView>, LiveError> {
        let Wiring { line, back, courses, crowd } = Wiring::of(self, known)?;
        let Crowd { flows, delays, sources, mtu } = crowd;
        let delays = [0, 1].map(|way: usize| {
            let mut each = vec![Duration::ZERO; usize::from(address(0))];
            each.extend(delays.iter().map(|delays| delays[way]));
            Delays { each, others: Duration::ZERO }
        });
        let lines = [Some(line), back];
        let header = LogHeader::now(lines.iter().flatten().cloned().collect());
        let recorder = create_log(log).and_then(|file| Recorder::new(file, &header));
        let recorder = recorder.map_err(|error| LiveError::Log { file: log.to_path_buf(), error })?;
        let config = WireConfig {
            lines,
            delays,
            courses,
            mtu,
            // Each connection asks for itself.
            ecn: false,
            congestion: None,
            packet_sockets: how.packet_sockets,
        };
        let wire = Wire::new(config, Some(recorder)).map_err(LiveError::failed)?;
        let traffic = Traffic::start(&wire, flows).map_err(LiveError::failed)?;
        let (looks, whole) = self.watch(&wire, &traffic, how, show);
        let transfers = traffic.transfers();
        let ended = traffic.finish();
        let report = wire.close().map_err(LiveError::failed)?;
        let Job { label, seed, .. } = self;
        if let Some(why) = report.log {
            return Err(LiveError::Failed(format!("the log of {label} with seed {seed}: {why}")));
        }
        if let (Err(e), true) = (ended, whole) {
            return Err(LiveError::Failed(format!("{label} with seed {seed}: a flow failed: {e}")));
        }
        if report.counters.starved > 0 || report.counters.refused > 0 || report.pauses > 0 {
            (how.note)(&format!(
                "{label} with seed {seed}: {} delayed reads, {} packets refused by a host, {} pauses: the machine was \
                 too slow or too busy",
                report.counters.starved, report.counters.refused, report.pauses
            ));
        }
        let late_p99_s = report.paths[0].meter.lateness_p99_s().unwrap_or(0.0);
        Ok(whole.then_some(HostView { sources, looks, transfers, late_p99_s }))
    }

    /// Looks at the hosts whenever that is due, until the end; false if it was stopped before.
    fn watch(
        &self,
        wire: &Wire,
        traffic: &Traffic,
        how: &How<'_>,
        show: &dyn Fn(Duration),
    ) -> (Vec<Look>, bool) {
        let end = self.end();
        let mut due = vec![self.warm()];
        due.extend(self.point.measure().segments().iter().map(|(_, to)| *to).filter(|to| *to < end));
        due.push(end);
        let mut looks = Vec::new();
        loop {
            let now = wire.clock.now();
            let done = traffic.done();
            while let Some(due) = due.get(looks.len()).filter(|due| now >= **due) {
                // What is counted goes on while this thread waits for a processor.
                let (due, at) = (due.as_secs_f64(), wire.clock.now().as_secs_f64());
                looks.push(Look { due, at, received: traffic.received(), done: done.clone() });
            }
            let Some(next) = due.get(looks.len()) else { return (looks, true) };
            if how.stop.load(Ordering::Relaxed) {
                return (looks, false);
            }
            show(now.since(Time::ZERO));
            // Until something is to be read, or shown.
            let wait = next.since(now).min(LOOK);
            std::thread::sleep(std::time::Duration::from_nanos(wait.nanos()));
        }
    }
}
