//! The map behind ARED with dynamic thresholds (redtail VI).
