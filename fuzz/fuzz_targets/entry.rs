#![no_main]

#[path = "../src/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entry::entry(data));
