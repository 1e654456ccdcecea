//! `include/quell.h` is what cbindgen makes of the sources.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources = ["src/types.rs", "src/lib.rs"].map(|file| root.join(file));
    let builder = cbindgen::Builder::new().with_config(config);
    let bindings = sources.iter().fold(builder, |builder, file| builder.with_src(file)).generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    // Rust's conditions on unsafe functions are said to C by the texts above them.
    let made = without_safety(&String::from_utf8(made).unwrap());
    let path = root.join("include/quell.h");
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "run `QUELL_UPDATE_DOCS=1 cargo test -p quell-capi --test all header::`");
}

/// The header with the heading of each section on safety taken out, and the conditions left.
fn without_safety(header: &str) -> String {
    let mut lines: Vec<&str> = header.lines().collect();
    lines.retain(|line| line.trim() != "// # Safety");
    lines.join("\n") + "\n"
}
