//! R, N and C from a packet capture.
