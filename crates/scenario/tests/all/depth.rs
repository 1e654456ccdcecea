//! Nothing that is read is deeper than a stack, however small.

use proptest::prelude::*;
use quell_scenario::{Document, Plugins, Study};

/// Does it in a thread with the stack of a small system: an overflow ends the test's process.
fn with_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap()
}

const FRAME: &str = "schema = 1\nduration = \"4 s\"\nwarmup = \"1 s\"\nseeds = 1\n\
    dumbbell = { rate = \"5 Mbit/s\", delay = \"5 ms\", buffer = \"50 packets\" }\n";
const GOOD: &str = "[[aqm]]\nalgorithm = \"red\"\n[[flows]]\nname = \"ftp\"\ncount = 5\n";

/// The reason why a text is refused, read with a small stack.
fn refused(text: String) -> String {
    with_small_stack(move || match Study::parse(&text, "x.toml", &Plugins::new()) {
        Ok(_) => panic!("accepted"),
        Err(e) => e.to_string(),
    })
}

/// Algorithms of which each needs the next one's parameter; the last has a value, or needs `last`.
fn chain(length: usize, last: &str) -> String {
    let one = |i: usize| {
        let value = if i + 1 == length { last.to_string() } else { format!("\"aqm.a{}.max_p * 1\"", i + 1) };
        format!("[[aqm]]\nalgorithm = \"red\"\nlabel = \"a{i}\"\nmax_p = {value}\n")
    };
    format!("{FRAME}{}[[flows]]\nname = \"ftp\"\n", (0..length).map(one).collect::<String>())
}

#[test]
fn a_chain_of_fields_is_as_long_as_it_likes() {
    let text = chain(3000, "0.25");
    let values = with_small_stack(move || {
        let study = Study::parse(&text, "x.toml", &Plugins::new()).unwrap();
        let max_p = |a: &quell_scenario::format::AqmChoice| a.parameters["max_p"].as_float().unwrap();
        study.points[0].scenario.aqm.iter().map(max_p).collect::<Vec<_>>()
    });
    assert_eq!(values, vec![0.25; 3000]);
}

#[test]
fn a_long_circle_is_named_by_its_ends() {
    let e = refused(chain(3000, "\"2 * aqm.a0.max_p\""));
    let ends = "aqm[0].max_p: depends on itself: aqm[0].max_p -> aqm[1].max_p -> aqm[2].max_p -> aqm[3].max_p -> \
                aqm[4].max_p -> ... -> aqm[2995].max_p";
    assert!(e.contains(&ends.replace("max_p: depends", "max_p = \"aqm.a1.max_p * 1\": depends")), "{e}");
    assert!(e.ends_with("aqm[2999].max_p -> aqm[0].max_p (3000 fields)"), "{e}");
}

#[test]
fn the_name_of_a_field_has_an_end() {
    let long = vec!["a"; 20_000].join(".");
    let rule = " parts, but at most 32 are allowed";
    let key = long.clone();
    let errors = with_small_stack(move || {
        let mut document = Document::parse(&format!("{FRAME}{GOOD}"), "x.toml").unwrap();
        [
            document.set_text(&key, "1").unwrap_err(),
            document.set_text(&format!("dumbbell.{key}"), "1").unwrap_err(),
            document.sweep_text(&format!("{key}=1,2")).unwrap_err(),
            document.sweep_text(&format!("seeds=1,2; {key}=1,2")).unwrap_err(),
            document.sweep(&key, &toml::Value::Array(vec![1.into(), 2.into()])).unwrap_err(),
        ]
        .map(|e| e.to_string())
    });
    for e in errors {
        assert!(e.contains("is not a field") && e.contains(rule), "{e}");
    }
    for tables in [format!("[sweep]\n\"{long}\" = [1, 2]"), format!("[[cases]]\n\"{long}\" = 1")] {
        let e = refused(format!("{FRAME}{GOOD}{tables}\n"));
        assert!(e.contains(rule), "{e}");
    }
    let e = refused(format!(
        "{FRAME}{GOOD}[[aqm]]\nalgorithm = \"red\"\nmax_p = \"2 * a.{}\"\n",
        "b.".repeat(400) + "b"
    ));
    assert!(e.contains("it has 402 parts"), "{e}");
    // As many as are allowed, again and again.
    with_small_stack(|| {
        let mut document = Document::parse(&format!("{FRAME}{GOOD}"), "x.toml").unwrap();
        for last in ["b", "c", "d"] {
            let key = format!("{}.{last}", vec!["a"; 31].join("."));
            document.set_text(&key, &format!("{}1{}", "[".repeat(32), "]".repeat(32))).unwrap();
        }
        assert!(document.study(&Plugins::new()).unwrap_err().to_string().contains("a: unknown key"));
    });
}

