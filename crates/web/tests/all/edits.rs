//! Changes in texts keep what they do not change.

use proptest::prelude::*;
use serde_json::{Value, json};
use toml_parser::lexer::TokenKind;

use crate::{answer, ok, scenarios};

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let tokens = toml_parser::Source::new(text).lex();
    let of = |token: toml_parser::lexer::Token| {
        (token.kind() == TokenKind::Comment)
            .then(|| text[token.span().start()..token.span().end()].to_string())
    };
    tokens.filter_map(of).collect()
}

/// A value in a tree, by the steps of a path without odd keys.
fn at<'a>(tree: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut node = tree;
    for part in path.split('.') {
        let mut parts = part.split('[');
        let key = parts.next()?;
        node = node.get_mut(key)?;
        for index in parts {
            node = node.get_mut(index.trim_end_matches(']').parse::<usize>().ok()?)?;
        }
    }
    Some(node)
}

fn tree(lab: &mut quell_web::Lab, text: &str) -> Value {
    ok(lab, &json!({ "do": "tree", "text": text }))
}

fn edited(lab: &mut quell_web::Lab, text: &str, path: &str, value: Option<&str>) -> String {
    let edit = json!({ "do": "edit", "text": text, "edits": [{ "path": path, "value": value }] });
    ok(lab, &edit)["text"].as_str().unwrap().to_string()
}

/// The values of each file that are tried, roughly: there are many files, and values of one are alike.
const SOME: usize = 8;

/// The paths of plain values and of what holds some.
fn paths(tree: &Value) -> Vec<(String, String)> {
    let places = tree["places"].as_object().unwrap();
    let all = places.iter().filter(|(path, _)| !path.contains('"'));
    all.map(|(path, place)| (path.clone(), place["form"].as_str().unwrap().to_string())).collect()
}

/// Each plain value of each scenario, changed and removed: the tree has that change and no other.
#[test]
fn every_value_of_every_scenario_can_be_changed_alone() {
    let mut lab = quell_web::Lab::default();
    let mut changed = 0;
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        let all = paths(&before);
        for (path, form) in all.iter().step_by(1 + all.len() / SOME) {
            let value = match form.as_str() {
                "array" | "table" => continue,
                "string" => json!("other \"words\" µ \\"),
                "integer" => json!(-7),
                "float" => json!(0.125),
                _ => json!(false),
            };
            let after = edited(&mut lab, &text, path, Some(&value.to_string()));
            let mut want = before["value"].clone();
            *at(&mut want, path).unwrap() = value;
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {path}");
            assert_eq!(comments(&after), comments(&text), "{name}: {path}");
            let back = slice(&before, &text, path);
            let lines = text.lines().count() + 1 - back.lines().count();
            assert_eq!(after.lines().count(), lines, "{name}: {path}");
            assert_eq!(edited(&mut lab, &after, path, Some(&back)), text, "{name}: {path}");
            changed += 1;
        }
    }
    assert!(changed > 400, "{changed}");
}

/// A value as the text has it.
fn slice(tree: &Value, text: &str, path: &str) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let range = &tree["places"][path]["value"];
    let [from, to] = [0, 1].map(|i| range[i].as_u64().unwrap() as usize);
    String::from_utf16(&units[from..to]).unwrap()
}

/// Removing takes the value and the comments on it; the words at the head of a file stay.
#[test]
fn what_is_removed_is_gone_and_nothing_else() {
    let mut lab = quell_web::Lab::default();
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        let all = paths(&before);
        for (path, form) in all.iter().step_by(1 + all.len() / SOME).filter(|(path, _)| !path.ends_with(']'))
        {
            if form == "table" && path.contains('.') {
                continue;
            }
            let after = edited(&mut lab, &text, path, None);
            let mut want = before["value"].clone();
            let (holder, key) = path.rsplit_once('.').unwrap_or(("", path));
            let holder = if holder.is_empty() { Some(&mut want) } else { at(&mut want, holder) };
            holder.unwrap().as_object_mut().unwrap().remove(key);
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {path}");
            let all = comments(&text);
            assert!(comments(&after).iter().all(|comment| all.contains(comment)), "{name}: {path}");
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
            assert!(after.starts_with(&head.join("\n")), "{name}: {path}: {after}");
        }
    }
}

