//! The fuzz target's function on its corpus, and on words of the grammar in any order.

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/tc.rs"]
mod fuzz;

use proptest::prelude::*;

#[test]
fn the_corpus_of_lines() {
    corpus::replay("tc", fuzz::tc);
}

/// The words of the dictionary that the fuzzer has.
fn words() -> Vec<&'static str> {
    include_str!("../../../fuzz/dict/tc.dict").lines().map(|line| line.trim_matches('"')).collect()
}

fn kind() -> impl Strategy<Value = &'static str> {
    let kinds = [
        "fq_codel", "cake", "pie", "dualpi2", "red", "choke", "sfq", "sfb", "codel", "fq_pie", "pfifo",
        "bfifo",
    ];
    proptest::sample::select(kinds.to_vec())
}

proptest! {
    #[test]
    fn words_with_values_of_any_size(kind in kind(), words in proptest::collection::vec(
        (proptest::sample::select(words()), prop_oneof![Just(String::new()), (0..3_u64).prop_map(|n| n.to_string()),
            (0..5_000_000_000_u64).prop_map(|n| n.to_string()), (0..5_000_u32, proptest::sample::select(vec!["ms", "kb",
            "mbit", "%", "p", "us", "s"])).prop_map(|(n, unit)| format!("{n}{unit}")),
            Just("0.3".to_string())]), 0..8)) {
        let words: Vec<String> = words.iter().map(|(word, value)| format!("{word} {value}")).collect();
        fuzz::tc(format!("{kind} {}", words.join(" ")).as_bytes());
    }
}
