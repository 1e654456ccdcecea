//! A TCP flow whose window is recorded.

use super::host::Host;
use super::tcp::{Group, TcpFlow};
use crate::outcome::WindowSample;
use crate::packet::Pkt;
use quell_units::{Duration, Time};

pub(crate) struct Watched {
    pub tcp: TcpFlow,
    pub windows: Vec<WindowSample>,
    step: Duration,
    /// The time of the next sample.
    next: Time,
    end: Time,
}

impl Watched {
    pub fn new(tcp: TcpFlow, step: Duration, end: Time) -> Self {
        Watched { tcp, windows: Vec::new(), step, next: Time::ZERO, end }
    }

    pub fn due(&self) -> Time {
        self.tcp.due()
    }

    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_sender(cfg, now, host);
        self.tcp.advance_receiver(cfg, now, host);
    }

    /// See [`Flow::on_packet`].
    pub fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        if pkt.is_ack() {
            self.advance_sender(cfg, now, host);
            self.record(cfg, now);
        }
        self.tcp.on_packet(cfg, now, pkt, host)
    }

    pub fn finish(&mut self, cfg: &Group) {
        self.record(cfg, Time::MAX);
    }

    /// Does what is due at the sender, one thing at a time.
    pub fn advance_sender(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let due = self.tcp.app_due.min(self.tcp.sender.deadline());
            if due > now || due == Time::MAX {
                return;
            }
            self.record(cfg, due);
            self.tcp.advance_sender(cfg, due, host);
        }
    }

    /// Takes the samples before `t`, until which nothing has changed at the sender.
    fn record(&mut self, cfg: &Group, t: Time) {
        while self.next < t && self.next <= self.end {
            let sender = &self.tcp.sender;
            self.windows.push(WindowSample {
                time: self.next,
                cwnd: sender.cwnd(),
                ssthresh: sender.ssthresh(),
                srtt: sender.smoothed_rtt(&cfg.tcp),
            });
            self.next += self.step;
        }
    }
}
