//! Fixed-point arithmetic: the per-packet path of the `*-fixed` algorithms holds no floating point.
//!
//! Probabilities, queue lengths in packets and factors are unsigned multiples of 2^-32 ("Q32"); what
//! is integrated over time has 62 binary places. A host converts constants from floating point once. Products are formed in 128 bits: one instruction on 64-bit machines.

use quell_units::Bytes;
#[cfg(feature = "catalog")]
use quell_units::QueueSize;

#[cfg(feature = "catalog")]
use crate::Link;
use crate::QueueView;
#[cfg(feature = "catalog")]
use crate::part::SignalMode;
use crate::part::Spacing;

/// 1 in Q32.
pub const ONE: u64 = 1 << 32;
/// 1 with 62 binary places.
pub const ONE62: u64 = 1 << 62;

/// `x >= 0` in Q32, to the nearest; too large saturates.
#[cfg(feature = "catalog")]
pub fn from_f64(x: f64) -> u64 {
    libm::round(x * ONE as f64) as u64
}

/// A Q32 number, for reports.
pub fn to_f64(x: u64) -> f64 {
    x as f64 / ONE as f64
}

/// `x` in [0, 1] with 62 places.
#[cfg(feature = "catalog")]
pub fn from_f64_62(x: f64) -> u64 {
    libm::round(x * ONE62 as f64) as u64
}

/// A number with 62 places, for reports.
pub fn to_f64_62(x: u64) -> f64 {
    x as f64 / ONE62 as f64
}

/// `a b / 2^shift`, to the nearest; too large saturates. `shift` is at least 1, and more than 65 only
/// with a `b` of at most 62 bits: the half that rounds then fits beside the product.
#[inline]
pub fn mul_shift(a: u64, b: u64, shift: u32) -> u64 {
    let rounded = mul_shift_wide(a, b, shift);
    if rounded > u128::from(u64::MAX) { u64::MAX } else { rounded as u64 }
}

/// [`mul_shift`] without an end.
#[inline]
fn mul_shift_wide(a: u64, b: u64, shift: u32) -> u128 {
    (u128::from(a) * u128::from(b) + (1u128 << (shift - 1))) >> shift
}

/// The product of two Q32 numbers.
#[inline]
pub fn product(a: u64, b: u64) -> u64 {
    mul_shift(a, b, 32)
}

/// `a / b` in Q32, at most 1; `b` must not exceed 1.
#[inline]
pub fn quotient(a: u64, b: u64) -> u64 {
    if a >= b { ONE } else { (a << 32) / b }
}

/// A constant factor with the 53 significant bits of the floating-point number it is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    mantissa: u64,
    shift: u32,
}

/// Shows the expression that makes it.
impl core::fmt::Debug for Scale {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Scale::from_parts({}, {})", self.mantissa, self.shift)
    }
}

impl Scale {
    /// `mantissa / 2^shift`.
    ///
    /// # Panics
    /// If the mantissa exceeds 2^62, or the shift is not in 1 to 126: their products would not fit.
    pub const fn from_parts(mantissa: u64, shift: u32) -> Self {
        assert!(mantissa <= ONE62 && 1 <= shift && shift <= 126);
        Scale { mantissa, shift }
    }

    /// Makes a scale of `factor >= 0`; a factor above 2^62 counts as 2^62.
    #[cfg(feature = "catalog")]
    pub fn new(factor: f64) -> Self {
        let factor = factor.min(ONE62 as f64);
        if factor.is_nan() || factor <= 0.0 {
            return Scale { mantissa: 0, shift: 1 };
        }
        // factor = mantissa / 2^shift with the mantissa in [2^61, 2^62), unless it is tiny.
        let (_, exponent) = libm::frexp(factor);
        let shift = (62 - exponent).clamp(1, 126);
        Scale { mantissa: libm::scalbn(factor, shift) as u64, shift: shift as u32 }
    }

    /// `factor x`, to the nearest; too large saturates.
    #[inline]
    pub fn times(self, x: u64) -> u64 {
        mul_shift(x, self.mantissa, self.shift)
    }