#[test]
fn the_value_of_a_field_is_not_nested_deeper_than_a_file_may_be() {
    // Not dropped: that alone would need a stack as deep.
    let nested = |depth: usize| {
        let mut value = toml::Value::Integer(1);
        for i in 0..depth {
            value = match i % 2 {
                0 => toml::Value::Array(vec![value]),
                _ => toml::Value::Table(toml::Table::from_iter([("a".to_string(), value)])),
            };
        }
        std::mem::ManuallyDrop::new(value)
    };
    let deep = nested(100_000);
    with_small_stack(move || {
        let document = || Document::parse(&format!("{FRAME}{GOOD}"), "x.toml").unwrap();
        let table = std::mem::ManuallyDrop::new(toml::Table::from_iter([(
            "aqm".to_string(),
            toml::Value::Integer(1),
        )]));
        assert!(Document::from_table(&table, "table").is_ok());
        let rule = "aqm: is nested more than 32 deep";
        for e in [document().set("aqm", &deep).unwrap_err(), document().sweep("aqm", &deep).unwrap_err()] {
            assert!(e.to_string().ends_with(rule), "{e}");
        }
        let mut table = std::mem::ManuallyDrop::into_inner(table);
        table.insert("aqm".to_string(), std::mem::ManuallyDrop::into_inner(deep));
        let table = std::mem::ManuallyDrop::new(table);
        let e = Document::from_table(&table, "table").unwrap_err();
        assert_eq!(e.to_string(), format!("table: {rule}"));
        // The deepest that is allowed is walked, written and dropped.
        let mut document = document();
        document.set("aqm", &nested(32)).unwrap();
        document.study(&Plugins::new()).unwrap_err();
        assert!(document.set("aqm", &nested(33)).is_err());
    });
}

#[test]
fn a_file_is_not_nested_deeper_than_it_may_be() {
    let nested = |depth: usize| {
        let lists = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let tables = format!("{}1{}", "{a = ".repeat(depth), "}".repeat(depth));
        [lists, tables]
    };
    // As deep as the reader of TOML allows it.
    let keys = vec!["a"; 70].join(".");
    for value in nested(70) {
        for table in
            [format!("[{keys}]\n"), format!("[sweep.{keys}]\n"), "[[aqm]]\nalgorithm = \"my-own\"\n".into()]
        {
            let e = refused(format!("{FRAME}{GOOD}{table}{keys} = {value}\n"));
            assert!(e.contains("tables and lists are nested more than 32 deep"), "{e}");
        }
    }
    for value in nested(30) {
        let e = refused(format!("{FRAME}{GOOD}[a]\na = {value}\n"));
        assert!(e.contains("a: unknown key"), "{e}");
        let e = refused(format!("{FRAME}{GOOD}[sweep]\na = {value}\n"));
        assert!(e.contains("sweep"), "{e}");
        let plugin = "[[aqm]]\nalgorithm = \"my-own\"\n";
        let e = refused(format!(
            "{FRAME}{GOOD}{plugin}b = {}\n",
            &value.replacen("[[", "", 1).replacen("]]", "", 1)
        ));
        assert!(e.contains("algorithm = \"my-own\""), "{e}");
    }
}

/// Brackets, each with a key of many parts in it: the tree is as deep as both together.
#[test]
fn keys_of_many_parts_within_brackets_are_as_deep_as_both() {
    for parts in [4, 30, 79] {
        let key = vec!["a"; parts].join(".");
        for (begin, end) in [("{ KEY = ", " }"), ("[{ KEY = ", " }]")] {
            let value = format!("{}1{}", begin.replace("KEY", &key).repeat(39), end.repeat(39));
            let e = refused(format!("{FRAME}{GOOD}[x]\ny = {value}\n"));
            assert!(e.contains("tables and lists are nested more than 32 deep"), "{e}");
            let (set, swept) = with_small_stack(move || {
                let mut document = Document::parse(&format!("{FRAME}{GOOD}"), "x.toml").unwrap();
                let set = document.set_text("warmup", &value).unwrap_err().to_string();
                (set, document.sweep_text(&format!("warmup={value},1")).unwrap_err().to_string())
            });
            for e in [set, swept] {
                assert!(e.ends_with("warmup: is nested more than 32 deep"), "{e}");
            }
        }
    }
}

