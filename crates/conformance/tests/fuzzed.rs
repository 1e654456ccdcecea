//! The fuzz target's function on its corpus.

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/vectors.rs"]
mod vectors;

#[test]
fn the_corpus_of_vectors() {
    corpus::replay("vectors", vectors::vectors);
}
