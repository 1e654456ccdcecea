//! Detects a change in the size of a queue's oscillations (Chen 2010, chapters 5 and 6).

/// The two functions that watch how far a queue swings around `q_ref`: a fast average of the squared
/// distance that measures (sigma), and a slow one over a narrower range that detects (g).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detector {
    /// The variance, sigma squared.
    pub s2: f64,
    /// The detection function, g squared.
    pub g2: f64,
    /// Length around which the queue swings, in packets.
    pub q_ref: f64,
    gamma: f64,
    h_l: f64,
    h_s: f64,
    phi1: f64,
    phi2: f64,
}

impl Detector {
    /// Chen 2010, Fig. 5.3 and 6.1, initialization. `phi1` and `phi2` are for a sample of weight 1.
    pub fn new(gamma: f64, h_s: f64, phi1: f64, phi2: f64, q_ref: f64) -> Self {
        let h_l = upper_coefficient(gamma);
        let mut detector = Detector { s2: 0.0, g2: 0.0, q_ref, gamma, h_l, h_s, phi1, phi2 };
        detector.restart(q_ref);
        detector
    }

    /// Chen 2010, Fig. 5.3 and 6.1: the detection function begins half way between its thresholds.
    pub fn restart(&mut self, q_ref: f64) {
        self.q_ref = q_ref;
        self.g2 = half_way(self.h_s * q_ref, self.h_l * q_ref);
    }

    /// Chen 2010, Fig. 5.3 and 6.1: takes in a sample of weight `w`; the factor k, if the oscillations
    /// have changed.
    #[inline]
    pub fn sample(&mut self, q: f64, w: f64) -> Option<f64> {
        if !(q > 0.0 && q < 2.0 * self.q_ref) {
            return None;
        }
        let distance = q - self.q_ref;
        let square = distance * distance;
        self.s2 = moving_average(self.s2, self.phi1 * w, square);
        if libm::fabs(distance) >= self.gamma * self.q_ref {
            return None;
        }
        self.g2 = moving_average(self.g2, self.phi2 * w, square);
        let (large, small) = (self.h_l * self.q_ref, self.h_s * self.q_ref);
        let (large2, small2) = (large * large, small * small);
        if self.g2 > large2 && self.s2 > large2 {
            Some(libm::sqrt(self.s2) / large)
        } else if self.g2 < small2 && self.s2 < small2 {
            Some(libm::sqrt(self.s2) / small)
        } else {
            None
        }
    }
}

/// Chen 2010, eq. 5.5, 5.7, 6.11 and 6.12: `(1 - phi w) x + phi w (q - q_ref)^2`.
#[inline]
pub fn moving_average(x: f64, phi_w: f64, square: f64) -> f64 {
    (1.0 - phi_w) * x + phi_w * square
}

/// Chen 2010, section 5.4.2: `h_l = gamma / sqrt 3`, the deviation of a uniform law of that half width.
pub fn upper_coefficient(gamma: f64) -> f64 {
    gamma / libm::sqrt(3.0)
}

/// Chen 2010, section 5.3.1: where `g^2` begins.
pub fn half_way(small: f64, large: f64) -> f64 {
    (small * small + large * large) / 2.0
}

equations! {
    upper_coefficient(gamma) -> h_l = upper_coefficient(gamma);
    half_way(small, large) -> g2 = half_way(small, large);
    moving_average(x, phi_w, square) -> x = moving_average(x, phi_w, square);
    Detector::sample(gamma, h_s, phi1, phi2, q_ref, s2, g2: Option<f64>, q, w) -> s2, g2, k = {
        let mut d = Detector { s2, ..Detector::new(gamma, h_s, phi1, phi2, q_ref) };
        d.g2 = g2.unwrap_or(d.g2);
        let k = d.sample(q, w);
        (d.s2, d.g2, k.unwrap_or(0.0))
    };
}
