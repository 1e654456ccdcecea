//! The fuzz target's function on its corpus.

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/capi.rs"]
mod fuzz;

#[test]
fn the_corpus_of_calls() {
    corpus::replay("capi", fuzz::capi);
}
