//! The figures of a load: what is measured, where, and what it is called.

use quell_units::BitRate;

use crate::words::{number, of_rate, of_time, percent};

/// The link down, as scenarios name it.
pub(crate) const DOWN: &str = "net-router";
/// The link up.
pub(crate) const UP: &str = "router-net";

/// What comes in, behind the router.
const HOME: &str = "router-home";
/// What goes out, before it.
const HOME_UP: &str = "home-router";

/// A figure that a goal can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The 99th percentile of how much longer than the shortest the packets of calls take, in the worse direction. A lost packet
    /// is late, so that it is missed where more than one in a hundred is lost.
    Call,
    /// Mean page time.
    PageMean,
    /// Median page time.
    PageP50,
    /// 95th percentile of page times.
    PageP95,
    /// 99th percentile of page times.
    PageP99,
    /// Goodput of both directions, each relative to its link.
    Goodput,
    /// Goodput down.
    GoodputDown,
    /// Goodput up.
    GoodputUp,
    /// Rate of videos.
    VideoRate,
    /// Share of time in which videos stand still.
    Stalls,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Kind; 10] = [
        Kind::Call,
        Kind::PageMean,
        Kind::PageP50,
        Kind::PageP95,
        Kind::PageP99,
        Kind::Goodput,
        Kind::GoodputDown,
        Kind::GoodputUp,
        Kind::VideoRate,
        Kind::Stalls,
    ];

    /// Its name in goals.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Call => "call P99",
            Kind::PageMean => "page mean",
            Kind::PageP50 => "page P50",
            Kind::PageP95 => "page P95",
            Kind::PageP99 => "page P99",
            Kind::Goodput => "goodput",
            Kind::GoodputDown => "goodput down",
            Kind::GoodputUp => "goodput up",
            Kind::VideoRate => "video rate",
            Kind::Stalls => "video stalls",
        }
    }

    /// The one of this name, in small letters.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The words before it where it is less, or more, than another.
    pub(crate) fn than(self, less: bool) -> &'static str {
        match (self, less) {
            (Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp, true) => "less",
            (Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::Stalls, false) => "more",
            (Kind::Stalls, true) => "fewer",
            (Kind::VideoRate, true) => "a lower",
            (Kind::VideoRate, false) => "a higher",
            (_, true) => "a shorter",
            (_, false) => "a longer",
        }
    }

    /// Tells whether less is better.
    pub fn is_less_better(self) -> bool {
        !matches!(self, Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::VideoRate)
    }

    pub(crate) fn metric(self) -> &'static str {
        match self {
            Kind::Call => "delay_variation_p99_s",
            Kind::PageMean => "page_time_mean_s",
            Kind::PageP50 => "page_time_p50_s",
            Kind::PageP95 => "page_time_p95_s",
            Kind::PageP99 => "page_time_p99_s",
            Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp => "goodput_bps",
            Kind::VideoRate => "video_rate_bps",
            Kind::Stalls => "video_stall_share",
        }
    }
}

/// A figure of every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The kind of the figure.
    pub kind: Kind,
    /// Its heading.
    pub title: String,
    /// The metric, as `quell run --metric` takes it.
    pub metric: String,
    /// The link at which it is measured, as `quell run --link` takes it.
    pub link: &'static str,
    /// The rate that the link carries of IP in its largest packets, of which goodput is a share.
    pub capacity: BitRate,
}

impl Column {
    /// A value in words.
    pub fn words(&self, value: f64) -> String {
        match self.kind {
            Kind::Stalls => percent(value),
            Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::VideoRate => of_rate(value),
            _ => of_time(value),
        }
    }

    /// A value beside another, in one unit: "65 instead of 72.4 Mbit/s".
    pub(crate) fn beside(&self, value: f64, other: f64) -> String {
        let most = value.abs().max(other.abs());
        let (factor, unit) = match self.kind {
            Kind::Stalls => (100.0, "%"),
            Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::VideoRate => match most {
                m if m >= 1e9 => (1e-9, " Gbit/s"),
                m if m >= 1e6 => (1e-6, " Mbit/s"),
                m if m >= 1e3 => (1e-3, " kbit/s"),
                _ => (1.0, " bit/s"),
            },
            _ => match most {
                m if m < 1e-3 => (1e6, " µs"),
                m if m < 1.0 => (1e3, " ms"),
                _ => (1.0, " s"),
            },
        };
        format!("{} instead of {}{unit}", number(value * factor), number(other * factor))
    }

    /// The share of a call's packets that are dropped at the modem, and at the router: the metric, and the link of each.
    pub(crate) fn losses(&self) -> Option<(String, [&'static str; 2])> {
        let metric = self.metric.replacen(Kind::Call.metric(), "loss_rate", 1);
        (self.kind == Kind::Call).then_some((metric, [self.link, if self.is_up() { HOME_UP } else { HOME }]))
    }

    /// Tells whether it is of the way up.
    pub fn is_up(&self) -> bool {
        self.link == UP
    }

    /// Tells whether a condition of this kind asks for the column.
    pub fn answers(&self, kind: Kind) -> bool {
        self.kind == kind
            || (kind == Kind::Goodput && matches!(self.kind, Kind::GoodputDown | Kind::GoodputUp))
    }
}