    /// `factor (x - y)`, to the nearest.
    #[inline]
    pub fn times_difference(self, x: u64, y: u64) -> i128 {
        // Below 2^127, since the mantissa is at most 2^63.
        let size = mul_shift_wide(x.abs_diff(y), self.mantissa, self.shift) as i128;
        if x >= y { size } else { -size }
    }
}

/// `2^(-2^-(i+1))` in units of 2^-64.
const ROOTS_OF_HALF: [u64; 32] = [
    0xb504_f333_f9de_6484,
    0xd744_fcca_d69d_6af4,
    0xeac0_c6e7_dd24_392f,
    0xf525_7d15_2486_cc2c,
    0xfa83_b2db_722a_033a,
    0xfd3e_0c0c_f486_c175,
    0xfe9e_115c_7b8f_884c,
    0xff4e_cb59_511e_c8a5,
    0xffa7_5652_1c8d_aed2,
    0xffd3_a751_c0f7_e10c,
    0xffe9_d2b2_f7db_2756,
    0xfff4_e91b_ff1b_8c3e,
    0xfffa_747e_a004_0664,
    0xfffd_3a3b_7814_eb54,
    0xfffe_9d1c_c60d_dab1,
    0xffff_4e8e_2587_9bfa,
    0xffff_a747_0363_f451,
    0xffff_d3a3_7dda_0313,
    0xffff_e9d1_bdf7_03af,
    0xffff_f4e8_debe_025e,
    0xffff_fa74_6f4f_a150,
    0xffff_fd3a_37a3_f8b0,
    0xffff_fe9d_1bd1_065a,
    0xffff_ff4e_8de8_45ae,
    0xffff_ffa7_46f4_1377,
    0xffff_ffd3_a37a_05e4,
    0xffff_ffe9_d1bd_01fc,
    0xffff_fff4_e8de_80c0,
    0xffff_fffa_746f_4051,
    0xffff_fffd_3a37_a025,
    0xffff_fffe_9d1b_d011,
    0xffff_ffff_4e8d_e808,
];

/// `x 2^-halvings`, with the halvings in Q32: aging without an exponential function.
pub fn halved(x: u64, halvings: u64) -> u64 {
    let mut x = x;
    for (i, root) in ROOTS_OF_HALF.iter().enumerate() {
        if halvings & (1 << (31 - i)) != 0 {
            x = mul_shift(x, *root, 64);
        }
    }
    x.checked_shr((halvings >> 32).min(64) as u32).unwrap_or(0)
}

/// `Gauge` in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedGauge {
    /// Packets as counted.
    Packets,
    /// Bytes, times Q32 packets per byte.
    Bytes(Scale),
}

impl FixedGauge {
    /// The gauge for thresholds written in the unit of `threshold`.
    #[cfg(feature = "catalog")]
    pub fn of(threshold: QueueSize, link: &Link) -> Self {
        match threshold {
            QueueSize::Packets(_) => FixedGauge::Packets,
            QueueSize::Bytes(_) => FixedGauge::Bytes(Scale::new(ONE as f64 / link.mean_packet.get() as f64)),
        }
    }

    /// The queue length in Q32 packets.
    #[inline]
    pub fn read(self, queue: &QueueView) -> u64 {
        match self {
            FixedGauge::Packets => u64::from(queue.packets.get()) << 32,
            FixedGauge::Bytes(per_byte) => per_byte.times(queue.bytes.get()),
        }
    }
}

/// `Sizer` in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedSizer {
    /// Every packet counts as one.
    PerPacket,
    /// Bytes, times Q32 packets per byte.
    BySize(Scale),
}

impl FixedSizer {
    /// The sizer of a mode on a link.
    #[cfg(feature = "catalog")]
    pub fn new(mode: SignalMode, link: &Link) -> Self {
        match mode {
            SignalMode::PerPacket => FixedSizer::PerPacket,
            SignalMode::BySize => FixedSizer::BySize(Scale::new(ONE as f64 / link.mean_packet.get() as f64)),
        }
    }