/// Items of lists come, go and move, whichever way the list is written.
#[test]
fn lists_grow_and_move() {
    let mut lab = quell_web::Lab::default();
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        for list in ["flows", "aqm"] {
            let Some(items) = before["value"][list].as_array() else { continue };
            let new = "{ name = \"another\", algorithm = \"red\" }";
            let after = edited(&mut lab, &text, &format!("{list}[+]"), Some(new));
            let mut want = before["value"].clone();
            let item = json!({ "name": "another", "algorithm": "red" });
            want[list].as_array_mut().unwrap().push(item);
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {list}");
            assert_eq!(comments(&after), comments(&text), "{name}: {list}");
            let last = items.len();
            let moved = json!([{ "path": format!("{list}[{last}]"), "value": null, "to": 0 }]);
            let moved = ok(&mut lab, &json!({ "do": "edit", "text": after, "edits": moved }));
            let array = want[list].as_array_mut().unwrap();
            let item = array.pop().unwrap();
            array.insert(0, item);
            assert_eq!(tree(&mut lab, moved["text"].as_str().unwrap())["value"], want, "{name}: {list}");
            let gone = edited(&mut lab, &after, &format!("{list}[{last}]"), None);
            assert_eq!(tree(&mut lab, &gone)["value"], before["value"], "{name}: {list}");
        }
    }
}

/// Lines with their ends, however they end.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Whether a text has the lines of another, but for those of a range.
fn has_the_rest(after: &str, lines: &[&str], range: std::ops::Range<usize>) -> bool {
    let (above, below) = (lines[..range.start].concat(), lines[range.end..].concat());
    // The last line of a text without an end has none.
    let is_above = after.starts_with(&above) || above.trim_end() == after;
    is_above && after.ends_with(&below) && after.len() + 2 >= above.len() + below.len()
}

/// Each value of each scenario, set and removed, in files with other ends of lines and a byte order mark, too: only the
/// lines of that value change. Where it is removed, these are the comments right above it and an empty line, too.
#[test]
fn an_edit_changes_the_lines_of_its_key_alone() {
    let mut lab = quell_web::Lab::default();
    let mut tried = 0;
    for (number, (name, text)) in scenarios().into_iter().enumerate() {
        let all = tree(&mut lab, &text);
        let all = all["places"].as_object().unwrap();
        for (at, (path, _)) in all.iter().enumerate().skip(number % EVERY).step_by(EVERY) {
            let text = match (at / EVERY) % 3 {
                0 => text.clone(),
                1 => text.replace('\n', "\r\n"),
                _ => format!("\u{feff}{}", text.replace('\n', "\r\n").trim_end()),
            };
            let before = tree(&mut lab, &text);
            let ends: Vec<u64> =
                (0..).zip(text.encode_utf16()).filter(|(_, unit)| *unit == 10).map(|(at, _)| at).collect();
            let line = |unit: u64| ends.partition_point(|end| *end < unit);
            let place = |path: &str| {
                let place = &before["places"][path];
                let end = place["value"][1].as_u64().unwrap();
                (place["line"].as_u64().unwrap() as usize - 1, line(end.saturating_sub(1)))
            };
            let (first, last) = place(path);
            let old = lines(&text);

            if before["places"][path]["form"] != "table" && !old[first].trim_start().starts_with('[') {
                let after = edited(&mut lab, &text, path, Some("\"another\""));
                assert!(has_the_rest(&after, &old, first..last + 1), "{name}: {path}: {after:?}");
                assert_eq!(after.contains("\r\n"), text.contains("\r\n"));
            }

            let Some((holder, _)) = path.rsplit_once(['.', '[']).or(Some(("", ""))) else { continue };
            let after = edited(&mut lab, &text, path, None);
            let below = before["places"].as_object().unwrap().keys();
            let below = below
                .filter(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '['])));
            let last = below.map(|other| place(other).1).max().unwrap_or(last).max(last);
            let is_more = |line: &&&str| line.trim().is_empty() || line.trim_start().starts_with('#');
            let above = old[..first].iter().rev().take_while(is_more).count();
            let under = old[last + 1..].iter().take_while(is_more).count();
            // Without the last item, the one above is the last, and has no comma.
            let above = if holder.is_empty() || above > 0 { above } else { 1 };
            let most = first - above..last + 1 + under;
            assert!(has_the_rest(&after, &old, most.clone()), "{name}: {path}: {most:?}: {after:?}");
            assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            let is_whole =
                |text: &str| lines(text).iter().all(|line| !line.ends_with('\n') || line.ends_with("\r\n"));
            assert!(!text.contains('\r') || is_whole(&after), "{name}: {path}: {after:?}");
            tried += 1;
        }
    }
    assert!(tried > 250, "{tried}");
}

/// Of each scenario, one value of so many is tried.
const EVERY: usize = 11;

