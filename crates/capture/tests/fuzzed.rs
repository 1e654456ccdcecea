//! The fuzz target's function on its corpus.

#[path = "../../../fuzz/src/capture.rs"]
mod capture;
#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn the_corpus_of_captures() {
    corpus::replay("capture", capture::capture);
}
