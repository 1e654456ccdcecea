//! A policer: a token bucket that drops what exceeds a rate (RFC 2697, without its excess burst).
//!
//! Tokens, of a byte each, come at `rate` up to `burst`. An arrival takes as many as it has bytes, or is
//! dropped if there are not that many. What passes waits in the link's FIFO; the policer has none.
//!
//! What the RFCs leave open, and what this file does:
//! - RFC 2697 and RFC 2698 meter and color; what becomes of a color is left to others. Here green passes and
//!   red is dropped. Yellow needs an excess burst, or the second rate of RFC 2698, and a later hop that drops it
//!   first: it is left out.
//! - A policed packet is dropped whatever its ECN field: the rate is a contract, not congestion.
//! - Tokens come continuously, not at a timer.

use quell_units::{BitRate, Bytes, Time};

use crate::params::{Marks, ParamError, require};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// The policer's parameters.
    pub struct PolicerParams {
        /// Committed information rate (CIR); left out: the link's.
        rate: Option<BitRate> = None, unit "bit/s", source "RFC 2697 section 2";
        /// Committed burst size (CBS); left out: what the rate carries in 100 ms.
        burst: Option<Bytes> = None, unit "bytes", source "RFC 2697 section 2: at least the largest packet";
    }
}

impl PolicerParams {
    /// Nothing: a packet that exceeds the bucket is dropped.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// The policer for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no rate, one above the link's, or a burst that holds no packet of mean size.
    pub fn build(&self, link: &Link) -> Result<Policer, ParamError> {
        link.check()?;
        let rate = self.rate.unwrap_or(link.rate);
        require!(rate.bps() > 0, rate, "must be positive [RFC 2697 section 2]")?;
        require!(
            rate <= link.rate,
            rate,
            "must be at most the link's ({}): a faster one polices nothing",
            link.rate
        )?;
        let room = rate.bytes_per_sec() * 0.1;
        let burst = match self.burst {
            Some(burst) => burst.get() as f64,
            None => room.max(link.mean_packet.get() as f64),
        };
        require(
            burst >= link.mean_packet.get() as f64,
            "burst",
            self.burst.unwrap_or_default(),
            alloc::format!(
                "must be at least the mean packet ({}): a larger one never passes [RFC 2697 section 2]",
                link.mean_packet
            ),
        )?;
        Ok(Policer { rate: rate.bytes_per_sec(), burst, tokens: burst, since: Time::ZERO })
    }
}

/// The policer's state.
#[derive(Clone, Debug)]
pub struct Policer {
    /// Bytes per second.
    rate: f64,
    burst: f64,
    tokens: f64,
    /// Time at which the tokens were counted.
    since: Time,
}

impl Aqm for Policer {
    fn on_start(&mut self, now: Time) {
        self.since = now;
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let passed = cx.now.since(self.since).as_secs_f64();
        let tokens = filled(self.tokens, passed, self.rate, self.burst);
        self.since = cx.now;
        let size = pkt.bytes.get() as f64;
        let conforms = size <= tokens;
        self.tokens = if conforms { tokens - size } else { tokens };
        if conforms { Verdict::Pass } else { Verdict::Drop(Cause::Forced) }
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("tokens", "bytes", self.tokens);
    }
}

/// RFC 2697 section 3: the tokens after so many seconds, in bytes.
#[inline]
pub fn filled(tokens: f64, passed: f64, rate: f64, burst: f64) -> f64 {
    (tokens + rate * passed).min(burst)
}

equations! {
    filled(tokens, passed, rate, burst) -> tokens = filled(tokens, passed, rate, burst);
}
