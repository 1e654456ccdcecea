//! The fuzz target's function on its corpus.

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/gateway_log.rs"]
mod fuzz;

#[test]
fn the_corpus_of_logs() {
    corpus::replay("gateway_log", fuzz::gateway_log);
}
