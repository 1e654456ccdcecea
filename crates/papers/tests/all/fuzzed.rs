//! The fuzz target's function on its corpus.

#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../../fuzz/src/papers.rs"]
mod fuzz;

#[test]
fn the_corpus_of_documents() {
    corpus::replay("papers", fuzz::papers);
}