    /// The factor by which a packet's probability is multiplied, in Q32.
    #[inline]
    pub fn factor(self, bytes: Bytes) -> u64 {
        match self {
            FixedSizer::PerPacket => ONE,
            FixedSizer::BySize(per_byte) => per_byte.times(bytes.get()),
        }
    }
}

/// [`spaced`](crate::part::spaced) in Q32.
#[inline]
pub fn spaced(spacing: Spacing, p: u64, count: u64) -> u64 {
    let cp = product(count, p);
    match spacing {
        Spacing::Geometric => p,
        Spacing::Uniform | Spacing::UniformPseudocode | Spacing::OneDraw if cp < ONE => quotient(p, ONE - cp),
        Spacing::Wait if cp < ONE => 0,
        Spacing::Wait if cp < 2 * ONE => quotient(p, 2 * ONE - cp),
        _ => ONE,
    }
}

equations! {
    Scale::times(factor, x: u64) -> y = Scale::new(factor).times(x) as f64;
    halved(x, halvings) -> y = to_f64(halved(from_f64(x), from_f64(halvings)));
    spaced(spacing: Spacing, p_b, count) -> p = to_f64(spaced(spacing, from_f64(p_b), from_f64(count)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn a_scale_multiplies_as_exactly_as_its_result_can_be_written() {
        let mut rng = Seed(1).stream("fixed");
        for _ in 0..100_000 {
            let factor = libm::exp2(rng.uniform_in(-60.0, 20.0));
            let x = rng.next_u64() >> (1 + rng.next_u64() % 40);
            let want = factor * x as f64;
            let got = Scale::new(factor).times(x) as f64;
            if want < 1e19 {
                assert!((got - want).abs() <= 0.5 + 2e-15 * want, "{factor} {x}: {got} {want}");
            }
        }
        assert_eq!(Scale::new(0.0).times(u64::MAX), 0);
        assert_eq!(Scale::new(1.0).times(u64::MAX), u64::MAX);
        assert_eq!(Scale::new(f64::INFINITY).times(4), u64::MAX);
        assert_eq!(Scale::new(1e-300).times(u64::MAX), 0);
        assert_eq!(Scale::new(0.5).times(3), 2);
    }

    #[test]
    fn halvings_are_powers_of_two() {
        let mut rng = Seed(2).stream("fixed");
        for _ in 0..10_000 {
            let halvings = rng.next_u64() >> 24;
            let want = libm::exp2(-(halvings as f64) / ONE as f64) * ONE as f64 * 1e6;
            let got = halved(1_000_000 * ONE, halvings) as f64;
            assert!((got - want).abs() <= 1.5 + 1e-14 * want, "{halvings}: {got} {want}");
        }
        assert_eq!(halved(u64::MAX, 0), u64::MAX);
        assert_eq!(halved(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn spacing_agrees_with_floating_point() {
        let mut rng = Seed(3).stream("fixed");
        for _ in 0..100_000 {
            let p = libm::exp2(rng.uniform_in(-16.0, 0.0));
            let count = rng.uniform_in(0.0, 2.2 / p);
            for spacing in [Spacing::Uniform, Spacing::UniformPseudocode, Spacing::Wait, Spacing::Geometric] {
                let want = crate::part::spaced(spacing, p, count);
                let got = to_f64(spaced(spacing, from_f64(p), from_f64(count)));
                // p is written to the nearest 2^-32, and near a pole of the quotient that matters more.
                let room = [1.0, 2.0].map(|pole| (pole - count * p).abs()).into_iter().fold(1.0, f64::min);
                let rounding = 1.0 / (p * ONE as f64) * (1.0 + 2.0 / room);
                // At a pole, and where `wait` begins, it jumps.
                if room > 1e-3 {
                    assert!(
                        (got - want).abs() < rounding * want + 1e-9,
                        "{spacing:?} {p} {count}: {got} {want}"
                    );
                }
            }
        }
    }
}
