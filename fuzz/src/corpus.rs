//! The corpus, which the tests of the crates replay.

use std::path::Path;

/// Runs a target on every input of `fuzz/corpus/NAME`; the last one that is printed is the one that fails.
pub fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let files = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a folder can be read").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds nothing", folder.display());
    for file in files {
        println!("{}", file.display());
        target(&std::fs::read(&file).expect("a file can be read"));
    }
}
