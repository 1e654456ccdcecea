#![no_main]

#[path = "../src/capi.rs"]
mod capi;

libfuzzer_sys::fuzz_target!(|data: &[u8]| capi::capi(data));
