//! The player of an adaptive video: a client that asks for one chunk after the other, at the rate that the
//! throughput of the last ones allows, and plays what it has. All of its state belongs to the client.

use std::collections::VecDeque;

use quell_aqm::Rng;
use quell_units::{Duration, Time};

use super::host::Meter;
use super::tcp::Group;
use crate::network::Video;
use crate::outcome::VideoSegment;
use crate::source::whole_bytes;

pub(crate) struct Player {
    video: Video,
    stop: Time,
    rng: Rng,
    /// Chunks still to ask for; `None` for no end.
    left: Option<u32>,
    /// The chunk that was asked for last.
    asked: Option<Asked>,
    /// Seconds for each bit of the last chunks.
    paces: VecDeque<f64>,
    /// The time at which the first chunk was asked for.
    begun: Time,
    /// The time up to which playback has been followed, and how much of the video waited to be played then.
    now: Time,
    waiting: Duration,
    playback: Playback,
    /// All of the video is there.
    complete: bool,
    counts: Meter<VideoSegment>,
}

#[derive(Clone, Copy)]
struct Asked {
    at: Time,
    /// The number of its rate.
    rate: usize,
    /// The rate differs from that of the chunk before.
    switched: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Playback {
    /// It has not begun.
    Starting,
    Playing,
    /// Playback has caught up, and more is to come.
    Stalled,
    /// Playback has caught up, and that was all.
    Over,
}

impl Player {
    pub fn new(video: &Video, stop: Time, rng: Rng, bounds: &[Time]) -> Self {
        Player {
            stop,
            rng,
            left: video.chunks,
            asked: None,
            paces: VecDeque::with_capacity(video.averaged as usize),
            begun: Time::MAX,
            now: Time::ZERO,
            waiting: Duration::ZERO,
            playback: Playback::Starting,
            complete: false,
            counts: Meter::new(bounds),
            video: video.clone(),
        }
    }

    /// The next chunk in packets, and the request for it in bytes.
    pub fn wish(&mut self, cfg: &Group, now: Time) -> (u32, u16) {
        self.begun = self.begun.min(now);
        self.left = self.left.map(|n| n - 1);
        let allowed = throughput(&self.paces) * self.video.safety;
        let rate = choice(&self.video, allowed);
        let switched = self.asked.is_some_and(|before| before.rate != rate);
        self.asked = Some(Asked { at: now, rate, switched });
        let bits = self.video.rates[rate].bps() as f64 * self.video.chunk.as_secs_f64();
        let packets = libm::ceil(bits / bits_of(cfg)).clamp(1.0, f64::from(u32::MAX));
        (packets as u32, whole_bytes(&self.video.request, &mut self.rng))
    }

    /// A chunk of so many packets is complete; when to ask for the next one.
    pub fn next(&mut self, cfg: &Group, now: Time, packets: u32, bounds: &[Time]) -> Time {
        let Some(asked) = self.asked else { return Time::MAX };
        self.play(now, bounds);
        if self.paces.len() == self.video.averaged as usize {
            self.paces.pop_front();
        }
        self.paces.push_back((now - asked.at).as_secs_f64() / (f64::from(packets) * bits_of(cfg)));
        self.waiting += self.video.chunk;
        let due = self.when_next(now);
        let counts = counts_at(&mut self.counts, now, bounds);
        counts.chunks += 1;
        counts.rate_sum_bps += self.video.rates[asked.rate].bps();
        counts.switches += u64::from(asked.switched);
        self.complete = due == Time::MAX;
        let enough = self.waiting >= self.video.start_up || self.complete;
        if enough && self.playback != Playback::Playing {
            if self.playback == Playback::Starting {
                counts.started += 1;
                counts.start_up_ns += (now - self.begun).nanos();
            }
            self.playback = Playback::Playing;
        }
        due
    }

    /// The time at which there is room for another chunk; never if none is left, or the video is to stop by then.
    fn when_next(&self, now: Time) -> Time {
        // What waits while nothing is played is less than `start_up`, for which there is room.
        let full = (self.waiting + self.video.chunk).nanos().saturating_sub(self.video.buffer.nanos());
        // Time must pass, as between transfers.
        let due = now + Duration::from_nanos(full.max(1));
        if self.left == Some(0) || due >= self.stop { Time::MAX } else { due }
    }

    /// Plays until `now`, segment by segment.
    fn play(&mut self, now: Time, bounds: &[Time]) {
        while self.now < now {
            counts_at(&mut self.counts, self.now, bounds);
            let until = now.min(self.counts.until);
            let mut time = until - self.now;
            self.now = until;
            let counts = &mut self.counts.now;
            if self.playback == Playback::Playing {
                let played = time.min(self.waiting);
                self.waiting -= played;
                counts.played_ns += played.nanos();
                time -= played;
                if !time.is_zero() {
                    self.playback = if self.complete { Playback::Over } else { Playback::Stalled };
                    counts.stalls += u64::from(self.playback == Playback::Stalled);
                }
            }
            if self.playback == Playback::Stalled {
                counts.stalled_ns += time.nanos();
            }
        }
    }

    /// The measurements at the end of the run.
    pub fn finish(mut self, bounds: &[Time]) -> Vec<VideoSegment> {
        if let Some(end) = bounds.last() {
            self.play(*end, bounds);
        }
        self.counts.finish(bounds)
    }
}

/// The bits that a packet of data brings.
fn bits_of(cfg: &Group) -> f64 {
    cfg.payload as f64 * 8.0
}

/// The harmonic mean of the throughputs of chunks that took so many seconds for each bit (Jiang et al. 2012); zero if
/// there are none.
fn throughput(paces: &VecDeque<f64>) -> f64 {
    if paces.is_empty() { 0.0 } else { paces.len() as f64 / paces.iter().sum::<f64>() }
}

/// The number of the highest rate that is not above `allowed` bit/s; of the lowest if all are.
fn choice(video: &Video, allowed: f64) -> usize {
    video.rates.iter().rposition(|rate| rate.bps() as f64 <= allowed).unwrap_or(0)
}

/// The counters of the segment that `t` lies in; `t` never decreases.
fn counts_at<'a>(meter: &'a mut Meter<VideoSegment>, t: Time, bounds: &[Time]) -> &'a mut VideoSegment {
    while t >= meter.until {
        meter.roll(bounds);
    }
    &mut meter.now
}