/// What texts nest, with its end.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("-", ""),
    ("- ", ""),
    ("-(", ")"),
    ("1 + (", ")"),
    ("2*", ""),
    ("2 * -", ""),
    ("min(", ")"),
    ("max(1, ", ", 2)"),
    ("round(", ", 1)"),
    ("[", "]"),
    ("{ a = ", " }"),
    ("{ a.a.a.a = ", " }"),
    ("[{ a = ", " }]"),
    ("a.", ""),
    ("a[0].", ""),
    ("aqm[0]", "[0]"),
    ("\"", "\""),
    ("1 + ", " - 1"),
    ("2..", ":lin:2"),
    ("\n[a.a]\na = ", ""),
];

fn nested() -> impl Strategy<Value = String> {
    let kinds = prop::collection::vec((0..NESTS.len(), 0..60_usize), 1..4);
    // Some are much deeper than any stack.
    (kinds, prop_oneof![4 => Just(1_usize), 1 => Just(200)], "[1a]").prop_map(|(kinds, times, inner)| {
        let mut text = inner;
        for (kind, depth) in kinds {
            let (begin, end) = NESTS[kind];
            text = format!("{}{text}{}", begin.repeat(depth * times), end.repeat(depth * times));
        }
        text
    })
}

/// For each field the fields after it that it needs, with factors; or their order is the other way round.
fn needs() -> impl Strategy<Value = (Vec<Vec<usize>>, bool)> {
    let all = (1..120_usize).prop_flat_map(|n| {
        let needs = |i: usize| prop::collection::vec(i + 1..n.max(i + 2), 0..4);
        (0..n).map(needs).collect::<Vec<_>>()
    });
    (all, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_nesting_overflows_a_small_stack(value in nested(), key in nested()) {
        with_small_stack(move || {
            let mut document = Document::parse(&format!("{FRAME}{GOOD}"), "x.toml").unwrap();
            let quoted = value.replace(['"', '\n'], "");
            for field in ["warmup", "aqm.red.max_p", "flows.ftp.count", "title", &key] {
                for swept in [false, true] {
                    let mut document = document.clone();
                    let changed = match swept {
                        false => document.set_text(field, &value),
                        true => document.sweep_text(&format!("{field}={value},1")),
                    };
                    if changed.is_ok() {
                        let _ = document.study(&Plugins::new());
                    }
                }
                let key = key.replace('"', "");
                let table = format!("{FRAME}warmup = \"{quoted}\"\n{GOOD}[sweep]\n\"{key}\" = {value}\n");
                let _ = Study::parse(&table, "x.toml", &Plugins::new());
                // One upon the other.
                let _ = document.set_text(field, &value);
            }
            let _ = document.study(&Plugins::new());
        });
    }

    #[test]
    fn fields_have_the_values_of_what_they_need_in_any_order((needs, back) in needs()) {
        let n = needs.len();
        let mut wanted = vec![1.0_f64; n];
        for i in (0..n).rev() {
            // Halves keep the sums short.
            wanted[i] = needs[i].iter().filter(|k| **k < n).fold(1.0, |sum, k| (sum + wanted[*k]) / 2.0);
        }
        let one = |i: usize| {
            let sum = needs[i].iter().filter(|k| **k < n).fold("1 * 1".to_string(), |sum, k| {
                format!("({sum} + aqm.a{k}.max_p) / 2")
            });
            format!("[[aqm]]\nalgorithm = \"red\"\nlabel = \"a{i}\"\nmax_p = \"{sum}\"\n")
        };
        let mut all: Vec<String> = (0..n).map(one).collect();
        if back {
            all.reverse();
        }
        let text = format!("{FRAME}{}[[flows]]\nname = \"ftp\"\n", all.concat());
        let found = with_small_stack(move || {
            let study = Study::parse(&text, "x.toml", &Plugins::new()).map_err(|e| e.to_string())?;
            let value = |a: &quell_scenario::format::AqmChoice| {
                let value = &a.parameters["max_p"];
                value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).unwrap()
            };
            Ok::<_, String>(study.points[0].scenario.aqm.iter().map(value).collect::<Vec<_>>())
        });
        let mut found = found.map_err(TestCaseError::fail)?;
        if back {
            found.reverse();
        }
        for (found, wanted) in found.iter().zip(&wanted) {
            prop_assert!((found - wanted).abs() < 1e-12, "{} {}", found, wanted);
        }
    }
}