/// Comments go with what they are on, and spaces stay as they are.
#[test]
fn what_is_removed_takes_its_comments_and_no_others() {
    let mut lab = quell_web::Lab::default();
    let tables = "# Head.\nschema = 1\n\n# Traffic.\n\n# First.\n[[flows]]\nname = \"a\" # A\n\n# Second.\n[[flows]]\n\
                  # Its name.\nname = \"b\" # B\n[flows.tcp]\nx = 1\n\n# Third.\n[[flows]]\nname = \"c\"\n\n# End.\n";
    let rows = "aqm = [ # All.\n  # One.\n  { algorithm = \"red\" }, # first\n  # Two.\n  { algorithm = \"pi\" }, # second\n\
                \n  # Others.\n\n  # Three.\n  { algorithm = \"pie\" } # third\n  # Last.\n]\n";
    for (text, path, gone, kept) in [
        (
            tables,
            "flows[1]",
            &["# Second.", "# Its name.", "# B", "x = 1"][..],
            &["# First.", "# Third.", "# End.", "# A"][..],
        ),
        (tables, "flows[0]", &["# First.", "# A"], &["# Traffic.", "# Second.", "# Its name."]),
        (tables, "flows[2]", &["# Third."], &["# Second.", "# End."]),
        (tables, "flows", &["# First.", "# Second.", "# Third."], &["# Traffic.", "# End.", "# Head."]),
        (tables, "schema", &["schema"], &["# Head.", "# Traffic."]),
        (tables, "flows[1].tcp", &["x = 1", "[flows.tcp]"], &["# B", "# Third."]),
        (rows, "aqm[0]", &["# One.", "# first"], &["# All.", "# Two.", "# second"]),
        (rows, "aqm[1]", &["# Two.", "# second"], &["# One.", "# first", "# Others.", "# Three.", "# third"]),
        (rows, "aqm[2]", &["# Three.", "# third"], &["# second", "# Others.", "# Last."]),
    ] {
        let after = edited(&mut lab, text, path, None);
        assert!(gone.iter().all(|words| !after.contains(words)), "{path}: {after}");
        assert!(kept.iter().all(|words| after.contains(words)), "{path}: {after}");
        assert!(!after.contains("\n\n\n"), "{path}: {after}");
    }
    let moved = json!([{ "path": "aqm[2]", "value": null, "to": 0 }]);
    let moved = ok(&mut lab, &json!({ "do": "edit", "text": rows, "edits": moved }));
    let moved = moved["text"].as_str().unwrap();
    assert!(moved.starts_with("aqm = [ # All.\n  # Three.\n  { algorithm = \"pie\" }, # third\n"), "{moved}");
    assert_eq!(comments(moved).len(), comments(rows).len(), "{moved}");

    for (text, path, value, want) in [
        ("a = { b = 1, c = 2 }\n", "a.c", None, "a = { b = 1 }\n"),
        ("a = { b = 1, c = 2 }\n", "a.b", None, "a = { c = 2 }\n"),
        ("a = {b = 1, c = 2}\n", "a.b", None, "a = {c = 2}\n"),
        ("a = {b = 1}\n", "a.b", None, "a = {}\n"),
        ("a = { b = 1 }\n", "a.c", Some("2"), "a = { b = 1, c = 2 }\n"),
        ("a = {b = 1}\n", "a.c", Some("2"), "a = {b = 1, c = 2}\n"),
        ("a = {}\n", "a.c", Some("2"), "a = { c = 2 }\n"),
        ("a = { b.c = 1, b.d = 2, e = 3 }\n", "a.b", None, "a = { e = 3 }\n"),
        ("a = { b.c = 1, b.d = 2, e = 3 }\n", "a.e", None, "a = { b.c = 1, b.d = 2 }\n"),
        ("a = { b = 1 }\n", "a.c.d", Some("2"), "a = { b = 1, c = { d = 2 } }\n"),
        ("a = [ 1, 2 ]\n", "a[0]", None, "a = [ 2 ]\n"),
        ("a = [ 1, 2 ]\n", "a[1]", None, "a = [ 1 ]\n"),
        ("a = [1, 2]\n", "a[+]", Some("3"), "a = [1, 2, 3]\n"),
        ("a = [ 1 ]\n", "a[+]", Some("3"), "a = [ 1, 3 ]\n"),
        ("a = []\n", "a[+]", Some("3"), "a = [3]\n"),
        ("a = [\n  1, 2, # low\n  3,\n]\n", "a[1]", None, "a = [\n  1, # low\n  3,\n]\n"),
        ("a = [\n  1, 2,\n  3\n]\n", "a[2]", None, "a = [\n  1, 2\n]\n"),
        ("a = [\n  # none\n]\n", "a[+]", Some("3"), "a = [\n  # none\n  3\n]\n"),
        ("a = [ 1, 2 ]\n", "a[1]", Some("3"), "a = [ 1, 3 ]\n"),
        ("a = 1\r\nb = 2\n", "c", Some("3"), "a = 1\r\nb = 2\nc = 3\n"),
        ("a = 1\r\nb = 2\r\n", "c.d", Some("3"), "a = 1\r\nb = 2\r\n\r\n[c]\r\nd = 3\r\n"),
        ("\u{feff}a = 1", "a", Some("3"), "\u{feff}a = 3"),
        ("a = 1\nb = 2", "a", None, "b = 2"),
    ] {
        assert_eq!(edited(&mut lab, text, path, value), want, "{text}: {path}");
    }
}

