//! Computes the constants of this router's link.

use std::path::PathBuf;
use std::{env, fs};

use quell_aqm::Link;
use quell_aqm::ared_fixed::AredFixedParams;
use quell_units::{Bytes, QueueSize};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let link = Link {
        rate: "10 Mbit/s".parse().expect("a rate"),
        buffer: QueueSize::Packets(128.0),
        mean_packet: Bytes::new(1000),
    };
    let ared = AredFixedParams::default().constants(&link).expect("the defaults suit the link");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("ared.rs");
    fs::write(out, format!("{{ use quell_aqm::integer::constants::*; {ared:?} }}")).expect("a file in OUT_DIR");
}
