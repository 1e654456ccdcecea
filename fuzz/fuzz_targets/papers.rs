#![no_main]

#[path = "../src/papers.rs"]
mod papers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| papers::papers(data));
