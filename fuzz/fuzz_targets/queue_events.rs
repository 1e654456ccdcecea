#![no_main]

#[path = "../src/queue_events.rs"]
mod queue_events;

libfuzzer_sys::fuzz_target!(|data: &[u8]| queue_events::queue_events(data));
