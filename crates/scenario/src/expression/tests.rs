use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Result<String, String> {
    let none = |name: &str| Err(format!("{name} is not known"));
    let amount = read(text).ok_or("plain")??.value::<String>(&mut |name| none(name))?;
    Ok(amount.rounded(DIGITS).to_string())
}

#[test]
fn known_values() {
    for (text, wanted) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 3 - 2", "5"),
        ("12/3/2", "2"),
        ("2*-3", "-6"),
        ("--2 * 1", "2"),
        ("0.2 * 100 packets", "20 packets"),
        ("0.07 * 100 packets", "7 packets"),
        ("100 packets / 20 packets", "5"),
        ("max(5 ms, 2 * 10 ms)", "20 ms"),
        ("min(3, 2, 4)", "2"),
        ("min(1 s)", "1 s"),
        ("10 Mbit/s * 100 ms", "125 kB"),
        ("10Mbit/s*100ms", "125 kB"),
        ("125 kB / 100 ms", "10 Mbit/s"),
        ("125 kB / 10 Mbit/s", "100 ms"),
        ("1 packet * 10 Mbit/s * 100 ms / 1000 B", "125 packets"),
        ("10 Mbit/s / 2", "5 Mbit/s"),
        ("round(7 / 2)", "4"),
        ("round(10 packets / 3)", "3 packets"),
        ("round(10 ms / 3, 1 ms)", "3 ms"),
        ("round(17, 5)", "15"),
        ("1e3 * 1", "1000"),
        ("1e-1*1", "0.1"),
        ("0.1 + 0.2", "0.3"),
        ("1 min + 30 s", "90 s"),
        ("1 KiB * 2", "2048 B"),
        ("5 ms * 5 ms", "2.5e-5 s^2"),
        ("1 / 20 packets", "0.05 1/packet"),
        ("-(5 ms)", "-5 ms"),
    ] {
        assert_eq!(value(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn a_wrong_expression_says_what_is_wrong() {
    for (text, wanted) in [
        ("5 ms + 3 packets", "cannot add 5 ms and 3 packets: a time and packets are different units"),
        ("1 + 3 packets", "cannot add 1 and 3 packets: a plain number and packets"),
        ("5 packets - 5 kB", "cannot take the difference of 5 packets and 5 kB: packets and bytes"),
        ("max(5 ms, 1 Mbit/s)", "cannot compare 5 ms and 1 Mbit/s: a time and a rate"),
        ("round(5 ms)", "cannot round 5 ms without a step, as in round(x, 1 ms)"),
        ("round(5 ms, 2)", "cannot round 5 ms and 2"),
        ("round(5, 0)", "must round to a positive step"),
        ("round(1, 2, 3)", "gives round more than a value and a step"),
        ("1 / (2 - 2)", "divides by 0"),
        ("1e300 * 1e300", "is out of range"),
        ("2 *", "needs a number or a field at its end"),
        ("* 2", "needs a number or a field before \"* 2\""),
        ("2 ** 3", "needs a number or a field before \"* 3\""),
        ("(1 + 2", "lacks a \")\""),
        ("max(1, 2", "lacks a \")\""),
        ("max(1 2)", "needs an operator (+ - * /) or a \")\" before \"2)\""),
        ("1 * 2)", "has a \")\" without its \"(\""),
        ("2 * (3) 4", "needs an operator (+ - * /) before \"4\""),
        ("2 * 5 apples", "\"apples\" is not a unit"),
        ("2 * 1e300 s", "\"1e300 s\" is out of range"),
        ("sqrt(2)", "\"sqrt\" is not a function: must be min, max or round"),
        ("2 * 3 -1", "needs spaces on both sides of \"-\""),
        ("2 * 3+ 1", "needs spaces on both sides of \"+\""),
        ("2 * 1.2.3", "\"1.2.3\" is not a number"),
        ("max()", "needs a number or a field before \")\""),
    ] {
        let e = value(text).unwrap_err();
        assert!(e.contains(wanted), "{text}: {e}");
    }
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    assert!(value(&deep).unwrap_err().contains("nested more than 50 deep"));
    assert!(value(&"-".repeat(900)).is_err());
    let long = format!("1{}", " + 1".repeat(300));
    assert!(value(&long).unwrap_err().contains("has 1201 characters: at most 1000"));
}

#[test]
fn what_is_plain_stays_plain() {
    for text in [
        "",
        " ",
        "auto",
        "none",
        "all",
        "by-size",
        "link-rate",
        "5 ms",
        "5ms",
        "+5 ms",
        "-5 ms",
        "1e3 s",
        "1e-3 s",
        "10 Mbit/s",
        "10Mb/s",
        "10 MB/s",
        "3 foo/bar",
        "50 packets",
        "1.5 kB",
        "1 KiB",
        "5",
        "-5",
        "1e9",
        "nan",
        "inf",
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "5 parsec",
        "red+tail",
        "fq-codel",
        "x",
        "sack",
        "1..5:lin:3",
        "5 ms..50 ms:log:4",
        "two words",
        ".",
        "...",
        "a..b",
        "-",
        "+",
        "5 µs",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    for text in [
        "2 * 3",
        "2*3",
        "a.b",
        "aqm[0]",
        "(5 ms)",
        "duration / 2",
        "duration/2",
        "warmup - 1 s",
        "max(1, 2)",
        "10/2",
        "1 + 1",
    ] {
        assert!(read(text).is_some(), "{text}");
    }
}

/// A scenario with one line replaced, and the value of a field.
fn with(lines: &str) -> Node {
    let text = format!(
        "schema = 1\nduration = \"10 s\"\n{lines}\n[[aqm]]\nalgorithm = \"red\"\nmin_th = \"20 packets\"\n\
         [[flows]]\nname = \"web-1\"\ncount = 3\nrtt = {{ uniform = [\"50 ms\", \"100 ms\"] }}\n"
    );
    Node::parse(&text).unwrap()
}

fn outcome(lines: &str, field: &str) -> Result<String, String> {
    let mut tree = with(lines);
    let set = |tree: &mut Node, field: &str, text: &str| {
        let path = resolve(tree, field).unwrap();
        assign(tree, &path, Node { value: Value::String(text.into()), span: None });
    };
    let (lines, more) = match field.split_once('=') {
        Some((name, text)) => (name, Some(text)),
        None => (field, None),
    };
    if let Some(text) = more {
        set(&mut tree, lines.trim(), text.trim());
    }
    evaluate(&mut tree).map_err(|p| format!("{}: {}", p.path, p.rule))?;
    let path = resolve(&tree, lines.trim()).unwrap();
    Ok(tree.at(&path).unwrap().show())
}

const DUMBBELL: &str = "[dumbbell]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"100 packets\"";

#[test]
fn fields_are_computed_from_fields() {
    for (set, wanted) in [
        ("aqm.red.max_th = 0.2 * dumbbell.buffer", "\"20 packets\""),
        ("aqm.red.max_th = 3 * aqm.red.min_th", "\"60 packets\""),
        ("aqm.red.max_th = dumbbell.buffer", "\"100 packets\""),
        ("aqm[0].max_p = 1 / dumbbell.buffer * 1 packet", "0.01"),
        ("flows.web-1.count = round(dumbbell.rate / 3 Mbit/s)", "3"),
        ("flows.web-1.count = 2 * flows[0].rtt.uniform[1] / 50 ms", "4"),
        ("flows.web-1.rtt = max(5 ms, 2 * dumbbell.delay)", "\"20 ms\""),
        ("dumbbell.reverse.buffer = dumbbell.rate * 100 ms", "\"125 kB\""),
        ("warmup = duration / 5", "\"2 s\""),
        // Defaults: of the file, of TCP, of the algorithm.
        ("warmup = series_step * 10", "\"200 ms\""),
        (
            "dumbbell.reverse.buffer = 1 packet * dumbbell.rate * 100 ms / mean_packet",
            "\"120.192307692308 packets\"",
        ),
        ("dumbbell.buffer = 1 packet * dumbbell.rate * 100 ms / mean_packet", "\"120.192307692308 packets\""),
        ("aqm.red.max_p = 2 * aqm.red.weight", "0.004"),
        ("dumbbell.loss = flows.web-1.precedence * 0.1", "0"),
    ] {
        let found = outcome(DUMBBELL, set);
        // The default weight and packet are those of the code.
        let wanted = match set {
            s if s.contains("weight") || s.contains("mean_packet") => {
                assert!(found.is_ok(), "{set}: {found:?}");
                continue;
            }
            _ => Ok(wanted.to_string()),
        };
        assert_eq!(found, wanted, "{set}");
    }
    // In a chain, whatever the order.
    let chain = "warmup = \"2 * series_step\"\nseries_step = \"mean_packet * 8 / (10 * dumbbell.rate)\"\nmean_packet = \"500 B\"\n";
    assert_eq!(outcome(&format!("{chain}{DUMBBELL}"), "warmup"), Ok("\"640 us\"".into()));
}

#[test]
fn what_cannot_be_computed_says_why() {
    for (lines, set, wanted) in [
        (
            "",
            "aqm.red.max_th = 2 * aqm.read.min_th",
            "aqm[0].max_th: \"aqm.read.min_th\" is not a field: nothing there is called \"read\"",
        ),
        (
            "",
            "aqm.red.max_th = 2 * dumbbell.bufer",
            "aqm[0].max_th: needs the value of dumbbell.bufer, but that field does not exist",
        ),
        (
            "",
            "aqm.red.max_th = 2 * aqm.red.algorithm",
            "needs a number or a quantity, but aqm.red.algorithm is \"red\"",
        ),
        (
            "",
            "aqm.red.max_th = 2 * flows.web-1.rtt",
            "needs a number or a quantity, but flows.web-1.rtt is { uniform",
        ),
        (
            "",
            "aqm.red.max_th = dumbbell.buffer + dumbbell.delay",
            "aqm[0].max_th: cannot add 100 packets and 10 ms: packets and a time are different units",
        ),
        (
            "",
            "aqm.red.max_th = 2 * aqm.red.max_th",
            "aqm[0].max_th: depends on itself: aqm[0].max_th -> aqm[0].max_th",
        ),
        (
            "warmup = \"0.1 * series_step\"",
            "series_step = 2 * warmup",
            "warmup: depends on itself: warmup -> series_step -> warmup",
        ),
        (
            "",
            "duration = 1000 * series_step",
            "duration: depends on itself through the default of series_step; give series_step a value",
        ),
        ("", "dumbbell.delay = dumbbell.delay * 2", "depends on itself"),
        (
            "",
            "warmup = 2 * flows.web-1.stop",
            "needs the value of flows.web-1.stop, but the file does not set it, and it has no default that is known here; give flows.web-1.stop a value",
        ),
        (
            "",
            "warmup = 1 s * dumbbell.access_rate / dumbbell.reverse.rate",
            "needs the value of dumbbell.reverse.rate",
        ),
        ("", "warmup = 5 s - duration", "warmup: is -5 s: a time must not be negative here"),
        ("", "warmup = duration * duration", "warmup: is measured in s^2, which no field takes"),
        ("", "warmup = 2 * (duration", "warmup: not an expression: lacks a \")\""),
        ("", "warmup = 2 * flows.web-1.count- 1", "needs spaces on both sides of \"-\""),
        (
            "",
            "warmup = 2 * duration-1",
            "needs the value of duration-1, but that field does not exist; + and - need spaces around them",
        ),
    ] {
        let lines = if lines.is_empty() { DUMBBELL.to_string() } else { format!("{lines}\n{DUMBBELL}") };
        let e = outcome(&lines, set).unwrap_err();
        assert!(e.contains(wanted), "{set}:\n  {e}\nnot\n  {wanted}");
    }
}

/// What is wrong with a field is said of the field, not of the expression that needs it.
#[test]
fn a_field_that_is_not_read_is_named() {
    for (right, wrong, set, wanted) in [
        (
            "10 Mbit/s",
            "20 MB/s",
            "warmup = 1 packet / dumbbell.rate",
            "dumbbell.rate: \"20 MB/s\" is not a rate",
        ),
        ("10 ms", "10 msec", "warmup = 2 * dumbbell.delay", "dumbbell.delay: \"10 msec\" is not a time"),
        ("100 packets", "100 pkts", "aqm.red.max_th = dumbbell.buffer", "write \"100 packets\""),
    ] {
        let e = outcome(&DUMBBELL.replace(right, wrong), set).unwrap_err();
        assert!(e.contains(wanted), "{wrong}:\n  {e}\nnot\n  {wanted}");
    }
}

#[test]
fn text_stays_text() {
    let text = "schema = 1\ntitle = \"2 * 3\"\ndescription = \"a.b\"\n[[aqm]]\nalgorithm = \"red\"\nlabel = \"1 + 1\"\n\
                [[aqm]]\nalgorithm = \"my-own\"\nrule = \"max(a.b, 2)\"\n[[flows]]\nname = \"a.b\"\nclass = \"x * y\"\n";
    let mut tree = Node::parse(text).unwrap();
    let before = tree.clone();
    assert_eq!(evaluate(&mut tree).map(|found| found.len()).unwrap(), 0);
    assert_eq!(tree, before);
}

/// Every text field of the format is known to be one, and no name that a field takes looks like an expression.
#[test]
fn the_texts_of_the_format_are_known() {
    fn walk(schema: &serde_json::Value, key: &str, texts: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(object) => {
                let string =
                    object.get("type").is_some_and(|t| t == "string" || t.to_string().contains("\"string\""));
                if string
                    && !object.contains_key("pattern")
                    && !object.contains_key("enum")
                    && !object.contains_key("const")
                {
                    texts.push(key.to_string());
                }
                let names = object.get("enum").and_then(|e| e.as_array()).into_iter().flatten();
                // What the field `dialect` takes is never read as an expression.
                let dialect = |name: &&str| crate::dialect::Dialect::ALL.iter().any(|d| d.name() == *name);
                let names = names.chain(object.get("const")).filter_map(|v| v.as_str());
                for name in names.filter(|name| !dialect(name)) {
                    assert_eq!(read(name), None, "{name}");
                }
                for (inner, value) in object {
                    match (inner.as_str(), value) {
                        ("properties" | "$defs", serde_json::Value::Object(fields)) => {
                            fields.iter().for_each(|(name, field)| walk(field, name, texts));
                        }
                        _ => walk(value, key, texts),
                    }
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, key, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    walk(&Scenario::json_schema(), "", &mut texts);
    // Where the schema describes what the field `changes` may be.
    texts.iter_mut().filter(|key| ["Change", "Changes"].contains(&key.as_str())).for_each(|key| {
        *key = "changes".to_string();
    });
    texts.sort();
    texts.dedup();
    let mut known = [TEXTS, &[FILE]].concat();
    known.sort_unstable();
    // The names of algorithms and dialects are constants of the schema; those of a sender's parts are not in it.
    let of_sender = |key: &str| quell_tcp::catalog::of_key(key).next().is_some();
    known.retain(|key| !["algorithm", "dialect"].contains(key) && !of_sender(key));
    assert_eq!(texts, known);
    // What algorithms have has no type in the schema, but a unit; no parameter is a text of the user's.
    for entry in catalog::CATALOG {
        for doc in (entry.params)() {
            assert!(!TEXTS.contains(&doc.name), "{}.{}", entry.name, doc.name);
            assert_eq!(read(&doc.default), None, "{}.{}", entry.name, doc.name);
        }
    }
}

/// An expression by other means: as it is written, and its value.
#[derive(Clone, Debug)]
enum Tree {
    Amount(u32, usize),
    Negative(Box<Tree>),
    Binary(char, Box<Tree>, Box<Tree>),
    Call(&'static str, Vec<Tree>),
}

/// Units with what one of them is in seconds, bits or packets, and the exponents of these.
const UNITS: &[(&str, f64, [i32; 3])] = &[
    ("", 1.0, [0, 0, 0]),
    (" ms", 1e-3, [1, 0, 0]),
    (" s", 1.0, [1, 0, 0]),
    (" Mbit/s", 1e6, [-1, 1, 0]),
    ("kB", 8e3, [0, 1, 0]),
    (" packets", 1.0, [0, 0, 1]),
];

impl Tree {
    fn rank(&self) -> u8 {
        match self {
            Tree::Binary('+' | '-', ..) => 0,
            Tree::Binary(..) => 1,
            _ => 2,
        }
    }

    /// With no more parentheses than it needs.
    fn write(&self) -> String {
        let within = |tree: &Tree, least: u8| match tree.write() {
            text if tree.rank() < least => format!("({text})"),
            text => text,
        };
        match self {
            Tree::Amount(n, unit) => format!("{n}{}", UNITS[*unit].0),
            Tree::Negative(inner) => format!("-{}", within(inner, 2)),
            Tree::Binary(sign, a, b) => {
                let rank = self.rank();
                let space = if rank == 0 { " " } else { "" };
                format!("{}{space}{sign}{space}{}", within(a, rank), within(b, rank + 1))
            }
            Tree::Call(name, arguments) => {
                format!("{name}({})", arguments.iter().map(Tree::write).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn value(&self) -> Option<(f64, [i32; 3])> {
        let found = match self {
            Tree::Amount(n, unit) => {
                let (_, factor, exponents) = UNITS[*unit];
                let n = f64::from(*n);
                (if factor < 1.0 { n / (1.0 / factor) } else { n * factor }, exponents)
            }
            Tree::Negative(inner) => {
                let (x, unit) = inner.value()?;
                (-x, unit)
            }
            Tree::Binary(sign, a, b) => {
                let ((x, p), (y, q)) = (a.value()?, b.value()?);
                let combined = |s: i32| [0, 1, 2].map(|i| p[i] + s * q[i]);
                match sign {
                    '+' if p == q => (x + y, p),
                    '-' if p == q => (x - y, p),
                    '*' => (x * y, combined(1)),
                    '/' if y != 0.0 => (x / y, combined(-1)),
                    _ => return None,
                }
            }
            Tree::Call("round", arguments) => {
                let (x, unit) = arguments[0].value()?;
                if ![[0, 0, 0], [0, 0, 1]].contains(&unit) {
                    return None;
                }
                (x.round(), unit)
            }
            Tree::Call(name, arguments) => {
                let values = arguments.iter().map(Tree::value).collect::<Option<Vec<_>>>()?;
                let (_, unit) = values[0];
                if values.iter().any(|v| v.1 != unit) {
                    return None;
                }
                let each = values.iter().map(|v| v.0);
                let best = if *name == "min" { each.reduce(f64::min) } else { each.reduce(f64::max) };
                (best?, unit)
            }
        };
        found.0.is_finite().then_some(found)
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (0..1000u32, 0..UNITS.len()).prop_map(|(n, unit)| Tree::Amount(n, unit));
    leaf.prop_recursive(5, 24, 3, |inner| {
        let sign = prop::sample::select(vec!['+', '-', '*', '/']);
        prop_oneof![
            4 => (sign, inner.clone(), inner.clone()).prop_map(|(s, a, b)| Tree::Binary(s, a.into(), b.into())),
            1 => inner.clone().prop_map(|a| Tree::Negative(a.into())),
            1 => (prop::sample::select(vec!["min", "max"]), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(name, arguments)| Tree::Call(name, arguments)),
            1 => inner.prop_map(|a| Tree::Call("round", vec![a])),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn expressions_have_the_value_of_the_reference(tree in trees()) {
        let text = tree.write();
        let Some(read) = read(&text) else {
            // A number or a quantity alone, with a sign perhaps.
            prop_assert!(!text.contains(['*', '(']), "{}", text);
            return Ok(());
        };
        let read = read.map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        let found = read.value::<String>(&mut |_| Err(String::new()));
        match (found, tree.value()) {
            (Ok(amount), Some((x, _))) => {
                let close = amount.value == x || (amount.value - x).abs() <= 1e-12 * x.abs();
                prop_assert!(close, "{} is {:?}, not {}", text, amount, x);
            }
            (Err(_), None) => {}
            (found, wanted) => prop_assert!(false, "{}: {:?}, not {:?}", text, found, wanted),
        }
    }

    #[test]
    fn no_text_breaks_the_parser(any in ".{0,60}", alike in "[-0-9.a-z_ +*/()\\[\\],µ]{0,60}") {
        for text in [any, alike] {
            let _ = value(&text);
        }
    }

    #[test]
    fn quantities_that_are_valid_are_no_expressions(n in 0.0..1e9_f64, unit in 0..UNITS.len(), sign in "[+]?") {
        let text = format!("{sign}{n}{}", UNITS[unit].0);
        prop_assert_eq!(read(&text), None);
    }
}
