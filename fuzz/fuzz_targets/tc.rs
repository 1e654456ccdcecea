#![no_main]

#[path = "../src/tc.rs"]
mod tc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tc::tc(data));
