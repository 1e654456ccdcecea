#![no_main]

#[path = "../src/link_traces.rs"]
mod link_traces;

libfuzzer_sys::fuzz_target!(|data: &[u8]| link_traces::link_traces(data));