#[test]
fn what_is_not_there_is_made() {
    let mut lab = quell_web::Lab::default();
    let text = "schema = 1 # the first\n\n# A link.\n[dumbbell]\nrate = \"1 Mbit/s\"\n";
    for (path, value, want) in [
        ("duration", "\"5 s\"", "schema = 1 # the first\nduration = \"5 s\"\n\n# A link."),
        ("dumbbell.delay", "\"5 ms\"", "rate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n"),
        ("dumbbell.reverse.rate", "\"1 Mbit/s\"", "reverse = { rate = \"1 Mbit/s\" }\n"),
        ("graph", "{ routers = 3 }", "\n[graph]\nrouters = 3\n"),
        ("flows[+]", "{ name = \"a\" }", "\n[[flows]]\nname = \"a\"\n"),
        ("sweep.\"dumbbell.rate\"", "[1, 2]", "\n[sweep]\n\"dumbbell.rate\" = [1, 2]\n"),
        ("seeds[+]", "4", "4"),
    ] {
        let after = edited(&mut lab, text, path, Some(value));
        assert!(after.contains(want), "{path}: {after}");
        assert_eq!(comments(&after), comments(text));
    }
    let inline = "aqm = [\n  { algorithm = \"red\" }, # red\n  { algorithm = \"pi\" },\n]\n";
    let after = edited(&mut lab, inline, "aqm[+]", Some("{ algorithm = \"pie\" }"));
    assert_eq!(
        after,
        "aqm = [\n  { algorithm = \"red\" }, # red\n  { algorithm = \"pi\" },\n  { algorithm = \"pie\" },\n]\n"
    );
}

#[test]
fn wrong_edits_say_what_is_wrong() {
    for (path, value, rule) in [
        ("", Some("1"), "leads nowhere"),
        ("dumbbell.", Some("1"), "has an empty part"),
        ("flows[9].rtt", Some("1"), "there is nothing"),
        ("schema.x", Some("1"), "is a plain value, which holds nothing"),
        ("flows[x]", Some("1"), "a number or +"),
        ("flows[0", Some("1"), "lacks a ]"),
        ("a\"b", Some("1"), "[absent]"),
        ("\"a", Some("1"), "quotation marks do not end"),
        ("duration", Some("5 s"), "is not a value in TOML"),
        ("duration", Some("\"a\"\nb = 1"), "is not a value in TOML"),
        ("nothing", None, "there is nothing"),
        ("flows[+].rtt", Some("1"), "[+] must be the last part"),
    ] {
        let edit = json!({ "do": "edit", "text": crate::SMALL, "edits": [{ "path": path, "value": value }] });
        let answer = answer(&mut quell_web::Lab::default(), &edit);
        match rule {
            // An odd key without quotation marks is taken as it is, and written with them.
            "[absent]" => assert!(answer["ok"]["text"].as_str().unwrap().contains("'a\"b' = 1"), "{answer}"),
            rule => assert!(answer["error"]["message"].as_str().unwrap().contains(rule), "{path}: {answer}"),
        }
    }
    let both = json!({ "path": "flows[0]", "value": "1", "to": 0 });
    let both = crate::fault(&json!({ "do": "edit", "text": crate::SMALL, "edits": [both] }));
    assert!(both["message"].as_str().unwrap().contains("give one of them"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any text is written so that it is read again, wherever it is put.
    #[test]
    fn any_text_can_be_a_value(text in "\\PC{0,40}", key in "[a-z\"'.é -]{1,8}") {
        let mut lab = quell_web::Lab::default();
        let path = format!("dumbbell.{}", json!(key));
        let value = toml::Value::String(text.clone()).to_string();
        let after = edited(&mut lab, crate::SMALL, &path, Some(&value));
        prop_assert_eq!(&tree(&mut lab, &after)["value"]["dumbbell"][&key], &json!(text));
    }

    /// Whatever is asked for, there is an answer, and what is answered is TOML.
    #[test]
    fn no_edit_breaks_a_text(path in "[a-z\\[\\]+0-9.\"]{0,12}", value in "\\PC{0,12}") {
        let mut lab = quell_web::Lab::default();
        let edit = json!({ "do": "edit", "text": crate::SMALL, "edits": [{ "path": path, "value": value }] });
        let answer = answer(&mut lab, &edit);
        match answer["ok"]["text"].as_str() {
            Some(text) => drop(tree(&mut lab, text)),
            None => prop_assert!(answer["error"]["message"].is_string()),
        }
    }
}
