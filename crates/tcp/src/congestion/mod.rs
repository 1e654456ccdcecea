//! Congestion control: the size of the window. The repair of losses is the other axis,
//! [`Recovery`](crate::Recovery).

use alloc::boxed::Box;
use core::borrow::{Borrow, BorrowMut};
use core::ops::{Deref, DerefMut};

use quell_units::Time;

use crate::choices::{CongestionControl, congestion_controls};
use crate::params::Config;
use contract::{Congestion, Window};

pub(crate) mod bbr1;
pub(crate) mod bbr3;
pub(crate) mod contract;
pub mod cubic;
pub(crate) mod dctcp;
pub(crate) mod ledbat;
mod model;
pub(crate) mod prague;
pub(crate) mod reno;
pub(crate) mod window;

/// A congestion control for which code is compiled.
pub(crate) trait Kind: Congestion + Sized {
    /// It follows a model of the path.
    const MODEL: bool;

    /// This one, if it is the one that there is.
    fn of(control: &mut Control) -> Option<&mut Self>;
}

macro_rules! controls {
    ($( #[doc = $doc:literal] $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
        $( use $module::$name; )+

        /// A congestion control with its state.
        #[derive(Clone, Debug)]
        pub(crate) enum Control { $( #[doc = $doc] $name($kind), )+ }

        impl Control {
            pub fn new(cfg: &Config) -> Self {
                match cfg.congestion {
                    $( CongestionControl::$name => Control::$name($name::new(cfg).into()), )+
                }
            }
        }

        $(
            impl Kind for $name {
                const MODEL: bool = CongestionControl::$name.is_model();

                #[inline(always)]
                fn of(control: &mut Control) -> Option<&mut Self> {
                    match control {
                        Control::$name(c) => Some(BorrowMut::<$name>::borrow_mut(c)),
                        _ => None,
                    }
                }
            }
        )+

        /// The events that come seldom, by way of a table of functions.
        impl Deref for Control {
            type Target = dyn Congestion;

            fn deref(&self) -> &Self::Target {
                match self { $( Control::$name(c) => Borrow::<$name>::borrow(c), )+ }
            }
        }

        impl DerefMut for Control {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $( Control::$name(c) => BorrowMut::<$name>::borrow_mut(c), )+ }
            }
        }
    };
}
congestion_controls!(controls);

/// Does something with the congestion control that there is, compiled for each.
macro_rules! each {
    ([$control:expr, $c:ident => $call:expr]
     $( #[doc = $doc:literal] $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
        match $control { $( $crate::congestion::Control::$name($c) => $call, )+ }
    };
}

/// The events that come with every packet of a model.
impl Control {
    #[inline(always)]
    pub fn on_sent(&mut self, window: &mut Window, now: Time, seq: u32, flight: u32) {
        congestion_controls!(each [self, c => c.on_sent(window, now, seq, flight)])
    }

    #[inline(always)]
    pub fn pacing_rate(&self) -> Option<f64> {
        congestion_controls!(each [self, c => c.pacing_rate()])
    }
}
