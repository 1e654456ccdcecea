#![no_main]

#[path = "../src/scenario.rs"]
mod scenario;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scenario::scenario(data));
