//! The fuzz target's function on inputs that a plain test run can afford.

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/queue_events.rs"]
mod fuzz;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn queues_survive_any_events(data in prop::collection::vec(any::<u8>(), 0..900)) {
        fuzz::queue_events(&data);
    }
}

#[test]
fn queues_survive_the_corpus() {
    corpus::replay("queue_events", fuzz::queue_events);
}
