//! Circles of files.
//!
//! An arrow runs from a file to each file that defines a name it takes, whether by an import or by a path in code,
//! in types and in macros (see `names`); also from a module to its parts, and from a part to its module. A module's
//! declaration is not an arrow, nor is an import of a whole module: the names then taken out of it are. A re-export
//! is not an arrow either, in `lib.rs` and `mod.rs` as elsewhere: who takes a re-exported name depends on the file
//! that defines it.
//!
//! Names are seen, not types: a method has no arrow to the file of the `impl` that has it. A type's methods may lie in
//! files of their own, which take the type from its file (`crates/tcp/src/sender`).

use crate::names::{Arrows, arrows};
use crate::tree::crates;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

#[test]
fn no_circle_of_files() {
    let mut wrong = String::new();
    for krate in crates() {
        let arrows = arrows(&krate.files);
        for circle in &circles(&arrows) {
            let _ = writeln!(
                wrong,
                "crates/{}: {} files in a circle; the shortest way round:",
                krate.name,
                circle.len()
            );
            for step in shortest(&arrows, circle) {
                let names: Vec<&str> = arrows[&step].iter().map(String::as_str).collect();
                let (from, to) = (&krate.files[step.0].0, &krate.files[step.1].0);
                let _ = writeln!(wrong, "  {}{from} -> {to}: {}", krate.source, names.join(", "));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn commands_import_no_other_command() {
    let cli = crates().into_iter().find(|krate| krate.name == "cli").expect("the command is in crates/cli");
    let command = |file: usize| {
        let inside = cli.files[file].0.strip_prefix("commands/")?;
        inside.split(['/', '.']).next().filter(|name| *name != "mod")
    };
    let mut wrong = String::new();
    for ((from, to), names) in arrows(&cli.files) {
        if let (Some(of), Some(other)) = (command(from), command(to))
            && of != other
        {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(wrong, "  {} -> {}: {}", cli.files[from].0, cli.files[to].0, names.join(", "));
        }
    }
    assert!(wrong.is_empty(), "commands of crates/cli that import another one:\n{wrong}");
}

/// The sets of files that reach each other.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<usize>> {
    let mut reached: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &(from, _) in arrows.keys() {
        reached.entry(from).or_insert_with(|| distances(arrows, from).into_keys().collect());
    }
    let mut circles: Vec<BTreeSet<usize>> = Vec::new();
    for (&file, to) in &reached {
        if to.contains(&file) && !circles.iter().any(|circle| circle.contains(&file)) {
            circles.push(
                to.iter()
                    .copied()
                    .filter(|other| reached.get(other).is_some_and(|to| to.contains(&file)))
                    .collect(),
            );
        }
    }
    circles
}

/// The files that `start` reaches, with the file before each on a shortest way.
fn distances(arrows: &Arrows, start: usize) -> BTreeMap<usize, usize> {
    let mut before = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(from) = next.pop_front() {
        for &(_, to) in arrows.range((from, 0)..(from + 1, 0)).map(|(step, _)| step) {
            before.entry(to).or_insert_with(|| {
                next.push_back(to);
                from
            });
        }
    }
    before
}

/// The steps of a shortest way round in a circle.
fn shortest(arrows: &Arrows, circle: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    let around = |start: usize| {
        let before = distances(arrows, start);
        let mut steps = vec![(before[&start], start)];
        while steps[0].0 != start {
            steps.insert(0, (before[&steps[0].0], steps[0].0));
        }
        steps
    };
    circle.iter().map(|&file| around(file)).min_by_key(Vec::len).expect("a circle has files")
}

/// The judge itself: its arrows between small files.
#[test]
fn arrows_follow_names_to_their_files() {
    let files = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
    };
    let said = |texts: &[(&str, &str)]| -> Vec<String> {
        let files = files(texts);
        let said = |((from, to), names): (_, BTreeSet<String>)| {
            let (from, to): (usize, usize) = (from, to);
            format!("{} {} {}", files[from].0, files[to].0, names.into_iter().collect::<Vec<_>>().join(" "))
        };
        arrows(&files).into_iter().map(said).collect()
    };
    // Re-exports, renames, groups and globs are followed; neither a declaration nor a re-export is an arrow.
    let names =
        ("lib.rs", "mod a; pub mod b; pub use a::{A, f as g}; pub(crate) mod c { pub use crate::b::*; }");
    let a = ("a.rs", "pub struct A; pub fn f() {} #[cfg(test)] mod tests { use crate::b::B; }");
    assert_eq!(
        said(&[
            names,
            a,
            ("b.rs", "use crate::{A, g}; pub enum B { X }"),
            ("d.rs", "fn d() { super::c::B::X; }")
        ]),
        ["b.rs a.rs A g", "d.rs b.rs B"]
    );
    assert_eq!(said(&[names, a, ("b.rs", "use super::a; pub struct B(a::A);")]), ["b.rs a.rs A"]);
    assert_eq!(said(&[names, a, ("b.rs", "use crate::a; pub struct B;")]), [""; 0]);
    assert_eq!(said(&[names, a, ("b.rs", "use crate::*; pub fn b(_: A) {}")]), ["b.rs a.rs A"]);
    // Macros: their names, what is in their arguments and in their bodies, and what they make.
    let made = (
        "a.rs",
        "macro_rules! make { ($n:ident) => { struct $n($crate::b::B); } } pub(crate) use make; make!(A);",
    );
    assert_eq!(
        said(&[
            ("lib.rs", "mod a; mod b;"),
            made,
            ("b.rs", "crate::a::make!(C); pub struct B(vec![super::a::A]);")
        ]),
        ["a.rs b.rs B", "b.rs a.rs A make"]
    );
    // What is for tests only.
    let tests = ("a/tests.rs", "use crate::b::B;");
    assert_eq!(
        said(&[("lib.rs", "mod a; mod b;"), ("a.rs", "#[cfg(test)] mod tests;"), ("b.rs", ""), tests]),
        [""; 0]
    );
    // A circle, and the shortest way round it.
    let round = files(&[
        ("a.rs", "use crate::b::B; use crate::c::C; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
        ("lib.rs", ""),
    ]);
    let arrows = arrows(&round);
    assert_eq!(circles(&arrows), [BTreeSet::from([0, 1, 2])]);
    assert_eq!(shortest(&arrows, &circles(&arrows)[0]), [(0, 2), (2, 0)]);
}
