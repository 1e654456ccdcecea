#![no_main]

#[path = "../src/vectors.rs"]
mod vectors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| vectors::vectors(data));
