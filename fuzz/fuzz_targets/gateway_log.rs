#![no_main]

#[path = "../src/gateway_log.rs"]
mod gateway_log;

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateway_log::gateway_log(data));
