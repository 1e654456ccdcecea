//! Numbers that models compute with: one, or several at once.
//!
//! A model's equations are written once, over [`Real`]. With `f64` they follow one network, with
//! [`Wide`] as many as the processor computes side by side.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number as a model's equations need it.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// Count of numbers side by side.
    const LANES: usize;
    /// The answer to a comparison.
    type Mask: Copy;
    /// The one in lane `i < LANES`.
    fn lane(self, i: usize) -> f64;
    /// One from each lane.
    fn from_lanes(f: impl FnMut(usize) -> f64) -> Self;
    /// `x` everywhere.
    fn of(x: f64) -> Self;
    /// Compares: `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Both.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Tells whether it holds anywhere.
    fn any(mask: Self::Mask) -> bool;
    /// `yes` where `mask` holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The smaller.
    fn min(self, other: Self) -> Self;
    /// The larger.
    fn max(self, other: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// `e^self - 1`.
    fn exp_m1(self) -> Self;

    /// `self` moved into `[low, high]`.
    #[inline(always)]
    fn within(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }
}

impl Real for f64 {
    const LANES: usize = 1;
    type Mask = bool;

    #[inline(always)]
    fn lane(self, _: usize) -> f64 {
        self
    }
    #[inline(always)]
    fn from_lanes(mut f: impl FnMut(usize) -> f64) -> f64 {
        f(0)
    }
    #[inline(always)]
    fn of(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn lt(self, other: f64) -> bool {
        self < other
    }
    #[inline(always)]
    fn and(a: bool, b: bool) -> bool {
        a && b
    }
    #[inline(always)]
    fn or(a: bool, b: bool) -> bool {
        a || b
    }
    #[inline(always)]
    fn any(mask: bool) -> bool {
        mask
    }
    #[inline(always)]
    fn select(mask: bool, yes: f64, no: f64) -> f64 {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn min(self, other: f64) -> f64 {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: f64) -> f64 {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> f64 {
        libm::expm1(self)
    }
}

/// `L` numbers side by side. Plain arrays: the compiler makes vector instructions of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Wide<const L: usize>(pub [f64; L]);

impl<const L: usize> Wide<L> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut out = self;
        for i in 0..L {
            out.0[i] = f(self.0[i], other.0[i]);
        }
        out
    }

    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let mut out = self;
        for x in &mut out.0 {
            *x = f(*x);
        }
        out
    }
}

macro_rules! lanes_operator {
    ($($trait:ident $method:ident $op:tt),+) => {$(
        impl<const L: usize> $trait for Wide<L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a $op b)
            }
        }
    )+};
}

lanes_operator!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<const L: usize> Neg for Wide<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

/// Does the same as `std::array::from_fn`, which does not become vector instructions here.
#[inline(always)]
fn each<const L: usize>(f: impl Fn(usize) -> bool) -> [bool; L] {
    let mut out = [false; L];
    for (i, x) in out.iter_mut().enumerate() {
        *x = f(i);
    }
    out
}

impl<const L: usize> Real for Wide<L> {
    const LANES: usize = L;
    type Mask = [bool; L];

    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        self.0[i]
    }
    #[inline(always)]
    fn from_lanes(mut f: impl FnMut(usize) -> f64) -> Self {
        let mut out = [0.0; L];
        for (i, x) in out.iter_mut().enumerate() {
            *x = f(i);
        }
        Wide(out)
    }
    #[inline(always)]
    fn of(x: f64) -> Self {
        Wide([x; L])
    }
    #[inline(always)]
    fn lt(self, other: Self) -> [bool; L] {
        each(|i| self.0[i] < other.0[i])
    }
    #[inline(always)]
    fn and(a: [bool; L], b: [bool; L]) -> [bool; L] {
        each(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn or(a: [bool; L], b: [bool; L]) -> [bool; L] {
        each(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn any(mask: [bool; L]) -> bool {
        mask.contains(&true)
    }
    #[inline(always)]
    fn select(mask: [bool; L], yes: Self, no: Self) -> Self {
        let mut out = no;
        for ((x, yes), mask) in out.0.iter_mut().zip(yes.0).zip(mask) {
            *x = if mask { yes } else { *x };
        }
        out
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, Real::min)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, Real::max)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        self.map(libm::expm1)
    }
}
